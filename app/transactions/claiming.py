"""The claim: a todo becomes work here and nowhere else, whoever asks for it.

Lock order is key, todo, policy. What a queue's policy cannot judge is refused: a claim is never
waved through on a guess (REQ-9).
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from app.db import database
from app.db.database import Database
from app.db.statements import load
from app.domain.callers import Endpoint, Human
from app.domain.errors import Forbidden, NotFound
from app.domain.todos import is_todo_id
from app.reads.grants import granted_queues, named_queue
from app.transactions import admitting, barrier, ending, faults, picking, refusals
from app.transactions.claims import (
    Claimed,
    Claimer,
    ClaimRequest,
    Gone,
    NothingClaimed,
    Refused,
    of_endpoint,
    of_human,
)
from app.transactions.searching import Search

SQL = load("claiming")


@dataclass(frozen=True, slots=True)
class _Candidate:
    queue_id: int
    name: str
    has_policy: bool
    is_granted: bool


def claim_next(
    db: Database, endpoint: Endpoint, queue: str | None, request: ClaimRequest, *, gone: Gone
) -> Claimed | NothingClaimed:
    """Claim the oldest claimable todo of the granted queues, or of `queue` alone.

    Raises Forbidden for an own queue that is not granted, NotFound for a team queue outside
    reach, Conflict for an Idempotency-Key used otherwise, Unavailable, OutcomeUnknown.
    (todos.md, "Claimable"; REQ-7)
    """
    claimer = of_endpoint(endpoint, request)
    answer = _next(db, endpoint, claimer, queue, gone)
    while isinstance(answer, Claimed) and _is_lost(db, claimer, answer):
        answer = _next(db, endpoint, claimer, queue, gone)
    return answer


def claim(
    db: Database, endpoint: Endpoint, todo_id: str, request: ClaimRequest, *, gone: Gone
) -> Claimed:
    """Claim one todo by id, waiting up to 5 s for its lock.

    Checks in order: own tenant (NotFound), queue granted (Forbidden), claimable (Conflict),
    admission (Deferred). Raises Unavailable when the todo's lock is not had in time.
    """
    claimer = of_endpoint(endpoint, request)
    return _claim_in_reach(db, claimer, todo_id, SQL["read_candidate_of_endpoint"], gone)


def board_claim(db: Database, human: Human, todo_id: str, *, gone: Gone) -> Claimed:
    """Claim one todo on the board: within the human's reach, by the same rules (R44)."""
    return _claim_in_reach(db, of_human(human), todo_id, SQL["read_candidate_of_human"], gone)


def watched_queues(db: Database, endpoint: Endpoint, queue: str | None) -> tuple[int, ...]:
    """The ids of the queues a waiting claim_next listens to. Raises as claim_next does."""
    with db.reading() as conn:
        return granted_queues(conn, endpoint, queue)


def _next(
    db: Database, endpoint: Endpoint, claimer: Claimer, queue: str | None, gone: Gone
) -> Claimed | NothingClaimed:
    if queue is None and claimer.request.claim_key is None:
        return Search(db=db, claimer=claimer, queue_id=None, gone=gone).run()
    with db.reading() as conn:
        queue_id = named_queue(conn, endpoint, queue)
    answer: Claimed | NothingClaimed | None = picking.replay(db, claimer)
    if answer is None:
        answer = Search(db=db, claimer=claimer, queue_id=queue_id, gone=gone).run()
    _put_on_disk(db, answer)
    return answer


def _claim_in_reach(
    db: Database, claimer: Claimer, todo_id: str, statement: sql.SQL, gone: Gone
) -> Claimed:
    claimed = _claim_one(db, claimer, todo_id, statement, gone)
    if _is_lost(db, claimer, claimed):
        raise NotFound
    return claimed


def _is_lost(db: Database, claimer: Claimer, made: Claimed) -> bool:
    """Whether the claimer lost reach of the queue before the claim's commit; it is given back then.

    Only a team can be left. The other half of `ending.give_back`.
    """
    if made.todo.team_id is None and claimer.human_id is None:
        return False
    params = claimer.params(queue_id=made.todo.queue_id)
    with database.committed():
        with db.reading() as conn:
            if database.value(conn, SQL["read_is_reached"], params):
                return False
        endpoints = () if claimer.endpoint_id is None else (claimer.endpoint_id,)
        humans = () if claimer.human_id is None else (claimer.human_id,)
        queues = (made.todo.queue_id,)
        ending.give_back(db, queues, endpoint_ids=endpoints, human_ids=humans)
    return True


def _claim_one(
    db: Database, claimer: Claimer, todo_id: str, statement: sql.SQL, gone: Gone
) -> Claimed:
    # A text that cannot be an id runs the same statement: foreign and unknown look alike.
    params = claimer.params(todo_id=todo_id if is_todo_id(todo_id) else "")
    with db.reading() as conn:
        candidate = database.one(conn, statement, params, _Candidate)
    if candidate is None:
        raise NotFound
    if not candidate.is_granted:
        raise Forbidden("The grant does not include the queue of this todo.")
    if not candidate.has_policy:
        claimed = picking.take(db, claimer, todo_id, gone)
        if claimed is not None:
            _put_on_disk(db, claimed)
            return claimed
    answer = admitting.take(db, claimer, candidate.queue_id, todo_id, gone)
    if isinstance(answer, Refused):
        name = candidate.name
        refusals.count(db, claimer, candidate.queue_id, name, answer.deferral)
        raise faults.refusal(db, candidate.queue_id, answer.deferral)
    _put_on_disk(db, answer)
    return answer


def _put_on_disk(db: Database, answer: Claimed | NothingClaimed) -> None:
    """A claim that is answered again may not be flushed yet, with grouped commit (R61)."""
    if isinstance(answer, Claimed) and answer.is_replay:
        barrier.flush_for_replay(db)
