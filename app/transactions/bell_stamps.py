"""What a bell stamps, before it is written: the heartbeat's next ring is pushed back (push.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.db.database import Database, many, run
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
    locked by its stamp. Left out is what another process rang within the last minute. Raises
    Unavailable.
    """
    todos = [each for each in rings if each.kind is Kind.TODO]
    queues = {q for each in rings if each.kind is Kind.REOPEN for q in each.queue_ids}
    digests = [each for each in rings if each.kind is Kind.DIGEST]
    silent: set[str] = set()
    with db.reading() as conn:
        if todos:
            ids = [each.todo_id for each in todos]
            cleared = [each.todo_id for each in todos if each.clears]
            params = {"ids": ids, "cleared": cleared}
            silent = {each.id for each in many(conn, SQL["mark_rung"], params, _Silent)}
        if queues:
            run(conn, SQL["mark_reopen_rung"], {"queue_ids": sorted(queues)})
        for each in digests:
            counted = {"endpoint_id": each.endpoint_ids[0], "queue_ids": list(each.queue_ids)}
            run(conn, SQL["mark_digest_rung"], counted)
    tell_skipped(db, todos)
    return [each for each in rings if each.kind is not Kind.TODO or each.todo_id not in silent]


def tell_skipped(db: Database, stamped: Iterable[Ring]) -> None:
    """A claim that met a todo locked by its stamp passed it over: let who waits look again.

    Under a policy a claim waits for such a todo by itself (R7).
    """
    db.feed.ready(*sorted({q for each in stamped if not each.has_policy for q in each.queue_ids}))
