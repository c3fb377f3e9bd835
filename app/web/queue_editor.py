"""The budget editor: a plain form with Preview, a warning, and both versions of a stale edit."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Response, request
from flask.typing import ResponseReturnValue

from app.domain import policy_words
from app.domain.errors import Conflict
from app.domain.isolating import isolate
from app.domain.policy import policy_body
from app.edge.deps import database
from app.reads import outlook
from app.reads.outlook import Standing
from app.transactions import policies
from app.web import queue_outlook
from app.web.answers import form_page, viewer
from app.web.forms import posts
from app.web.queue_door import bp
from app.web.queue_forms import PolicyForm, Typed
from app.web.queue_outlook import PreviewView
from app.web.queue_standing import (
    changeable,
    edit_control,
    editor_path,
    go_back,
    refreshed,
    saved_by,
    way_back,
)

_STALE = (
    "Somebody saved another version since you opened this page, so nothing of yours was saved."
    " Compare the two, then save again to replace theirs."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionLine:
    """One setting in the version that is stored now and in the one that was typed."""

    label: str
    stored: str
    typed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleView:
    """Both versions of a stale edit, and who saved the stored one."""

    sentence: str
    lines: list[VersionLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What the page says beside the form, at most one of them; `warnings` also in a preview."""

    preview: PreviewView | None = None
    warnings: tuple[str, ...] = ()
    stale: StaleView | None = None
    is_fresh: bool = False


@bp.get("/queues/<ref>/budget")
def show_editor(ref: str) -> ResponseReturnValue:
    """The editor with the policy in force. 404 for a member; 409 on a revoked endpoint."""
    standing, form = changeable(ref), PolicyForm(formdata=None)
    _fill(standing, form)
    return _page(standing, form, _Said(is_fresh=not form.problems()))


def open_with(ref: str, reason: str, why: str) -> Response:
    """The editor for somebody whose Pause or Resume was refused with `why`; the reason is kept."""
    standing, form = changeable(ref), PolicyForm(formdata=None)
    _fill(standing, form)
    form.reason.data = reason
    form.blame(None, why)
    return _page(standing, form, _Said(), status=409)


def _fill(standing: Standing, form: PolicyForm) -> None:
    """Show what is stored, of a policy that breaks the rules too, with its faults."""
    status = standing.status
    if status is not None and status.stored is not None:
        form.fill_broken(status.stored)
    else:
        form.fill(None if status is None else status.policy, viewer().zone)
    form.revision.data = str(standing.revision)


@bp.post("/queues/<ref>/budget")
@posts(
    PolicyForm,
    "queues/budget_fields.html",
    button="Save budget",
    buttons={"act=preview": "Preview budget"},
)
def save_budget(ref: str) -> ResponseReturnValue:
    """Save, or with the other button preview and save nothing; a refusal keeps what was typed."""
    standing, form = changeable(ref), PolicyForm()
    typed = form.typed()
    if typed is None:
        return _page(standing, form, _Said(), status=422)
    seen = outlook.outlook(database(), viewer().human, ref, typed.policy)
    warnings = queue_outlook.warnings(standing, seen)
    if request.form.get("act") == "preview":
        preview = queue_outlook.preview(standing, seen, typed.left_out)
        return _page(standing, form, _Said(preview=preview, warnings=warnings))
    if warnings and form.warned.data != typed.mark:
        form.warned.data = typed.mark
        return _page(standing, form, _Said(warnings=warnings))
    return _save(standing, form, typed)


def _save(standing: Standing, form: PolicyForm, typed: Typed) -> Response:
    queue = standing.queue
    try:
        policies.save(
            database(),
            viewer().human,
            queue.address,
            policy_body(typed.policy),
            reason=typed.reason,
            revision=form.seen_revision(),
        )
    except Conflict as stale:
        if "revision" not in stale.extras:
            raise
        return _stale_page(str(queue.queue_id), form, typed)
    stored = None if standing.status is None else standing.status.policy
    did = "is as it was" if stored == typed.policy else "saved"
    said = [f"Budget for {isolate(queue.queue)} {did}: {policy_words.in_words(typed.policy)}."]
    said += [typed.left_out] if typed.left_out else []
    if stored == typed.policy and typed.reason is not None:
        said.append("Nothing was changed, so the reason you typed was not recorded.")
    return go_back(queue, " ".join(said))


def _stale_page(ref: str, form: PolicyForm, typed: Typed) -> Response:
    standing = refreshed(ref, form)
    stored = policy_words.parts(None if standing.status is None else standing.status.policy)
    yours = policy_words.parts(typed.policy)
    lines = [
        VersionLine(label=label, stored=word, typed=typed_word)
        for (label, word), (_, typed_word) in zip(stored, yours, strict=True)
    ]
    form.blame(None, _STALE)
    stale = StaleView(sentence=saved_by(ref), lines=lines)
    return _page(standing, form, _Said(stale=stale), status=409)


def _page(standing: Standing, form: PolicyForm, said: _Said, *, status: int = 200) -> Response:
    queue = standing.queue
    act = "Add" if standing.status is None else "Edit"
    return form_page(
        "queues/budget.html",
        form,
        status=status,
        heading=f"{act} budget for {isolate(queue.queue)}",
        help_topic="budgets",
        queue=queue,
        action=editor_path(queue),
        in_force=queue_outlook.in_force(standing),
        may_clear=standing.status is not None,
        clear=_clear(queue.queue_id),
        back=f"{way_back(queue)}#{edit_control(queue)}",
        said=said,
        is_fresh=said.is_fresh,
    )


def _clear(queue_id: int) -> str:
    opened_from = request.args.get("from")
    query = f"?{urlencode({'from': opened_from})}" if opened_from else ""
    return f"/queues/{queue_id}/budget/clear{query}"
