"""What policies admit now: statuses derived when read, never stored and never locked (REQ-6)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus

from app.db.database import Connection, Database, many
from app.db.statements import load
from app.domain.admission import UNAVAILABLE, Decision, Usage, decide, slot_hint
from app.domain.callers import Endpoint
from app.domain.errors import Unavailable
from app.domain.policy import Policy, PolicyBroken, stored_policy
from app.domain.todos import State, Todo
from app.domain.values import Json
from app.domain.windows import Span, window_at
from app.reads.grants import named_queue
from app.reads.seldom import Seldom
from app.reads.stored import StoredPolicy

SQL = load("admission")

log = logging.getLogger(__name__)
_BROKEN = Seldom()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """A queue's policy, what it is judged by, and whether a pending todo would be admitted (R4).

    `queue` is the display name. A policy that cannot be read has no `policy` and no `usage`;
    `fault` is the kind when its row is what is broken, and `stored` then is that row in the shape
    of `policy_body`, for whoever is to mend it.
    """

    queue_id: int
    queue: str
    decision: Decision
    policy_id: UUID | None = None
    revision: int | None = None
    policy: Policy | None = None
    usage: Usage | None = None
    fault: str | None = None
    stored: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedQueue:
    """A queue an endpoint drains; `status` is None without a policy."""

    queue: str
    pending: int
    status: QueueStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    queue_id: int
    queue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Used:
    policy_id: UUID
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Granted:
    queue_id: int
    queue: str
    has_policy: bool
    pending: int


@dataclass(frozen=True, slots=True)
class _Judged:
    """A stored policy that was understood, and the window it is in, if one is in force."""

    policy: Policy
    span: Span | None


def statuses(
    conn: Connection, queue_ids: Sequence[int], *, counts_all: bool = True, must_read: bool = False
) -> dict[int, QueueStatus]:
    """The status of every queue of these that has a policy now, in at most three statements.

    A fault here is an answer, not an error, and leaves a transaction around it usable. A broken row
    is UNAVAILABLE for its queue, unreadable tables for all of them (R39); only a lost connection
    raises; with `must_read` unreadable tables do too. With `counts_all` false the count in flight
    stops past the cap, for callers that need the decision alone.
    """
    if not queue_ids:
        return {}
    named = many(conn, SQL["read_names"], {"queue_ids": [*queue_ids]}, _Named)
    if not named:
        return {}
    try:
        with _survivable(conn):
            return _statuses(conn, named, counts_all=counts_all)
    except psycopg.Error as fault:
        if conn.closed or must_read:
            raise
        log.error("admission_unreadable sqlstate=%s", fault.sqlstate)
        return {each.queue_id: _unavailable(each) for each in named}


def of_todo(db: Database, todo: Todo) -> Decision | None:
    """The status one todo shows; None unless it is pending in a queue with a policy."""
    return of_todos(db, [todo]).get(todo.id)


def of_todos(db: Database, todos: Iterable[Todo]) -> dict[str, Decision]:
    """The statuses of the todos among these that are pending in a queue with a policy, by id.

    Every queue is asked once (R26), and none when no todo qualifies. Never raises: what cannot be
    asked now is UNAVAILABLE, so that a settled todo still gets its answer.
    """
    waiting = [each for each in todos if each.has_policy and each.state == State.PENDING]
    if not waiting:
        return {}
    found = _decisions(db, sorted({each.queue_id for each in waiting}))
    return {each.id: found[each.queue_id] for each in waiting if each.queue_id in found}


def for_endpoint(db: Database, endpoint: Endpoint, queue: str | None) -> list[GrantedQueue]:
    """Every granted queue, policy or not, or the named one; `pending` is exact (R24).

    Raises Forbidden for an own queue that is not granted, NotFound for a team queue outside reach
    (R33).
    """
    with db.reading() as conn:
        params = {"endpoint_id": endpoint.id, "queue_id": named_queue(conn, endpoint, queue)}
        granted = many(conn, SQL["read_granted"], params, _Granted)
        found = statuses(conn, [each.queue_id for each in granted if each.has_policy])
    return [
        GrantedQueue(queue=each.queue, pending=each.pending, status=found.get(each.queue_id))
        for each in granted
    ]


def _decisions(db: Database, queue_ids: Sequence[int]) -> dict[int, Decision]:
    try:
        with db.reading() as conn:
            found = statuses(conn, queue_ids, counts_all=False)
    except Unavailable:
        return dict.fromkeys(queue_ids, UNAVAILABLE)
    return {queue_id: status.decision for queue_id, status in found.items()}


def _survivable(conn: Connection) -> AbstractContextManager[object]:
    """A savepoint, where an error would otherwise end somebody's transaction."""
    is_idle = conn.info.transaction_status is TransactionStatus.IDLE
    return nullcontext() if is_idle else conn.transaction()


def _statuses(
    conn: Connection, named: Sequence[_Named], *, counts_all: bool
) -> dict[int, QueueStatus]:
    params = {"queue_ids": [each.queue_id for each in named], "counts_all": counts_all}
    found = many(conn, SQL["read_policies"], params, StoredPolicy)
    stored = {each.queue_id: each for each in found}
    judged = {queue_id: _judge(row) for queue_id, row in stored.items()}
    used = _used(conn, stored, judged)
    return {
        each.queue_id: _status(each.queue, row, judged[each.queue_id], used)
        for each in named
        if (row := stored.get(each.queue_id))
    }


def _judge(row: StoredPolicy) -> _Judged | str:
    """The policy a row holds, or the kind of fault of one that breaks the rules (REQ-9)."""
    try:
        policy = stored_policy(
            row.max_in_flight,
            row.max_claims_per_window,
            row.window_period,
            row.window_tz,
            row.window_start,
            row.window_weekday,
        )
        in_force = policy.window if policy.window_limit_in_force else None
        return _Judged(policy, None if in_force is None else window_at(in_force, row.at))
    except (PolicyBroken, ValueError, OverflowError) as fault:
        if _BROKEN.is_due((row.queue_id, row.revision)):  # each look at the board reads it again
            log.error("policy_broken queue=%s fault=%s", row.queue_id, fault)
        return fault.kind if isinstance(fault, PolicyBroken) else "invalid_policy"


def _used(
    conn: Connection, stored: Mapping[int, StoredPolicy], judged: Mapping[int, _Judged | str]
) -> dict[UUID, int]:
    spans = {
        stored[queue_id].policy_id: one.span.starts_at
        for queue_id, one in judged.items()
        if isinstance(one, _Judged) and one.span is not None
    }
    if not spans:
        return {}
    params = {"policy_ids": [*spans], "starts": [*spans.values()]}
    return {each.policy_id: each.used for each in many(conn, SQL["read_used"], params, _Used)}


def _status(
    queue: str, row: StoredPolicy, judged: _Judged | str, used: Mapping[UUID, int]
) -> QueueStatus:
    usage = decision = policy = None
    if isinstance(judged, _Judged):
        policy, span = judged.policy, judged.span
        usage = Usage(
            in_flight=row.in_flight,
            used=None if span is None else used.get(row.policy_id, 0),
            window_started_at=None if span is None else span.starts_at,
            window_resets_at=None if span is None else span.ends_at,
            slot_hint_at=slot_hint(row.earliest_live_lease, row.at),
        )
        decision = decide(policy, usage)
    return QueueStatus(
        queue_id=row.queue_id,
        queue=queue,
        decision=decision or UNAVAILABLE,
        policy_id=row.policy_id,
        revision=row.revision,
        policy=policy,
        usage=usage,
        fault=judged if isinstance(judged, str) else None,
        stored=row.body if isinstance(judged, str) else None,
    )


def _unavailable(named: _Named) -> QueueStatus:
    return QueueStatus(queue_id=named.queue_id, queue=named.queue, decision=UNAVAILABLE)
