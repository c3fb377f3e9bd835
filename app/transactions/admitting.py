"""The budgeted claim: one turn is one transaction with two round trips under its locks.

Todo lock, then policy lock, then the look, then the decision, then the writes and COMMIT in one
trip (SPEC-0030 REQ-3, REQ-4; todos.md, "Claim with a policy"). Whatever cannot be judged is
refused as admission_unavailable, here and nowhere else (REQ-9).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row

from app.db import database
from app.db.database import Connection, Database
from app.db.gates import Deadline, GateTimeout, Turn
from app.db.sealing import token_hash
from app.db.statements import load
from app.domain.admission import UNAVAILABLE, Deferral, Reason
from app.domain.errors import Conflict, NotFound, OutcomeUnknown
from app.domain.policy import PolicyBroken
from app.domain.todos import Todo
from app.transactions import (
    barrier,
    faults,
    left,
    looks,
    picking,
    reopening,
    replaying,
    spent,
)
from app.transactions.claims import Claimed, Claimer, Gone, Pick, Refused, leave_if, watched
from app.transactions.looks import Look, Verdict
from app.transactions.picking import Kind

SQL = load("admitting")

# What guard_window raises: nothing was committed, the claim starts over, once (R1).
_WINDOW_ENDED = "SB001"

log = logging.getLogger(__name__)

FirstTrip = Callable[[Connection, Deadline], Look | None]


class _WindowEnded(Exception):
    """The window ended between the charge and the commit."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    db: Database
    claimer: Claimer
    queue_id: int
    gone: Gone
    look: FirstTrip
    deadline: Deadline
    turn: Turn


def take_next(
    db: Database, claimer: Claimer, queue_id: int, kind: Kind, gone: Gone
) -> Claimed | Refused | None:
    """One turn for the oldest such todo of a queue that may have a policy; None: none was free.

    Raises Unavailable, OutcomeUnknown, Conflict for an Idempotency-Key used otherwise.
    """
    return _turn(
        db,
        claimer,
        queue_id,
        gone,
        lambda conn, deadline: looks.look_next(db, conn, claimer, deadline, queue_id, kind),
    )


def take(
    db: Database, claimer: Claimer, queue_id: int, todo_id: str, gone: Gone
) -> Claimed | Refused:
    """One turn for one todo by id.

    Raises NotFound, Conflict when it is not claimable (before admission is asked, R9),
    Unavailable when its lock is not had in time, OutcomeUnknown.
    """
    answer = _turn(
        db,
        claimer,
        queue_id,
        gone,
        lambda conn, deadline: looks.look_at(db, conn, claimer, deadline, queue_id, todo_id),
    )
    if answer is None:
        raise NotFound
    return answer


def _turn(
    db: Database, claimer: Claimer, queue_id: int, gone: Gone, look: FirstTrip
) -> Claimed | Refused | None:
    deadline = Deadline()
    try:
        with db.memory.gates.entered(queue_id, deadline) as turn:
            attempt = _Attempt(db, claimer, queue_id, gone, look, deadline, turn)
            with contextlib.suppress(_WindowEnded):
                return _run(attempt)
            return _run(attempt)
    except GateTimeout:
        return _unjudged(db, queue_id, "gate_timeout")
    except psycopg.errors.LockNotAvailable:
        return _unjudged(db, queue_id, "lock_timeout")
    except PolicyBroken as broken:
        return _unjudged(db, queue_id, broken.kind)
    except (psycopg.Error, _WindowEnded) as fault:
        # The one place that turns whatever went wrong while judging into a refusal: a wrong
        # refusal costs latency, a wrong admission is the breach this exists to prevent.
        leave_if(gone)
        log.warning("claim not judged: queue_id=%s fault=%s", queue_id, type(fault).__name__)
        return _unjudged(db, queue_id, "database")


def _run(attempt: _Attempt) -> Claimed | Refused | None:
    closing: list[Reason] = []
    try:
        return _transact(attempt, closing)
    finally:
        # Also when the answer of a committed claim failed, and holding no connection (R59).
        for reason in closing:
            reopening.owe(attempt.db, attempt.queue_id, reason)


def _transact(attempt: _Attempt, closing: list[Reason]) -> Claimed | Refused | None:
    """The transaction and the answer; what the claim used up goes into `closing`."""
    db, claimer = attempt.db, attempt.claimer
    with db.section() as conn:
        if claimer.request.claim_key is not None:
            looks.begin(conn, attempt.deadline)
            replayed = replaying.replay(db, conn, claimer)
            if replayed is not None:
                return replayed
        with watched(claimer, conn):
            seen = attempt.look(conn, attempt.deadline)
        if seen is None:
            return None
        if not seen.is_claimable:
            raise Conflict("The todo is not claimable now.")
        verdict = looks.judge(db, conn, attempt.queue_id, seen)
        if isinstance(verdict.decision, Deferral):
            spent.remember(db, attempt.queue_id, seen, verdict)
            return Refused(verdict.decision)
        leave_if(attempt.gone)
        # A lone caller gains nothing by sharing a flush.
        is_grouped = db.has_grouped_commit and attempt.turn.has_waiter
        pick, used = _write(db, conn, claimer, seen, verdict, is_grouped=is_grouped)
        attempt.turn.leave()
        closing += left.closed_by(verdict, seen, used)
        return _answer(db, conn, claimer, pick, verdict, seen, used, is_grouped=is_grouped)


def _write(
    db: Database,
    conn: Connection,
    claimer: Claimer,
    seen: Look,
    verdict: Verdict,
    *,
    is_grouped: bool,
) -> tuple[Pick, int | None]:
    """Claim, charge, guard and COMMIT in one trip; a failed statement skips the COMMIT."""
    span = verdict.span
    params = claimer.params(
        todo_id=seen.todo_id,
        at=seen.at,
        token_hash=_fence(db, claimer, seen),
        policy_id=seen.policy_id if span else None,
        window_start=span.starts_at if span else None,
        limit=verdict.policy.max_claims_per_window if verdict.policy else None,
        is_retry=seen.attempts_total > 0 and not seen.is_takeover,
        is_takeover=seen.is_takeover,
    )
    todos = conn.cursor(row_factory=class_row(Todo))
    charges = conn.cursor()
    try:
        with conn.pipeline():
            if is_grouped:
                conn.execute(barrier.defer_flush())
            todos.execute(picking.SQL["claim_locked"], params)
            if span is not None:
                charges.execute(SQL["charge_window"], params)
                conn.execute(SQL["guard_window"], {"ends_at": span.ends_at})
            conn.execute(SQL["commit_claim"])
    except psycopg.Error as fault:
        if conn.closed:
            raise OutcomeUnknown from fault
        if fault.sqlstate == _WINDOW_ENDED:
            raise _WindowEnded from fault
        raise
    todo = todos.fetchone()
    charged = charges.fetchone() if span is not None else None
    if todo is None:
        raise NotFound
    return Pick(todo, is_takeover=seen.is_takeover), charged[0] if charged else None


def _fence(db: Database, claimer: Claimer, seen: Look) -> bytes | None:
    if not claimer.request.require_fence:
        return None
    seq = seen.attempts_total + 1
    return token_hash(db.sealer.lease_token(seen.todo_id, seq, claimer.request.claim_key))


def _answer(
    db: Database,
    conn: Connection,
    claimer: Claimer,
    pick: Pick,
    verdict: Verdict,
    seen: Look,
    used: int | None,
    *,
    is_grouped: bool,
) -> Claimed:
    """After the commit: flush if that is still owed, count, tell, and say what is left (R42)."""
    try:
        if is_grouped:
            barrier.flush(conn)
    finally:
        # The claim stands also when its flush is uncertain, so it is counted (claim.md, 7).
        _count(db, pick, is_charged=used is not None)
    with database.committed():
        faults.forget(db, conn, pick.todo.queue_id)
        headroom = left.headroom_of(conn, pick, verdict, seen, used)
        return replaying.described(db, conn, claimer, pick, headroom)


def _count(db: Database, pick: Pick, *, is_charged: bool) -> None:
    replaying.count(db, pick)
    if is_charged:
        db.counters.add("switchboard_admission_charged_total", queue=pick.todo.queue_name)


def _unjudged(db: Database, queue_id: int, kind: str) -> Refused:
    faults.note(db, queue_id, kind)
    return Refused(UNAVAILABLE)
