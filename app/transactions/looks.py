"""The first trip of a budgeted claim: what is seen once its todo and its policy are locked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import class_row

from app.db import database
from app.db.database import Connection, Database
from app.db.gates import Deadline
from app.db.statements import load
from app.domain.admission import Admitted, Decision, Usage, decide
from app.domain.errors import NotFound, Unavailable
from app.domain.policy import Policy, stored_policy
from app.domain.windows import Span, window_at
from app.transactions import picking
from app.transactions.claims import Claimer
from app.transactions.picking import Kind

SQL = load("looks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One locked todo, its queue's locked policy (None: it has none), and the counts and clock."""

    todo_id: str
    attempts_total: int
    is_takeover: bool
    is_claimable: bool = True
    policy_id: UUID | None
    revision: int | None
    max_in_flight: int | None
    max_claims_per_window: int | None
    window_period: str | None
    window_tz: str | None
    window_start: str | None
    window_weekday: str | None
    in_flight: int | None
    at: datetime | None
    used: int | None
    expected: datetime | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the domain decided, under which policy and in which window (None: no window limit)."""

    policy: Policy | None
    span: Span | None
    decision: Decision


def begin(conn: Connection, deadline: Deadline) -> None:
    """Begin the claim's transaction, unless a key has already, with what is left of the time."""
    if conn.info.transaction_status == TransactionStatus.IDLE:
        conn.execute(SQL["begin_claim"])
    _limit(conn, deadline)


def look_next(
    db: Database, conn: Connection, claimer: Claimer, deadline: Deadline, queue_id: int, kind: Kind
) -> Look | None:
    """Begin, pick, lock and look, in one trip; None when no such todo is free."""
    params = claimer.params(queue_id=queue_id, expected=db.memory.window_starts.get(queue_id))
    with conn.pipeline():
        begin(conn, deadline)
        cursor = conn.cursor(row_factory=class_row(Look))
        return cursor.execute(SQL[f"pick_{kind}_and_look"], params).fetchone()


def look_at(
    db: Database, conn: Connection, claimer: Claimer, deadline: Deadline, queue_id: int, todo: str
) -> Look | None:
    """Wait for one known todo, holding no policy lock; then lock the policy and look.

    Raises NotFound; Unavailable when the todo's lock is not had in time, which is no fault of
    admission (R8).
    """
    params = claimer.params(todo_id=todo, expected=db.memory.window_starts.get(queue_id))
    with conn.pipeline():
        begin(conn, deadline)
    try:
        found = database.value(conn, picking.SQL["lock_candidate"], params)
    except psycopg.errors.LockNotAvailable as busy:
        raise Unavailable("The todo is locked by another transaction; try again.") from busy
    if found is None:
        raise NotFound
    with conn.pipeline():
        _limit(conn, deadline)
        cursor = conn.cursor(row_factory=class_row(Look))
        return cursor.execute(SQL["look_locked"], params).fetchone()


def judge(db: Database, conn: Connection, queue_id: int, seen: Look) -> Verdict:
    """Decide in the domain, on what was seen under the lock. Raises PolicyBroken."""
    if seen.policy_id is None or seen.at is None:
        return Verdict(None, None, Admitted())  # none, or deleted while we waited for it (R10)
    policy = stored_policy(
        seen.max_in_flight,
        seen.max_claims_per_window,
        seen.window_period,
        seen.window_tz,
        seen.window_start,
        seen.window_weekday,
    )
    span, used = None, None
    if policy.window is not None and policy.window_limit_in_force:
        span = window_at(policy.window, seen.at)
        used = _used(db, conn, queue_id, seen, span)
    usage = Usage(
        in_flight=seen.in_flight or 0,
        used=used,
        window_started_at=span.starts_at if span else None,
        window_resets_at=span.ends_at if span else None,
    )
    return Verdict(policy, span, decide(policy, usage))


def _used(db: Database, conn: Connection, queue_id: int, seen: Look, span: Span) -> int:
    """What was read for the window we expected, or is read now for the one it turned out to be.

    The expectation only saves a trip: it is compared with the window of the locked row and clock.
    """
    if seen.expected == span.starts_at:
        return seen.used or 0
    db.memory.window_starts.put(queue_id, span.starts_at)
    params = {"policy_id": seen.policy_id, "window_start": span.starts_at}
    used = database.value(conn, SQL["read_used"], params)
    return used if isinstance(used, int) else 0


def _limit(conn: Connection, deadline: Deadline) -> None:
    conn.execute(SQL["set_limits"], {"lock_ms": str(deadline.left_ms())})
