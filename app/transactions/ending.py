"""What ends with an endpoint, revoked or expired: its live todos, its leases, its grants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.db import journal
from app.db.database import Connection, Database, Rollback, many, run
from app.db.statements import load
from app.transactions import reopening, ringing

SQL = load("ending")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What an endpoint left behind: touched queues (ids), those among them whose policy may admit
    again, attempts closed by (queue name, outcome), and the team todos it handed back. Hand it to
    `announce` after the commit.
    """

    endpoint_id: UUID
    changed: frozenset[int]
    released: frozenset[int]
    reopened: frozenset[int]
    closed: Counter[tuple[str, str]]
    handed_back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moved:
    id: str
    queue_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _TodoId:
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedAttempt:
    """Where an attempt ended: the queue's bare name and id, and whether it has a policy."""

    queue: str
    queue_id: int
    has_policy: bool


def dead_letter_endpoint(conn: Connection, endpoint_id: UUID) -> Ended | None:
    """End an endpoint whose lifetime is over, inside a sweep's transaction.

    None when it is not due, or another process ended it first. Hold no lock on the endpoint's
    row before: its todos come first. After the commit call `announce`.
    """
    locked = lock_todos(conn, endpoint_id)
    if run(conn, SQL["mark_expired"], {"endpoint_id": endpoint_id}) == 0:
        return None
    return end(conn, endpoint_id, locked)


def announce(db: Database, ended: Ended) -> None:
    """After the commit: move the counters, wake the boards, close the streams."""
    for (queue, outcome), amount in sorted(ended.closed.items()):
        name = "switchboard_todo_attempts_closed_total"
        db.counters.add(name, amount, queue=queue, outcome=outcome)
    journal.note("endpoint_ended", endpoint_id=ended.endpoint_id, outcome="ended")
    db.feed.endpoints(ended.endpoint_id)
    db.feed.changed(*ended.changed)
    db.feed.ready(*ended.released)
    db.feed.reopened(*ended.reopened)
    rung = reopening.detect(db, ended.reopened)
    ringing.requeued(db, ended.handed_back, tells_hooks=False, rung=rung)
    give_back(db, None, endpoint_ids=(ended.endpoint_id,))


def give_back(
    db: Database,
    queue_ids: Collection[int] | None,
    *,
    endpoint_ids: Collection[UUID] = (),
    human_ids: Collection[UUID] = (),
) -> None:
    """Release what these, or the humans' own endpoints, hold of the queues outside their reach.

    None stands for all queues. For a claim that committed beside the end of its reach: neither
    waits for the other, so each looks once more after its own commit, and whichever commits last
    finds the other. (identity.md, "Teams"; R47)
    """
    params = {
        "queue_ids": None if queue_ids is None else list(queue_ids),
        "endpoint_ids": list(endpoint_ids),
        "human_ids": list(human_ids),
    }
    with db.transaction() as conn:
        ids = [row.id for row in many(conn, SQL["lock_unreached"], params, _TodoId)]
        if not ids:
            raise Rollback
        run(conn, SQL["mark_given_back"], {"ids": ids})
        closed = close_attempts(conn, ids, "released", "requeued")
    if ids:
        tell_released(db, ids, closed)


def tell_released(db: Database, ids: Sequence[str], closed: Sequence[ClosedAttempt]) -> None:
    """After the commit: todos whose leases were ended count as released (R47)."""
    for queue, amount in sorted(Counter(attempt.queue for attempt in closed).items()):
        name = "switchboard_todo_attempts_closed_total"
        db.counters.add(name, amount, queue=queue, outcome="released")
    db.feed.ready(*sorted({attempt.queue_id for attempt in closed}))
    open_again = sorted(freed(closed))
    db.feed.reopened(*open_again)
    rung = reopening.detect(db, open_again)
    ringing.requeued(db, ids, tells_hooks=False, rung=rung)


def lock_todos(conn: Connection, endpoint_id: UUID) -> list[str]:
    """Lock what will end, in id order and waiting, before the endpoint's row; the todo ids."""
    rows = many(conn, SQL["lock_ending_todos"], {"endpoint_id": endpoint_id}, _TodoId)
    return [row.id for row in rows]


def end(conn: Connection, endpoint_id: UUID, locked: Sequence[str]) -> Ended:
    """Dead-letter own live todos, release team todos held, close attempts, kill agent grants.

    The caller holds the todos in `locked` and has just marked the endpoint revoked.
    """
    # A delivery that held the endpoint while we waited may have added todos: look once more.
    ids = sorted({*locked, *lock_todos(conn, endpoint_id)})
    params = {"endpoint_id": endpoint_id, "ids": ids}
    dead = many(conn, SQL["mark_dead_lettered"], params, _Moved)
    released = many(conn, SQL["mark_team_todos_released"], params, _Moved)
    run(conn, SQL["mark_tokens_revoked"], params)
    revoked = close_attempts(conn, [row.id for row in dead], "revoked", "dead_lettered")
    handed_back = close_attempts(conn, [row.id for row in released], "released", "requeued")
    return Ended(
        endpoint_id=endpoint_id,
        changed=frozenset(row.queue_id for row in dead),
        released=frozenset(row.queue_id for row in released),
        reopened=freed(revoked + handed_back),
        closed=Counter([(row.queue, "revoked") for row in revoked])
        + Counter([(row.queue, "released") for row in handed_back]),
        handed_back=tuple(row.id for row in released),
    )


def close_attempts(
    conn: Connection, todo_ids: Sequence[str], outcome: str, disposition: str
) -> list[ClosedAttempt]:
    """Close the open attempts of todos whose leases the caller has just ended."""
    params = {"ids": list(todo_ids), "outcome": outcome, "disposition": disposition}
    return many(conn, SQL["mark_attempts_closed"], params, ClosedAttempt)


def freed(closed: Sequence[ClosedAttempt]) -> frozenset[int]:
    """The queues with a policy that may admit again, now that these attempts have ended."""
    return frozenset(attempt.queue_id for attempt in closed if attempt.has_policy)
