"""Claims on queues without a policy: pick and claim, as if admission did not exist (R13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.db import database
from app.db.database import Connection, Database
from app.db.statements import load
from app.domain.errors import Conflict, NotFound
from app.domain.todos import Todo
from app.transactions import replaying
from app.transactions.claims import Claimed, Claimer, Gone, Pick, leave_if, watched

SQL = load("picking")


class Kind(StrEnum):
    """Which claimable todos of a queue a pick looks at, each by its own index."""

    PENDING = "pending"
    DUE = "due"
    LAPSED = "lapsed"
    LONE = "lone"  # pending, of the endpoint's only queue, and no due retry may come before it


@dataclass(frozen=True, slots=True)
class _Claimable:
    queue: str
    has_policy: bool
    is_takeover: bool
    is_claimable: bool


def take_next(
    db: Database, claimer: Claimer, queue_id: int, kind: Kind, gone: Gone
) -> Claimed | None:
    """Claim the oldest such todo that nobody else holds, in one statement; None when none is.

    None also when the queue has a policy by now: the statement asks again (R13). Raises
    Unavailable, OutcomeUnknown.
    """
    leave_if(gone)
    params = claimer.params(queue_id=queue_id)
    statement = SQL[f"claim_{kind}"]
    if not claimer.is_remembered:
        with db.reading() as conn:
            with database.deciding(conn):
                todo = database.one(conn, statement, params, Todo)
            if todo is None:
                return None
            pick = Pick(todo, is_takeover=kind is Kind.LAPSED)
            replaying.count(db, pick)
            with database.committed():
                return replaying.described(db, conn, claimer, pick, None)
    return _in_transaction(db, claimer, gone, lambda conn: _pick(conn, kind, params))


def take(db: Database, claimer: Claimer, todo_id: str, gone: Gone) -> Claimed | None:
    """Claim one todo by id, waiting for its lock; None when its queue has a policy by now.

    Raises NotFound, Conflict when it is not claimable, Unavailable, OutcomeUnknown.
    """
    params = claimer.params(todo_id=todo_id)
    return _in_transaction(db, claimer, gone, lambda conn: _claim_under_lock(conn, params))


def replay(db: Database, claimer: Claimer) -> Claimed | None:
    """Answer the claim an Idempotency-Key already made, wherever it was made (R61).

    None without a key or without such a claim. Raises Conflict for other arguments.
    """
    if claimer.request.claim_key is None:
        return None
    with db.transaction() as conn:
        return replaying.replay(db, conn, claimer)


def _in_transaction(
    db: Database, claimer: Claimer, gone: Gone, claim: Callable[[Connection], Pick | None]
) -> Claimed | None:
    with db.transaction() as conn:
        replayed = replaying.replay(db, conn, claimer)
        if replayed is not None:
            return replayed
        with watched(claimer, conn):
            pick = claim(conn)
        if pick is None:
            raise database.Rollback
        claimed = replaying.fenced(db, conn, claimer, pick)
        leave_if(gone)
    if pick is None:
        return None
    replaying.count(db, pick)
    return claimed


def _pick(conn: Connection, kind: Kind, params: Mapping[str, object]) -> Pick | None:
    todo = database.one(conn, SQL[f"claim_{kind}"], params, Todo)
    return None if todo is None else Pick(todo, is_takeover=kind is Kind.LAPSED)


def _claim_under_lock(conn: Connection, params: Mapping[str, object]) -> Pick | None:
    """Wait for the todo, look at it afresh, then claim it: three statements, never fewer (R2)."""
    if database.value(conn, SQL["lock_candidate"], params) is None:
        raise NotFound
    found = database.one(conn, SQL["read_claimable"], params, _Claimable)
    if found is None or not found.is_claimable:
        raise Conflict("The todo is not claimable now.")
    if found.has_policy:
        return None
    todo = database.one(conn, SQL["claim_locked"], params, Todo)
    if todo is None:
        raise NotFound
    return Pick(todo, is_takeover=found.is_takeover)
