"""The sweeps of the background jobs: lapsed leases, due retries, lifetimes that are over.

Exempt from owner scoping, as they act for nobody and return nothing to a caller (todos.md,
"Background jobs"). Each batch is one transaction, so a sweep never holds many rows for long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from psycopg import sql

from app.db import journal
from app.db.database import Connection, Database, Rollback, many, run, value
from app.db.statements import load
from app.transactions import ending, reopening, ringing

SQL = load("sweeps")

BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A todo that a sweep moved: to pending, or (`is_dead_letter`) to its end.

    `frees_slot`: its lease ended in a queue with a policy, which may admit again (R47).
    """

    id: str
    queue_id: int
    queue: str
    is_dead_letter: bool
    frees_slot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one sweep moved, and in how many seconds (database time) the next one is due.

    `next_in` is None when nothing is foreseen, and 0 or less when something is due but held.
    """

    moved: tuple[Moved, ...] = ()
    next_in: float | None = None

    @property
    def queue_ids(self) -> frozenset[int]:
        """The queues in which something moved."""
        return frozenset(todo.queue_id for todo in self.moved)

    @property
    def requeued(self) -> int:
        """How many todos are pending again."""
        return sum(not todo.is_dead_letter for todo in self.moved)

    @property
    def dead_lettered(self) -> int:
        """How many todos came to their end."""
        return sum(todo.is_dead_letter for todo in self.moved)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """The endpoints whose lifetime was found over, and when the next one's is (seconds)."""

    endpoint_ids: tuple[UUID, ...] = ()
    next_in: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closed:
    todo_id: str


def reap(db: Database, *, batch: int = BATCH) -> Swept:
    """End every lapsed lease: pending when attempts are left, else dead letter.

    Closes the open attempt `reaped`. Raises Unavailable; what was committed before stands.
    """
    moved = _sweep(db, SQL["read_next_lapse"], _reap_batch, batch)
    return Swept(moved=moved, next_in=_next_in(db, SQL["read_next_lapse"]))


def requeue(db: Database, *, batch: int = BATCH) -> Swept:
    """Make every due retry pending. Raises Unavailable; what was committed before stands."""
    moved = _sweep(db, SQL["read_next_retry"], _requeue_batch, batch)
    return Swept(moved=moved, next_in=_next_in(db, SQL["read_next_retry"]))


def expire(db: Database, *, batch: int = BATCH) -> Expired:
    """Revoke every endpoint whose lifetime is over, with all the effects of revoke.

    Raises Unavailable; what was committed before stands.
    """
    ended: list[UUID] = []
    while _is_due(_next_in(db, SQL["read_next_expiry"])):
        with db.reading() as conn:
            due = many(conn, SQL["pick_expired_endpoints"], {"batch": batch}, _Due)
        batch_ended = [each.id for each in due if _expire_one(db, each.id)]
        ended += batch_ended
        if not batch_ended:
            break  # another leader is at it
    return Expired(endpoint_ids=tuple(ended), next_in=_next_in(db, SQL["read_next_expiry"]))


def _sweep(
    db: Database,
    next_due: sql.SQL,
    sweep_batch: Callable[[Database, int], tuple[Moved, ...]],
    batch: int,
) -> tuple[Moved, ...]:
    """Sweep batch after batch until one is not full; nothing is locked when nothing is due."""
    if not _is_due(_next_in(db, next_due)):
        return ()
    moved: list[Moved] = []
    while True:
        swept = sweep_batch(db, batch)
        moved += swept
        if len(swept) < batch:
            return tuple(moved)


def _reap_batch(db: Database, batch: int) -> tuple[Moved, ...]:
    closed: frozenset[str] = frozenset()
    with db.transaction() as conn:
        moved = tuple(many(conn, SQL["pick_lapsed"], {"batch": batch}, Moved))
        if not moved:
            raise Rollback
        closed = _reap(conn, [todo.id for todo in moved])
    _announce(db, "todo_reaped", moved, clears_silence=False)
    for queue, lapses in Counter(todo.queue for todo in moved).items():
        db.counters.add("switchboard_todo_leases_expired_total", lapses, queue=queue)
    for queue, ends in Counter(todo.queue for todo in moved if todo.id in closed).items():
        name = "switchboard_todo_attempts_closed_total"
        db.counters.add(name, ends, queue=queue, outcome="reaped")
    return moved


def _reap(conn: Connection, ids: list[str]) -> frozenset[str]:
    """Move locked todos and close their attempts; the todos whose attempt was open."""
    run(conn, SQL["mark_reaped"], {"ids": ids})
    closed = many(conn, SQL["mark_attempts_reaped"], {"ids": ids}, _Closed)
    return frozenset(row.todo_id for row in closed)


def _requeue_batch(db: Database, batch: int) -> tuple[Moved, ...]:
    with db.transaction() as conn:
        moved = tuple(many(conn, SQL["pick_due"], {"batch": batch}, Moved))
        if not moved:
            raise Rollback
        run(conn, SQL["mark_requeued"], {"ids": [todo.id for todo in moved]})
    _announce(db, "todo_requeued", moved, clears_silence=True)
    return moved


def _expire_one(db: Database, endpoint_id: UUID) -> bool:
    """End one endpoint in its own transaction; False when another process did."""
    with db.transaction() as conn:
        ended = ending.dead_letter_endpoint(conn, endpoint_id)
    if ended is not None:
        ending.announce(db, ended)
    return ended is not None


def _announce(
    db: Database, event: str, moved: tuple[Moved, ...], *, clears_silence: bool
) -> None:
    """After the commit: say so, wake who waits for work, refresh who looks on, ring."""
    for todo in moved:
        became = "dead_lettered" if todo.is_dead_letter else "pending"
        journal.note(event, todo=todo.id, queue=todo.queue, outcome=became)
    db.feed.ready(*sorted({todo.queue_id for todo in moved if not todo.is_dead_letter}))
    db.feed.changed(*sorted({todo.queue_id for todo in moved if todo.is_dead_letter}))
    freed = sorted({todo.queue_id for todo in moved if todo.frees_slot})
    db.feed.reopened(*freed)
    rung = reopening.detect(db, freed)
    ready = [todo.id for todo in moved if not todo.is_dead_letter]
    ringing.requeued(db, ready, tells_hooks=True, clears_silence=clears_silence, rung=rung)


def _next_in(db: Database, query: sql.SQL) -> float | None:
    with db.reading() as conn:
        seconds = value(conn, query, {})
    return seconds if isinstance(seconds, float) else None


def _is_due(seconds: float | None) -> bool:
    return seconds is not None and seconds <= 0
