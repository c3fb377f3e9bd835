"""A claim's answer: what it says the first time, and the same again for its Idempotency-Key."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from app.db import database, journal
from app.db.database import Connection, Database
from app.db.sealing import token_hash
from app.db.statements import load
from app.domain.admission import Headroom, headroom
from app.domain.errors import Conflict
from app.domain.todos import Attempt, Todo
from app.reads import admission
from app.transactions.claims import Claimed, Claimer, Pick

SQL = load("replaying")


@dataclass(frozen=True, slots=True)
class _Facts:
    seq: int
    args_hash: bytes | None
    is_fenced: bool


def replay(db: Database, conn: Connection, claimer: Claimer) -> Claimed | None:
    """Look the caller's key up, under its lock; answer the claim it already made (R61).

    None without a key, or when the key has made no claim whose attempt is still open. Raises
    Conflict when the key was used with other arguments.
    """
    if claimer.request.claim_key is None:
        return None
    params = claimer.params()
    conn.execute(SQL["lock_claim_key"], params)
    facts = database.one(conn, SQL["read_claim_facts"], params, _Facts)
    todo = database.one(conn, SQL["read_claim_by_key"], params, Todo)
    if facts is None or todo is None:
        return None
    if facts.args_hash != claimer.request.args_hash:
        raise Conflict(
            "This Idempotency-Key was used with different arguments.", field="Idempotency-Key"
        )
    token = _lease_token(db, claimer, todo, facts.seq) if facts.is_fenced else None
    answer = _claimed(conn, todo, token, facts.seq, None)
    # Last, because a policy that cannot be read fails the transaction, which has nothing to keep.
    return dataclasses.replace(
        answer, admission=_headroom_now(conn, todo), is_replay=True
    )


def fenced(db: Database, conn: Connection, claimer: Claimer, pick: Pick) -> Claimed:
    """Fence the new attempt when that was asked for, before the commit, and answer the claim."""
    todo = pick.todo
    if claimer.request.require_fence:
        token = _lease_token(db, claimer, todo, todo.attempts_total)
        fence = {"todo_id": todo.id, "seq": todo.attempts_total, "token_hash": token_hash(token)}
        database.run(conn, SQL["mark_fenced"], fence)
    return described(db, conn, claimer, pick, None)


def described(
    db: Database, conn: Connection, claimer: Claimer, pick: Pick, left: Headroom | None
) -> Claimed:
    """Answer a new claim, with its lease token and what its queue's policy leaves."""
    todo = pick.todo
    token = None
    if claimer.request.require_fence:
        token = _lease_token(db, claimer, todo, todo.attempts_total)
    return _claimed(conn, todo, token, todo.attempts_total, left)


def _headroom_now(conn: Connection, todo: Todo) -> Headroom | None:
    """Today's headroom of a claim that is answered again: no policy lock, no charge (R61)."""
    if not todo.has_policy:
        return None
    status = admission.statuses(conn, [todo.queue_id]).get(todo.queue_id)
    if status is None or status.policy is None or status.usage is None:
        return None
    usage = status.usage
    return headroom(status.policy, usage.in_flight, usage.used, usage.window_resets_at)


def count(db: Database, pick: Pick) -> None:
    """After the commit: counters, and the others are told (todos.md, step 12)."""
    todo = pick.todo
    queue = todo.queue_name
    db.counters.add("switchboard_todos_claimed_total", queue=queue)
    bucket = str(todo.attempts_total) if todo.attempts_total < 3 else "3+"
    db.counters.add("switchboard_todo_attempts_total", queue=queue, attempt_bucket=bucket)
    if pick.is_takeover:
        db.counters.add("switchboard_todo_leases_expired_total", queue=queue)
        db.counters.add(
            "switchboard_todo_attempts_closed_total", queue=queue, outcome="lease_expired"
        )
    how = "taken_over" if pick.is_takeover else "claimed"
    journal.note(
        "todo_claimed", todo=todo.id, queue=queue, outcome=how, attempt=todo.attempts_total
    )
    db.feed.changed(todo.queue_id)


def _lease_token(db: Database, claimer: Claimer, todo: Todo, seq: int) -> str:
    return db.sealer.lease_token(todo.id, seq, claimer.request.claim_key)


def _claimed(
    conn: Connection, todo: Todo, token: str | None, seq: int, left: Headroom | None
) -> Claimed:
    prior: list[Attempt] = []
    if todo.attempts_total > 1:
        prior = database.many(conn, SQL["read_prior_attempts"], {"todo_id": todo.id}, Attempt)
    return Claimed(
        todo=todo,
        attempt_seq=seq,
        attempts_total=todo.attempts_total,
        prior_attempts=tuple(prior),
        lease_token=token,
        admission=left,
    )
