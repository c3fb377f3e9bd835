"""What ends a claim or moves its lease, and what the owner may do to a todo besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg import errors as pg

from app.db import database, journal
from app.db.database import Connection, Database
from app.db.statements import load
from app.domain.callers import Endpoint, Human
from app.domain.errors import Conflict, NotFound, RoleRequired
from app.domain.settlement import Ending, Held, is_repeat
from app.domain.todos import (
    State,
    Todo,
    check_artifact,
    cut_summary,
    is_todo_id,
    lease_seconds,
    retry_backoff,
)
from app.domain.values import Json
from app.transactions import holders, reopening, ringing
from app.transactions.holders import Holder

SQL = load("settling")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What a caller says at the end of a claim. `has_result` tells a null result from none."""

    result: Json = None
    has_result: bool = False
    summary: str | None = None
    artifact: str | None = None
    lease_token: str | None = None


@dataclass(frozen=True, slots=True)
class _Facts:
    may_configure: bool | None
    is_alive: bool


def heartbeat(
    db: Database,
    endpoint: Endpoint,
    todo_id: str,
    *,
    lease_ttl_seconds: int | None,
    lease_token: str | None,
) -> Todo:
    """Set the lease to now + ttl (it may shorten); spends no attempt.

    Raises NotFound for a foreign or unknown todo, Conflict when the caller does not hold it.
    """
    seconds = lease_seconds(lease_ttl_seconds, endpoint.default_lease_ttl_seconds)
    return _beat(db, holders.of_endpoint(endpoint, lease_token), todo_id, seconds)


def extend(db: Database, human: Human, todo_id: str) -> Todo:
    """Set the lease of a claim made on the board to now + 300 s. Raises as heartbeat does."""
    return _beat(db, holders.of_human(human), todo_id, lease_seconds(None, None))


def complete(db: Database, endpoint: Endpoint, todo_id: str, settlement: Settlement) -> Todo:
    """claimed -> done. Repeated by the same attempt's owner: the row as it is (R66).

    Raises NotFound, Conflict, InvalidAttemptInput (artifact; the todo stays claimed).
    """
    holder = holders.of_endpoint(endpoint, settlement.lease_token)
    return _settle(db, holder, todo_id, Ending.COMPLETED, settlement)


def fail(db: Database, endpoint: Endpoint, todo_id: str, settlement: Settlement) -> Todo:
    """claimed -> failed: below the cap a retry is parked, at it a dead letter. As complete."""
    holder = holders.of_endpoint(endpoint, settlement.lease_token)
    return _settle(db, holder, todo_id, Ending.FAILED, settlement)


def release(db: Database, endpoint: Endpoint, todo_id: str, settlement: Settlement) -> Todo:
    """claimed -> pending; the attempt is neither spent nor reset. Raises as complete."""
    holder = holders.of_endpoint(endpoint, settlement.lease_token)
    return _settle(db, holder, todo_id, Ending.RELEASED, settlement)


def complete_as(db: Database, human: Human, todo_id: str, settlement: Settlement) -> Todo:
    """complete, for a lease the human took on the board; the fence is ignored."""
    return _settle(db, holders.of_human(human), todo_id, Ending.COMPLETED, settlement)


def fail_as(db: Database, human: Human, todo_id: str, settlement: Settlement) -> Todo:
    """fail, for a lease the human took on the board."""
    return _settle(db, holders.of_human(human), todo_id, Ending.FAILED, settlement)


def release_as(db: Database, human: Human, todo_id: str, settlement: Settlement) -> Todo:
    """release, for a lease the human took on the board."""
    return _settle(db, holders.of_human(human), todo_id, Ending.RELEASED, settlement)


def retry_now(db: Database, human: Human, todo_id: str) -> Todo:
    """failed -> pending with a fresh set of attempts.

    Raises NotFound, Conflict when the todo is not failed, its endpoint is revoked or expired, or
    another live todo has taken its key.
    """
    with db.transaction() as conn:
        # Before the todo, as a deletion of the queue does: it finds no live todo and none comes.
        database.run(conn, SQL["lock_team_queue_of_todo"], _named(human, todo_id))
        held = holders.lock(conn, holders.of_human(human), todo_id)
        if held.state != State.FAILED:
            raise Conflict("Only a failed todo can be retried.")
        # A revoke beside us would not see this todo among its live ones: wait for it, or it for us.
        database.run(conn, SQL["lock_endpoint_of_queue"], {"queue_id": held.queue_id})
        if not _facts(conn, human, held).is_alive:
            raise Conflict("The endpoint of this todo is revoked or expired.")
        try:
            database.run(conn, SQL["mark_retried"], {"todo_id": todo_id})
        except pg.UniqueViolation:
            raise Conflict("Another live todo has the same idempotency key.") from None
        todo = holders.row(conn, todo_id)
    journal.note("todo_retried", todo=todo.id, queue=todo.queue_name, outcome=todo.state)
    db.feed.ready(todo.queue_id)
    ringing.requeued(db, [todo.id], tells_hooks=False)
    return todo


def discard(db: Database, human: Human, todo_id: str) -> Todo:
    """pending or parked retry -> dead letter; charges nothing, allowed while deferred (R65).

    Raises NotFound, RoleRequired for a plain team member, Conflict in any other state.
    """
    with db.transaction() as conn:
        held = holders.lock(conn, holders.of_human(human), todo_id)
        if not _facts(conn, human, held).may_configure:
            raise RoleRequired("Only an owner or admin of the team may discard its todos.")
        before = holders.row(conn, todo_id)
        if before.state == State.PENDING or (
            before.state == State.FAILED and before.next_retry_at is not None
        ):
            database.run(conn, SQL["mark_discarded"], {"todo_id": todo_id})
        else:
            raise Conflict("Only a pending todo or a parked retry can be discarded.")
        todo = holders.row(conn, todo_id)
    journal.note("todo_discarded", todo=todo.id, queue=todo.queue_name, outcome=_outcome(todo))
    db.feed.changed(todo.queue_id)
    return todo


def _beat(db: Database, holder: Holder, todo_id: str, seconds: int) -> Todo:
    with db.transaction() as conn:
        held = holders.lock(conn, holder, todo_id)
        holders.require(holder, held, holders.latest(conn, held))
        beat = {"todo_id": todo_id, "lease_seconds": seconds}
        database.run(conn, SQL["mark_heartbeat"], beat)
        todo = holders.row(conn, todo_id)
    db.feed.changed(todo.queue_id)
    return todo


def _settle(
    db: Database, holder: Holder, todo_id: str, ending: Ending, settlement: Settlement
) -> Todo:
    summary, is_cut = cut_summary(settlement.summary)
    said = {
        "todo_id": todo_id,
        "summary": summary,
        "summary_truncated": is_cut,
        "artifact": check_artifact(settlement.artifact),
        "result": database.jsonb(settlement.result) if settlement.has_result else None,
    }
    with db.transaction() as conn:
        held = holders.lock(conn, holder, todo_id)
        latest = holders.latest(conn, held)
        if held.state != State.CLAIMED and is_repeat(
            latest, ending, owner=holder.owner, token_hash=holder.fence, fenced=holder.is_fenced
        ):
            return holders.row(conn, todo_id)
        holders.require(holder, held, latest)
        _mark(conn, held, ending, said)
        todo = holders.row(conn, todo_id)
    _after_commit(db, todo, ending)
    return todo


def _mark(conn: Connection, held: Held, ending: Ending, said: Mapping[str, object]) -> None:
    match ending:
        case Ending.COMPLETED:
            database.run(conn, SQL["mark_completed"], said)
        case Ending.RELEASED:
            database.run(conn, SQL["mark_released"], said)
        case Ending.FAILED:
            may_retry = held.attempt < held.max_attempts
            wait = int(retry_backoff(held.attempt).total_seconds()) if may_retry else None
            ends = "retry_scheduled" if may_retry else "dead_lettered"
            failed = {**said, "backoff_seconds": wait, "disposition": ends}
            database.run(conn, SQL["mark_failed"], failed)


def _after_commit(db: Database, todo: Todo, ending: Ending) -> None:
    queue = todo.queue_name
    db.counters.add("switchboard_todo_attempts_closed_total", queue=queue, outcome=ending.value)
    journal.note(f"todo_{ending.value}", todo=todo.id, queue=queue, outcome=_outcome(todo))
    rung: frozenset[int] = frozenset()
    if todo.has_policy:
        db.feed.reopened(todo.queue_id)  # a slot is free again
        rung = reopening.detect(db, [todo.queue_id])
    if ending is Ending.RELEASED:
        db.feed.ready(todo.queue_id)
        ringing.requeued(db, [todo.id], tells_hooks=False, rung=rung)
        return
    outcome = "complete" if ending is Ending.COMPLETED else "fail"
    db.counters.add("switchboard_todos_completed_total", queue=queue, outcome=outcome)
    db.feed.changed(todo.queue_id)


def _outcome(todo: Todo) -> str:
    """What became of the todo: its state, or that a retry is parked."""
    if todo.state != State.FAILED:
        return todo.state
    return "dead_lettered" if todo.dead_letter else "retry_scheduled"


def _named(human: Human, todo_id: str) -> dict[str, object]:
    return {"human_id": human.id, "todo_id": todo_id if is_todo_id(todo_id) else ""}


def _facts(conn: Connection, human: Human, held: Held) -> _Facts:
    params = {"human_id": human.id, "queue_id": held.queue_id}
    facts = database.one(conn, SQL["read_facts_for_human"], params, _Facts)
    if facts is None:
        raise NotFound
    return facts
