"""What a bell stamps, before it is written: the heartbeat's next ring is pushed back (push.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.db.database import Connection, Database, many, run
from app.db.statements import load
from app.domain.bells import Kind
from app.transactions.bell_rows import Ring

SQL = load("bell_stamps")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Silent:
    id: str


def stamp(db: Database, rings: Sequence[Ring]) -> list[Ring]:
    """Stamp what is about to ring, which pushes its heartbeat back; the rings that remain.

    Before the bells are written: whoever hears one claims at once, and must not find the todo
    locked by its stamp. Left out is what rang within the last minute, or rings elsewhere this
    moment. Raises Unavailable.
    """
    todos = [each for each in rings if each.kind is Kind.TODO]
    with db.reading() as conn:
        _stamp_queues(conn, [each for each in rings if each.kind is Kind.REOPEN])
        silent = _stamp_todos(conn, todos)
        for each in rings:
            if each.kind is Kind.DIGEST:
                counted = {"endpoint_id": each.endpoint_ids[0], "queue_ids": list(each.queue_ids)}
                run(conn, SQL["mark_digest_rung"], counted)
    tell_skipped(db, todos)
    return [each for each in rings if each.kind is not Kind.TODO or each.todo_id not in silent]


def _stamp_queues(conn: Connection, reopened: Sequence[Ring]) -> None:
    if not reopened:
        return
    told = {
        "row_ids": [each.row_id for each in reopened],
        "todo_ids": [each.todo_id for each in reopened],
    }
    run(conn, SQL["mark_reopen_told"], told)
    queue_ids = sorted({q for each in reopened for q in each.queue_ids})
    run(conn, SQL["mark_reopen_rung"], {"queue_ids": queue_ids})


def _stamp_todos(conn: Connection, todos: Sequence[Ring]) -> frozenset[str]:
    """The todos among these that stay silent."""
    if not todos:
        return frozenset()
    asked = {
        "ids": [each.todo_id for each in todos],
        "cleared": [each.row_id for each in todos if each.clears],
    }
    return frozenset(each.id for each in many(conn, SQL["mark_rung"], asked, _Silent))


def tell_skipped(db: Database, stamped: Iterable[Ring]) -> None:
    """A claim that met a todo locked by its stamp passed it over: let who waits look again.

    Under a policy a claim waits for such a todo by itself (R7).
    """
    db.feed.ready(*sorted({q for each in stamped if not each.has_policy for q in each.queue_ids}))
