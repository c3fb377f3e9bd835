"""A queue's page, and pausing and resuming it (board.md, "Queue page")."""

from __future__ import annotations

from dataclasses import dataclass

from flask.typing import ResponseReturnValue

from app.domain.callers import Human
from app.domain.errors import Conflict, InvalidArgument, NotFound
from app.domain.isolating import isolate
from app.domain.resuming import Ask, Restore
from app.edge.deps import database
from app.reads import headers, history, outlook, queue_page
from app.reads.admission import QueueStatus
from app.reads.headers import SeenHeader
from app.reads.queue_page import QueueUse
from app.transactions import pauses
from app.web import (
    present_headers,
    present_live,
    queue_changes,
    queue_clear,
    queue_editor,
    queue_history,
    queue_outlook,
    queue_use,
)
from app.web.answers import form_page, see, viewer
from app.web.forms import posts
from app.web.queue_door import bp
from app.web.queue_forms import PauseForm, ReasonForm
from app.web.queue_standing import saved_by

__all__ = ["bp", "queue_clear", "queue_editor", "queue_history"]

_EXCERPT_ROWS = 5
_ASKING = "Set the limits you want and save; a limit of 0 keeps it paused."


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseControl:
    """The one button under the policy: where it posts, what it says, the reason's label and its
    readers.
    """

    action: str
    label: str
    why: str
    readers: str


@bp.get("/queues/<ref>")
def show_queue(ref: str) -> ResponseReturnValue:
    """The page of one queue; 404 for a foreign number, an unknown one, and no number."""
    return _page(ref, ReasonForm(formdata=None))


@bp.post("/queues/<ref>/pause")
@posts(PauseForm, "queues/reason_fields.html", button="Pause queue")
def pause_queue(ref: str) -> ResponseReturnValue:
    """Set the in-flight cap to 0; on a queue without a policy that makes one (R68)."""
    queue = queue_page.configurable(database(), viewer().human, ref)
    form = PauseForm()
    try:
        reason = form.typed_reason()
    except InvalidArgument:
        return _page(ref, form, status=422)
    try:
        is_paused = pauses.pause(database(), viewer().human, queue.address, reason=reason)
    except Conflict as refused:
        return _refused(ref, form, refused)
    said = f"{isolate(queue.queue)} {'is paused' if is_paused else 'was paused already'}."
    if reason is not None and not is_paused:
        said += " Nothing was changed, so the reason you typed was not recorded."
    return see(f"/queues/{queue.queue_id}", flash=said, fragment=f"q-{queue.queue_id}-pause")


@bp.post("/queues/<ref>/resume")
@posts(ReasonForm, "queues/reason_fields.html", button="Resume queue")
def resume_queue(ref: str) -> ResponseReturnValue:
    """Put back what was in force before the pause, or open the editor when nobody can tell."""
    queue = queue_page.configurable(database(), viewer().human, ref)
    form = ReasonForm()
    try:
        reason = form.typed_reason()
    except InvalidArgument:
        return _page(ref, form, status=422)
    try:
        found = pauses.resume(
            database(), viewer().human, queue.address, revision=form.seen_revision(), reason=reason
        )
    except Conflict as refused:
        return _refused(ref, form, refused)
    if isinstance(found, Ask):
        why = f"{isolate(queue.queue)} is still paused. {found.sentence} {_ASKING}"
        if reason is not None:
            return queue_editor.open_with(ref, reason, why)
        return see(f"/queues/{queue.queue_id}/budget?from=queue", flash=why)
    how = "with the budget it had" if isinstance(found, Restore) else "and has no budget, as before"
    said = f"{isolate(queue.queue)} is resumed {how}."
    return see(f"/queues/{queue.queue_id}", flash=said, fragment=f"q-{queue.queue_id}-pause")


def _refused(ref: str, form: ReasonForm, error: Conflict) -> ResponseReturnValue:
    """What was not done, what is in force instead and who saved it; the reason is kept. A budget
    that cannot be judged is mended in the editor, so that opens.
    """
    standing = outlook.standing(database(), viewer().human, ref)
    status = standing.status
    if standing.queue.may_change and status is not None and status.policy is None:
        return queue_editor.open_with(ref, form.reason.data or "", error.sentence)
    said = [error.sentence, "Nothing was changed.", saved_by(ref)]
    in_force = " ".join(queue_outlook.in_force(standing))
    form.blame(None, " ".join([*said, f"In force now: {in_force}"]))
    return _page(ref, form, status=409)


def _page(ref: str, form: ReasonForm, *, status: int = 200) -> ResponseReturnValue:
    live = viewer()
    use = queue_page.use(database(), live.human, ref)
    seen = _header(live.human, use)
    form.revision.data = str(_revision(use.status))
    header = present_headers.header(seen, live.zone)
    control = _control(use, header.name)
    if control is not None:
        form.reason.label.text, form.readers = control.why, control.readers
    return form_page(
        "queues/page.html",
        form,
        status=status,
        heading=f"Queue {header.name}",
        help_topic="queues",
        is_live=header.has_policy,
        live_path=present_live.queue_path(header.queue_id),
        queue=use.queue,
        header=header,
        use=queue_use.view(use, seen.counts),
        control=control,
        may_read_history=use.queue.may_configure,
        changes=_excerpt(use, live.human, live.zone),
    )


def _header(human: Human, use: QueueUse) -> SeenHeader:
    found = headers.headers_for(database(), human.id, [use.queue.queue_id])
    if not found:
        raise NotFound  # it was taken away between two looks
    return found[0]


def _excerpt(
    use: QueueUse, human: Human, zone: str | None
) -> list[queue_changes.ChangeLine]:
    """The newest records, for those who may read them; none for a plain member."""
    if not use.queue.may_configure:
        return []
    ref = str(use.queue.queue_id)
    found = history.history(database(), human, ref, rows=_EXCERPT_ROWS)
    return queue_changes.lines(found.changes, zone)


def _control(use: QueueUse, name: str) -> PauseControl | None:
    """Pause or Resume; None for whoever may change nothing, and for what cannot be judged."""
    path, status = f"/queues/{use.queue.queue_id}", use.status
    if not use.queue.may_change or (status is not None and status.policy is None):
        return None
    if status is not None and status.policy is not None and status.policy.pauses:
        return PauseControl(
            action=f"{path}/resume",
            label=f"Resume {name}",
            why=f"Reason for resuming {name}",
            readers=ReasonForm.readers,
        )
    return PauseControl(
        action=f"{path}/pause",
        label=f"Pause {name}",
        why=f"Reason for pausing {name}",
        readers=PauseForm.readers,
    )


def _revision(status: QueueStatus | None) -> int:
    return 0 if status is None or status.revision is None else status.revision
