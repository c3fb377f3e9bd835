"""What the editor and the clear page share: whose queue, which version, and the way back."""

from __future__ import annotations

from urllib.parse import urlencode

from flask import Response, request

from app.domain.errors import Conflict
from app.edge.deps import database
from app.reads import history, outlook
from app.reads.outlook import Standing
from app.reads.queue_page import SeenQueue
from app.web import queue_changes
from app.web.answers import see, viewer
from app.web.queue_forms import ReasonForm
from app.web.queue_times import moment

_REVOKED = "The endpoint of this queue is revoked, so its budget cannot be changed any more."


def changeable(ref: str) -> Standing:
    """The queue and its policy in force. Raises NotFound for a queue the viewer may not
    configure, Conflict on a revoked endpoint (R35).
    """
    standing = outlook.standing(database(), viewer().human, ref)
    if not standing.queue.may_change:
        raise Conflict(_REVOKED)
    return standing


def refreshed(ref: str, form: ReasonForm) -> Standing:
    """The queue as it is now; the form carries the new revision, so that the next save counts."""
    standing = changeable(ref)
    form.revision.data = str(standing.revision)
    return standing


def saved_by(ref: str) -> str:
    """Who changed the stored version, and when, in a sentence."""
    found = history.history(database(), viewer().human, ref, rows=1)
    if not found.changes:
        return "The stored version was changed meanwhile."
    newest = found.changes[0]
    at = moment(newest.at, viewer().zone).words
    return f"The stored version was saved by {queue_changes.who(newest)} at {at}."


def way_back(queue: SeenQueue) -> str:
    """Where the editor was opened: the queue's page, the budgets, or else the board."""
    pages = {"queue": f"/queues/{queue.queue_id}", "budgets": "/budgets"}
    return pages.get(_opened_from(), "/")


def _opened_from() -> str:
    # Pause and Resume are on the queue's page alone, and open the editor in place.
    is_pause = (request.endpoint or "").endswith(("pause_queue", "resume_queue"))
    return "queue" if is_pause else request.args.get("from", "")


def editor_path(queue: SeenQueue) -> str:
    """Where the editor posts, so that it leads back to where it was opened."""
    opened_from = _opened_from()
    query = f"?{urlencode({'from': opened_from})}" if opened_from else ""
    return f"/queues/{queue.queue_id}/budget{query}"


def edit_control(queue: SeenQueue) -> str:
    """The id of the control that opens the editor, on either page."""
    return f"q-{queue.queue_id}-edit"


def go_back(queue: SeenQueue, said: str) -> Response:
    """303 to the control that opened the editor, with a word of what was done."""
    return see(way_back(queue), flash=said, fragment=edit_control(queue))
