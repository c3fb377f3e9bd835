"""The backstop of reopening: rings for queues that open by the clock, marks that were lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from app.db.database import Database, many
from app.db.statements import load
from app.domain.admission import Deferral
from app.reads import admission
from app.reads.admission import QueueStatus
from app.transactions import reopening
from app.transactions.reopening import QueueId, Reopened

SQL = load("reopen_sweep")

PAGE = 200


@dataclass(slots=True)
class Sweep:
    """What one sweep did; `next_in` is in how many seconds (database time) to look again."""

    reopened: list[Reopened] = field(default_factory=list)
    marked: int = 0
    next_in: float | None = None


def ring_due(db: Database, *, most: int) -> Sweep:
    """Ring for marked queues that are open, at most `most` of them in one turn.

    Every marked queue is looked at, a page at a time, so that queues paused for good never stand
    before the others. Raises Unavailable; what was committed before stands.
    """
    swept = Sweep()
    ends: list[float] = []
    for statuses, marked, at in _pages(db):
        ends += _seconds_to_boundaries(statuses.values(), at)
        for queue_id in marked:
            status = statuses.get(queue_id)
            if status is not None and isinstance(status.decision, Deferral):
                continue
            if len(swept.reopened) == most:
                swept.next_in = 0.0
                return swept
            reopened = reopening.decide(db, queue_id)
            if reopened is not None:
                swept.reopened.append(reopened)
    swept.next_in = min(ends, default=None)
    return swept


def mark_lost(db: Database, *, after: int, most: int) -> tuple[int, int]:
    """Mark closed queues where work waits and no ring is owed: (how many, where to go on).

    Looks at `most` queues from the id `after` on; goes on from 0 after the last. Raises
    Unavailable.
    """
    with db.reading() as conn:
        params = {"after": after, "limit": most}
        unmarked = [each.queue_id for each in many(conn, SQL["read_unmarked"], params, QueueId)]
        found = admission.statuses(conn, unmarked, counts_all=False)
    closed = [
        (queue_id, status.decision.reason)
        for queue_id, status in found.items()
        if isinstance(status.decision, Deferral)
    ]
    for queue_id, reason in closed:
        reopening.owe(db, queue_id, reason)
    return len(closed), unmarked[-1] if len(unmarked) == most else 0


def _pages(db: Database) -> Iterator[tuple[dict[int, QueueStatus], list[int], datetime]]:
    after = 0
    while True:
        with db.reading() as conn:
            params = {"after": after, "limit": PAGE}
            marked = [each.queue_id for each in many(conn, SQL["read_marks"], params, QueueId)]
            statuses = admission.statuses(conn, marked, counts_all=False)
            at = db.now(conn)
        yield statuses, marked, at
        if len(marked) < PAGE:
            return
        after = marked[-1]


def _seconds_to_boundaries(statuses: Iterable[QueueStatus], at: datetime) -> list[float]:
    ends = [
        status.decision.next_eligible_at
        for status in statuses
        if isinstance(status.decision, Deferral) and status.decision.exact
    ]
    return [end.timestamp() - at.timestamp() for end in ends if end is not None]
