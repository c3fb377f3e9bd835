"""Queue headers: what the viewer may know of a queue, and what its budget says now (REQ-11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Connection, Database, many
from app.db.statements import load
from app.domain.admission import Deferral, Reason
from app.reads import admission
from app.reads.admission import QueueStatus

SQL = load("headers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Todos of a queue that are work still; `retrying` wait for their backoff, `dead` for a human.

    Together they are the states pending, claimed and failed.
    """

    pending: int = 0
    claimed: int = 0
    retrying: int = 0
    dead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Who paused a queue, when and why; `endpoint` is the agent's when one did it for them."""

    human: str | None
    endpoint: str | None
    at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentFault:
    """A claim refused because it could not be judged, until the next admitted one (R64)."""

    kind: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenHeader:
    """One queue as one viewer may see it, all by the database's clock at `now`.

    `queue` is the display name, and `is_namesake` says that the viewer sees another of that name.
    `endpoint` is None for a team's queue; `team` owns the queue or its endpoint. `may_configure`
    is false on an endpoint that is revoked. Without a policy `status` is None.
    """

    queue_id: int
    queue: str
    is_namesake: bool
    endpoint_id: UUID | None
    endpoint: str | None
    team: str | None
    is_revoked: bool
    may_configure: bool
    counts: Counts
    status: QueueStatus | None
    pause: Pause | None
    fault: RecentFault | None
    now: datetime

    @property
    def has_policy(self) -> bool:
        """Whether the queue has a policy, readable or not."""
        return self.status is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queue:
    queue_id: int
    queue: str
    endpoint_id: UUID | None
    endpoint: str | None
    team: str | None
    may_configure: bool
    has_policy: bool
    is_revoked: bool
    is_namesake: bool
    fault_kind: str | None
    fault_at: datetime | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    queue_id: int
    state: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paused:
    queue_id: int
    at: datetime
    reason: str | None
    human_name: str | None
    endpoint_slug: str | None


@dataclass(frozen=True, slots=True)
class _Found:
    queue_id: int


def headers_for(
    db: Database, human_id: UUID, queue_ids: Iterable[int] | None = None
) -> list[SeenHeader]:
    """The headers of every queue the human may see, or of the named ones among them, by name.

    At most seven statements, however many queues; every figure is counted now. A queue that is
    foreign or unknown is left out. Raises Unavailable.
    """
    named = None if queue_ids is None else [*queue_ids]
    with db.reading() as conn:
        params = {"human_id": human_id, "queue_ids": named}
        queues = many(conn, SQL["read_queues"], params, _Queue)
        ids = [each.queue_id for each in queues]
        counts = _counts(conn, ids)
        statuses = admission.statuses(conn, [each.queue_id for each in queues if each.has_policy])
        pauses = _pauses(conn, [key for key, status in statuses.items() if _is_paused(status)])
        over = _claimed_since(conn, [each.queue_id for each in queues if each.fault_kind])
    return [
        _header(each, counts, statuses, pauses, is_over=each.queue_id in over) for each in queues
    ]


def _counts(conn: Connection, queue_ids: Sequence[int]) -> dict[int, Counts]:
    found = many(conn, SQL["read_counts"], {"queue_ids": queue_ids}, _Counted)
    by_queue: dict[int, dict[str, int]] = {}
    for each in found:
        by_queue.setdefault(each.queue_id, {})[each.state] = each.n
    return {
        queue_id: Counts(
            pending=n.get("pending", 0),
            claimed=n.get("claimed", 0),
            retrying=n.get("retrying", 0),
            dead=n.get("dead", 0),
        )
        for queue_id, n in by_queue.items()
    }


def _is_paused(status: QueueStatus) -> bool:
    decision = status.decision
    return isinstance(decision, Deferral) and decision.reason is Reason.PAUSED


def _pauses(conn: Connection, queue_ids: Sequence[int]) -> dict[int, Pause]:
    if not queue_ids:
        return {}
    found = many(conn, SQL["read_pauses"], {"queue_ids": queue_ids}, _Paused)
    return {
        each.queue_id: Pause(
            human=each.human_name, endpoint=each.endpoint_slug, at=each.at, reason=each.reason
        )
        for each in found
    }


def _claimed_since(conn: Connection, queue_ids: Sequence[int]) -> set[int]:
    """Which faults are over although no process that knew of them has said so."""
    if not queue_ids:
        return set()
    params = {"queue_ids": queue_ids}
    return {each.queue_id for each in many(conn, SQL["read_claimed_since"], params, _Found)}


def _header(
    row: _Queue,
    counts: dict[int, Counts],
    statuses: dict[int, QueueStatus],
    pauses: dict[int, Pause],
    *,
    is_over: bool,
) -> SeenHeader:
    fault = None
    if row.fault_kind is not None and row.fault_at is not None and not is_over:
        fault = RecentFault(kind=row.fault_kind, at=row.fault_at)
    return SeenHeader(
        queue_id=row.queue_id,
        queue=row.queue,
        is_namesake=row.is_namesake,
        endpoint_id=row.endpoint_id,
        endpoint=row.endpoint,
        team=row.team,
        is_revoked=row.is_revoked,
        may_configure=row.may_configure and not row.is_revoked,
        counts=counts.get(row.queue_id, Counts()),
        status=statuses.get(row.queue_id),
        pause=pauses.get(row.queue_id),
        fault=fault,
        now=row.now,
    )
