"""Clearing a budget: its own page, because it takes away every limit (board.md, "Editor")."""

from __future__ import annotations

from flask import Response, request
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, InvalidArgument
from app.domain.isolating import isolate
from app.edge.deps import database
from app.reads.outlook import Standing
from app.transactions import policies
from app.web import queue_outlook
from app.web.answers import form_page, viewer
from app.web.forms import posts
from app.web.queue_door import bp
from app.web.queue_forms import ReasonForm
from app.web.queue_standing import (
    changeable,
    edit_control,
    go_back,
    refreshed,
    saved_by,
    way_back,
)

_STALE = (
    "Somebody changed this budget since you opened this page, so it was not cleared. Look at it as"
    " it is now, then clear it again."
)


@bp.get("/queues/<ref>/budget/clear")
def confirm_clear(ref: str) -> ResponseReturnValue:
    """Ask before a policy is taken away."""
    standing, form = changeable(ref), ReasonForm(formdata=None)
    form.revision.data = str(standing.revision)
    return _page(standing, form)


@bp.post("/queues/<ref>/budget/clear")
@posts(ReasonForm, "queues/reason_fields.html", button="Clear budget")
def clear_budget(ref: str) -> ResponseReturnValue:
    """Take the policy away; its usage and its record stay (R14)."""
    standing, form = changeable(ref), ReasonForm()
    queue, revision = standing.queue, form.seen_revision()
    try:
        reason = form.typed_reason()
        policies.clear(database(), viewer().human, queue.address, reason=reason, revision=revision)
    except InvalidArgument:
        return _page(standing, form, status=422)
    except Conflict as stale:
        if "revision" not in stale.extras:
            raise
        form.blame(None, f"{_STALE} {saved_by(ref)}")
        return _page(refreshed(ref, form), form, status=409)
    return go_back(queue, f"Budget for {isolate(queue.queue)} cleared: claims are not limited.")


def _page(standing: Standing, form: ReasonForm, *, status: int = 200) -> Response:
    queue = standing.queue
    return form_page(
        "queues/clear.html",
        form,
        status=status,
        heading=f"Clear budget for {isolate(queue.queue)}",
        help_topic="budgets",
        queue=queue,
        action=request.full_path.rstrip("?"),
        has_policy=standing.status is not None,
        in_force=queue_outlook.in_force(standing),
        back=f"{way_back(queue)}#{edit_control(queue)}",
    )
