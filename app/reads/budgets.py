"""The policies a human may manage, each with its windows and who changed it (REQ-10)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Connection, Database, many
from app.db.statements import load
from app.domain.callers import Human
from app.domain.queues import QueueAddress
from app.domain.values import Json
from app.reads import admission, manageable
from app.reads.admission import QueueStatus

SQL = load("budgets")

_NEWEST_WINDOWS = 30
_NEWEST_CHANGES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A queue by its address, with its status; None without a policy."""

    scope: str
    queue: str
    status: QueueStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowUsed:
    """One window's units; retries and takeovers are of `used`."""

    window_start: datetime
    used: int
    retries: int
    takeovers: int
    limit_at_last_charge: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One audit record: policies as bodies, None before a create and after a delete.

    `endpoint_id` is set when an agent wrote; its slug is None when that endpoint is gone.
    """

    at: datetime
    action: str
    human_id: UUID
    human_name: str | None
    endpoint_id: UUID | None
    endpoint_slug: str | None
    before: Json
    after: Json
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetDetail:
    """One queue's policy with its newest 30 windows and 50 changes, newest first."""

    budget: Budget
    windows: tuple[WindowUsed, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Configurable:
    queue_id: int
    scope: str
    queue: str


def for_human_list(db: Database, human: Human) -> list[Budget]:
    """Every queue the human may manage that has a policy, by address."""
    with db.reading() as conn:
        queues = many(conn, SQL["read_with_policy"], {"human_id": human.id}, _Configurable)
        found = admission.statuses(conn, [each.queue_id for each in queues])
    return [
        Budget(scope=each.scope, queue=each.queue, status=found[each.queue_id])
        for each in queues
        if each.queue_id in found
    ]


def for_human_one(db: Database, human: Human, address: QueueAddress) -> BudgetDetail:
    """One queue the human may manage, policy or not, on a revoked endpoint too (R35).

    Raises NotFound: foreign, unknown and malformed are one; InvalidArgument for the reserved name.
    """
    with db.reading() as conn:
        queue = manageable.find(conn, human, address)
        status = admission.statuses(conn, [queue.queue_id]).get(queue.queue_id)
        return BudgetDetail(
            budget=Budget(scope=queue.scope, queue=queue.queue, status=status),
            windows=windows(conn, queue.queue_id),
            changes=_changes(conn, queue.queue_id),
        )


def windows(conn: Connection, queue_id: int) -> tuple[WindowUsed, ...]:
    """The newest 30 windows of a queue's policy, also of one cleared since (R14)."""
    params = {"queue_id": queue_id, "limit": _NEWEST_WINDOWS}
    return tuple(many(conn, SQL["read_windows"], params, WindowUsed))


def _changes(conn: Connection, queue_id: int) -> tuple[Change, ...]:
    params = {"queue_id": queue_id, "limit": _NEWEST_CHANGES}
    return tuple(many(conn, SQL["read_changes"], params, Change))
