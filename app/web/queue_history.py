"""The record of a queue's policy changes, newest first, page by page (board.md, "Audit")."""

from __future__ import annotations

from flask import render_template, request
from flask.typing import ResponseReturnValue

from app.domain.isolating import isolate
from app.edge.deps import database
from app.reads import history
from app.web import queue_changes
from app.web.answers import viewer
from app.web.pager import page_number, pager
from app.web.queue_door import bp


@bp.get("/queues/<ref>/history")
def show_history(ref: str) -> ResponseReturnValue:
    """A page of the record; it survives a clear. 404 as the queue's page, and for a member."""
    live = viewer()
    page = page_number(request.args.get("page", ""))
    found = history.history(database(), live.human, ref, page=page)
    queue = found.queue
    return render_template(
        "queues/history.html",
        heading=f"Budget history of {isolate(queue.queue)}",
        help_topic="budgets",
        queue=queue,
        changes=queue_changes.lines(found.changes, live.zone),
        count="1 change" if found.total == 1 else f"{found.total} changes",
        pages=pager(
            f"Pages of the budget history of {isolate(queue.queue)}",
            found.page,
            found.pages,
            lambda n: f"/queues/{queue.queue_id}/history?page={n}",
        ),
    )
