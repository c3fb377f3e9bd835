"""The claim: a todo becomes work here and nowhere else, whoever asks for it.

Lock order is key, todo, policy. A queue with a policy is refused until admission can be judged:
a claim is never waved through on a guess (REQ-9).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from psycopg import sql

from app.db import database
from app.db.database import Connection, Database
from app.db.statements import load
from app.domain.admission import Reason, Waiting
from app.domain.callers import Endpoint, Human
from app.domain.errors import Conflict, Deferred, Forbidden, NotFound
from app.domain.todos import Todo, is_todo_id
from app.reads.grants import granted_queues, named_queue
from app.transactions import replaying
from app.transactions.claims import (
    Claimed,
    Claimer,
    ClaimRequest,
    Gone,
    NothingClaimed,
    Pick,
    leave_if,
    of_endpoint,
    of_human,
)

SQL = load("claiming")

Guard = Callable[[Connection], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class _Head:
    queue_id: int
    has_policy: bool
    pending_at: datetime | None
    pending_id: str | None
    due_at: datetime | None
    due_id: str | None


@dataclass(frozen=True, slots=True)
class _Claimable:
    queue: str
    has_policy: bool
    is_takeover: bool
    is_claimable: bool


@dataclass(frozen=True, slots=True)
class _Behind:
    queue: str
    pending: int


def claim_next(
    db: Database, endpoint: Endpoint, queue: str | None, request: ClaimRequest, *, gone: Gone
) -> Claimed | NothingClaimed:
    """Claim the oldest claimable todo of the granted queues, or of `queue` alone.

    Raises Forbidden for an own queue that is not granted, NotFound for a team queue outside
    reach, Conflict for an Idempotency-Key used otherwise, Unavailable, OutcomeUnknown.
    (todos.md, "Claimable"; REQ-7)
    """
    claimer = of_endpoint(endpoint, request)
    if request.claim_key is None and not request.require_fence:
        return _claim_next_plainly(db, endpoint, queue, claimer, gone)
    with db.transaction() as conn:
        answer: Claimed | NothingClaimed | None = replaying.replay(db, conn, claimer)
        pick = None
        if answer is None:
            queue_id = named_queue(conn, endpoint, queue)
            pick = _pick_anywhere(conn, claimer, queue_id, gone, _within_transaction)
            answer = _answer(db, conn, claimer, pick, queue_id)
        leave_if(gone)
    if pick is not None:
        replaying.count(db, pick)
    return answer


def claim(
    db: Database, endpoint: Endpoint, todo_id: str, request: ClaimRequest, *, gone: Gone
) -> Claimed:
    """Claim one todo by id, waiting up to 5 s for its lock.

    Checks in order: own tenant (NotFound), queue granted (Forbidden), claimable (Conflict),
    admission (Deferred). Raises Unavailable when the todo's lock is not had in time.
    """
    claimer = of_endpoint(endpoint, request)
    return _claim_one(db, claimer, todo_id, SQL["read_candidate_of_endpoint"], gone)


def board_claim(db: Database, human: Human, todo_id: str, *, gone: Gone) -> Claimed:
    """Claim one todo on the board: within the human's reach, by the same rules (R44)."""
    return _claim_one(db, of_human(human), todo_id, SQL["read_candidate_of_human"], gone)


def watched_queues(db: Database, endpoint: Endpoint, queue: str | None) -> tuple[int, ...]:
    """The ids of the queues a waiting claim_next listens to. Raises as claim_next does."""
    with db.reading() as conn:
        return granted_queues(conn, endpoint, queue)


def _claim_next_plainly(
    db: Database, endpoint: Endpoint, queue: str | None, claimer: Claimer, gone: Gone
) -> Claimed | NothingClaimed:
    """Without a key or a fence each pick is one statement that commits by itself."""
    with db.reading() as conn:
        queue_id = named_queue(conn, endpoint, queue)
        pick = _pick_anywhere(conn, claimer, queue_id, gone, database.deciding)
        if pick is not None:
            replaying.count(db, pick)
        return _answer(db, conn, claimer, pick, queue_id)


def _within_transaction(_: Connection) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def _pick_anywhere(
    conn: Connection, claimer: Claimer, queue_id: int | None, gone: Gone, guard: Guard
) -> Pick | None:
    """Try the heads of the queues, oldest first; then, and only then, lapsed leases (R70)."""
    params = claimer.params(queue_id=queue_id)
    for statement, picked_queue in _oldest_first(conn, params):
        leave_if(gone)
        with guard(conn):
            todo = database.one(conn, statement, claimer.params(queue_id=picked_queue), Todo)
        if todo is not None:
            return Pick(todo, is_takeover=False)
    for (lapsed_queue,) in conn.execute(SQL["peek_lapsed"], params).fetchall():
        leave_if(gone)
        lapsed = claimer.params(queue_id=lapsed_queue)
        with guard(conn):
            todo = database.one(conn, SQL["claim_lapsed"], lapsed, Todo)
        if todo is not None:
            return Pick(todo, is_takeover=True)
    return None


def _oldest_first(conn: Connection, params: database.Params) -> list[tuple[sql.SQL, int]]:
    """The picks to try, by the age of the head that each would find (R48)."""
    tries = []
    for head in database.many(conn, SQL["peek_heads"], params, _Head):
        if head.has_policy:
            continue
        if head.pending_at and head.pending_id:
            tries.append((head.pending_at, head.pending_id, "claim_pending", head.queue_id))
        if head.due_at and head.due_id:
            tries.append((head.due_at, head.due_id, "claim_due", head.queue_id))
    return [(SQL[name], queue_id) for _, _, name, queue_id in sorted(tries)]


def _answer(
    db: Database, conn: Connection, claimer: Claimer, pick: Pick | None, queue_id: int | None
) -> Claimed | NothingClaimed:
    if pick is not None:
        return replaying.describe(db, conn, claimer, pick)
    params = {"endpoint_id": claimer.endpoint_id, "queue_id": queue_id}
    behind = database.many(conn, SQL["read_waiting_behind_policies"], params, _Behind)
    return NothingClaimed(deferred=tuple(_unavailable(entry) for entry in behind))


def _unavailable(entry: _Behind) -> Waiting:
    return Waiting(
        queue=entry.queue,
        reason=Reason.ADMISSION_UNAVAILABLE,
        pending=entry.pending,
        next_eligible_at=None,
        exact=False,
    )


def _claim_one(
    db: Database, claimer: Claimer, todo_id: str, candidate: sql.SQL, gone: Gone
) -> Claimed:
    # A text that cannot be an id runs the same statement: foreign and unknown look alike.
    params = claimer.params(todo_id=todo_id if is_todo_id(todo_id) else "")
    with db.reading() as conn:
        granted = database.value(conn, candidate, params)
    if granted is None:
        raise NotFound
    if not granted:
        raise Forbidden("The grant does not include the queue of this todo.")
    with db.transaction() as conn:
        replayed = replaying.replay(db, conn, claimer)
        if replayed is not None:
            return replayed
        pick = _claim_under_lock(conn, params)
        claimed = replaying.describe(db, conn, claimer, pick)
        leave_if(gone)
    replaying.count(db, pick)
    return claimed


def _claim_under_lock(conn: Connection, params: database.Params) -> Pick:
    """Wait for the todo, look at it afresh, then claim it: three statements, never fewer (R2)."""
    if database.value(conn, SQL["lock_candidate"], params) is None:
        raise NotFound
    found = database.one(conn, SQL["read_claimable"], params, _Claimable)
    if found is None or not found.is_claimable:
        raise Conflict("The todo is not claimable now.")
    if found.has_policy:
        raise Deferred(
            f"The policy of queue {found.queue} cannot be evaluated.",
            queue=found.queue,
            reason=Reason.ADMISSION_UNAVAILABLE,
            next_eligible_at=None,
            exact=False,
        )
    todo = database.one(conn, SQL["claim_locked"], params, Todo)
    if todo is None:
        raise NotFound
    return Pick(todo, is_takeover=found.is_takeover)
