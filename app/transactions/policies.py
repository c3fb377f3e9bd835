"""A queue's policy is set and cleared here, each change with its audit row (SPEC-0030 REQ-10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal
from uuid import UUID

from app.db import minting
from app.db.database import Connection, Database, jsonb, one, run, value
from app.db.statements import load
from app.domain.callers import Endpoint, Human, require_verb
from app.domain.errors import Conflict, InvalidArgument, NotFound, OutcomeUnknown, Unavailable
from app.domain.policy import Policy, parse_policy, parse_reason
from app.domain.queues import QueueAddress
from app.domain.values import Json
from app.reads import admission, manageable
from app.reads.admission import QueueStatus
from app.reads.budgets import Budget
from app.reads.manageable import ManagedQueue
from app.transactions import reopening

SQL = load("policies")

NO_POLICY = 0
"""The revision a caller expects who saw no policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """A policy as its columns; a stored one may break the rules and still be replaced."""

    max_in_flight: int | None
    max_claims_per_window: int | None
    window_period: str | None
    window_tz: str | None
    window_start: str | None
    window_weekday: str | None

    @property
    def body(self) -> dict[str, Json]:
        """The shape of `policy_body`, also of what no policy could be made of."""
        window: dict[str, Json] = {
            "period": self.window_period,
            "tz": self.window_tz,
            "start": self.window_start,
        }
        if self.window_weekday is not None:
            window["weekday"] = self.window_weekday
        return {
            "max_in_flight": self.max_in_flight,
            "max_claims_per_window": self.max_claims_per_window,
            "window": window if any(part is not None for part in window.values()) else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored(_Settings):
    id: UUID
    revision: int
    is_live: bool

    @property
    def settings(self) -> _Settings:
        return _Settings(
            max_in_flight=self.max_in_flight,
            max_claims_per_window=self.max_claims_per_window,
            window_period=self.window_period,
            window_tz=self.window_tz,
            window_start=self.window_start,
            window_weekday=self.window_weekday,
        )


@dataclass(frozen=True, slots=True)
class _Actor:
    """Who an audit row names: always a human, and the endpoint when an agent wrote (R37)."""

    human_id: UUID
    endpoint_id: UUID | None


def save(
    db: Database,
    caller: Human | Endpoint,
    address: QueueAddress,
    raw: Json | Mapping[str, Json],
    *,
    reason: Json = None,
    revision: int | None = None,
) -> Budget:
    """Replace a queue's policy by `raw`; a policy that is there already is left alone (R35).

    In this order: Forbidden without the verb, NotFound for a queue the caller may not manage
    (R57), Conflict with `state` on a revoked endpoint, InvalidArgument naming the field (R19),
    Conflict when `revision` is given and not the stored one. The next claim obeys. The answer is
    the queue as it is after the commit, so without a status when somebody cleared it meanwhile.
    """
    _require_grant(caller, "set_admission_policy")
    with db.transaction() as conn:
        queue = manageable.find_active(conn, caller, address)
        policy, why = parse_policy(_object(raw)), parse_reason(reason)
        stored = _lock(conn, queue, revision)
        is_changed = _write(conn, queue, caller, stored, _settings(policy), why)
    if is_changed:
        _tell(db, queue)
    return Budget(scope=queue.scope, queue=queue.queue, status=_status(db, queue))


def clear(
    db: Database,
    caller: Human | Endpoint,
    address: QueueAddress,
    *,
    reason: Json = None,
    revision: int | None = None,
) -> bool:
    """Take a queue's policy away, keeping its usage for whoever sets one again (R14).

    False, and nothing written, when there is none. Raises as `save` does.
    """
    _require_grant(caller, "clear_admission_policy")
    with db.transaction() as conn:
        queue = manageable.find_active(conn, caller, address)
        why = parse_reason(reason)
        stored = _lock(conn, queue, revision)
        is_cleared = stored is not None and stored.is_live
        if stored is not None and is_cleared:
            actor = _actor(caller)
            run(conn, SQL["mark_policy_deleted"], {"id": stored.id, "human_id": actor.human_id})
            _append(conn, queue, stored.id, actor, "delete", stored.body, None, why)
    if is_cleared:
        _tell(db, queue)
    return is_cleared


def _require_grant(caller: Human | Endpoint, verb: str) -> None:
    if isinstance(caller, Endpoint):
        require_verb(caller, verb)


def _object(raw: Json | Mapping[str, Json]) -> Mapping[str, Json]:
    if not isinstance(raw, Mapping):
        raise InvalidArgument("policy: must be an object.", field="policy")
    return raw


def _lock(conn: Connection, queue: ManagedQueue, revision: int | None) -> _Stored | None:
    params = {"queue_id": queue.queue_id}
    if value(conn, SQL["lock_queue"], params) is None:
        raise NotFound
    stored = one(conn, SQL["lock_stored_policy"], params, _Stored)
    current = stored.revision if stored is not None and stored.is_live else NO_POLICY
    if revision is not None and revision != current:
        raise Conflict("The policy has been changed in the meantime.", revision=current)
    return stored


def _write(
    conn: Connection,
    queue: ManagedQueue,
    caller: Human | Endpoint,
    stored: _Stored | None,
    settings: _Settings,
    why: str | None,
) -> bool:
    """Insert, change or revive; False for an identical write, which leaves no trace (R35)."""
    live = stored if stored is not None and stored.is_live else None
    if live is not None and live.settings == settings:
        return False
    actor = _actor(caller)
    policy_id = minting.new_id() if stored is None else stored.id
    statement = SQL["insert_policy"] if stored is None else SQL["mark_policy_changed"]
    whose = {"id": policy_id, "queue_id": queue.queue_id, "human_id": actor.human_id}
    run(conn, statement, {**whose, **asdict(settings)})
    before = None if live is None else live.body
    action: Literal["create", "update"] = "create" if live is None else "update"
    _append(conn, queue, policy_id, actor, action, before, settings.body, why)
    return True


def _append(
    conn: Connection,
    queue: ManagedQueue,
    policy_id: UUID,
    actor: _Actor,
    action: Literal["create", "update", "delete"],
    before: dict[str, Json] | None,
    after: dict[str, Json] | None,
    why: str | None,
) -> None:
    params: dict[str, object] = {
        "policy_id": policy_id,
        "queue_id": queue.queue_id,
        "human_id": actor.human_id,
        "endpoint_id": actor.endpoint_id,
        "action": action,
        "before": None if before is None else jsonb(before),
        "after": None if after is None else jsonb(after),
        "reason": why,
    }
    run(conn, SQL["append_audit"], params)


def _settings(policy: Policy) -> _Settings:
    window = policy.window
    return _Settings(
        max_in_flight=policy.max_in_flight,
        max_claims_per_window=policy.max_claims_per_window,
        window_period=None if window is None else window.period,
        window_tz=None if window is None else window.tz,
        window_start=None if window is None else window.start,
        window_weekday=None if window is None else window.weekday,
    )


def _actor(caller: Human | Endpoint) -> _Actor:
    if isinstance(caller, Human):
        return _Actor(caller.id, None)
    return _Actor(caller.owner_human_id or caller.vended_by_human_id, caller.id)


def _tell(db: Database, queue: ManagedQueue) -> None:
    db.feed.changed(queue.queue_id)
    db.feed.reopened(queue.queue_id)
    reopening.detect(db, [queue.queue_id])
    reopening.owe_if_closed(db, [queue.queue_id])


def _status(db: Database, queue: ManagedQueue) -> QueueStatus | None:
    try:
        with db.reading() as conn:
            return admission.statuses(conn, [queue.queue_id]).get(queue.queue_id)
    except Unavailable as away:
        # The change is committed, so "nothing was changed" would be a lie.
        raise OutcomeUnknown("The policy is saved, but its status cannot be read now.") from away
