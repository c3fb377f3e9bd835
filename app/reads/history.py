"""The record of a queue's policy changes, page by page (REQ-10; board.md, "Audit")."""

from __future__ import annotations

from dataclasses import dataclass

from app.db.database import Database, many, value
from app.db.statements import load
from app.domain.callers import Human
from app.reads import queue_page
from app.reads.budgets import Change
from app.reads.queue_page import SeenQueue

SQL = load("history")

PAGE_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One page of the record, newest first; `page` counts from 1 and `pages` is at least 1."""

    queue: SeenQueue
    changes: tuple[Change, ...]
    total: int
    page: int
    pages: int


def history(
    db: Database, human: Human, ref: str, *, page: int = 1, rows: int = PAGE_ROWS
) -> History:
    """A page of the record of a queue the human may configure, policy or not (R35).

    A page past the end is the last one. Raises NotFound: foreign and unknown are one.
    """
    with db.reading() as conn:
        queue = queue_page.find_configurable(conn, human, ref)
        whose = {"queue_id": queue.queue_id}
        total = value(conn, SQL["count_changes"], whose)
        count = total if isinstance(total, int) else 0
        pages = max(1, -(-count // rows))
        shown = min(max(page, 1), pages)
        params = {**whose, "limit": rows, "offset": (shown - 1) * rows}
        changes = tuple(many(conn, SQL["read_changes"], params, Change))
    return History(queue=queue, changes=changes, total=count, page=shown, pages=pages)
