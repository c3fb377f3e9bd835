"""One queue as a person's page shows it: found by its number, then counted afresh (board.md)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.db.database import Connection, Database, one, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.queues import QueueAddress
from app.domain.references import parse_row_number
from app.domain.windows import window_at
from app.reads import admission, budgets
from app.reads.admission import QueueStatus
from app.reads.budgets import WindowUsed

SQL = load("queue_page")

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenQueue:
    """A queue in the viewer's scope; `queue` is the display name, `state` its endpoint's.

    `may_configure` opens the editor and the record; `state` is `active` or `revoked`.
    """

    queue_id: int
    name: str
    queue: str
    scope: str
    may_configure: bool
    state: str

    @property
    def address(self) -> QueueAddress:
        """How the verbs that change its policy name it."""
        return QueueAddress(self.scope, self.name)

    @property
    def is_team(self) -> bool:
        """Whether a team owns the queue, and not an endpoint."""
        return self.scope.startswith("team:")

    @property
    def is_revoked(self) -> bool:
        """Whether the queue's endpoint is revoked or has expired; a team's queue never is."""
        return self.state != "active"

    @property
    def may_change(self) -> bool:
        """Whether the viewer may change the policy now: never on a revoked endpoint (R35)."""
        return self.may_configure and not self.is_revoked


@dataclass(frozen=True, slots=True, kw_only=True)
class Charges:
    """Two numbers that must agree, of the window that is now; and the claims of the last hour.

    `is_whole` is False when attempts of this window may have been pruned (R62).
    """

    used: int
    marked: int
    last_hour: int
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUse:
    """The policy in force with the newest 30 windows; `charges` only under a window limit."""

    queue: SeenQueue
    status: QueueStatus | None
    windows: tuple[WindowUsed, ...]
    charges: Charges | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Charged:
    used: int
    marked: int
    last_hour: int


def find(conn: Connection, human: Human, ref: str) -> SeenQueue:
    """The queue a person may see by its number; NotFound for foreign, unknown and no number."""
    params = {"human_id": human.id, "queue_id": parse_row_number(ref)}
    found = one(conn, SQL["read_queue"], params, SeenQueue)
    if found is None:
        raise NotFound
    return found


def find_configurable(conn: Connection, human: Human, ref: str) -> SeenQueue:
    """As `find`; one the person may see but not configure is NotFound too (identity.md)."""
    found = find(conn, human, ref)
    if not found.may_configure:
        raise NotFound
    return found


def configurable(db: Database, human: Human, ref: str) -> SeenQueue:
    """As `find_configurable`, for a view that goes on to a verb."""
    with db.reading() as conn:
        return find_configurable(conn, human, ref)


def use(db: Database, human: Human, ref: str) -> QueueUse:
    """Everything but the header: policy, windows, charges. Raises NotFound."""
    with db.reading() as conn:
        queue = find(conn, human, ref)
        now = db.now(conn)
        status = admission.statuses(conn, [queue.queue_id]).get(queue.queue_id)
        return QueueUse(
            queue=queue,
            status=status,
            windows=budgets.windows(conn, queue.queue_id),
            charges=_charges(conn, status, now),
            now=now,
        )


def _charges(conn: Connection, status: QueueStatus | None, now: datetime) -> Charges | None:
    if status is None or status.policy is None or status.usage is None:
        return None
    window, start = status.policy.window, status.usage.window_started_at
    if window is None or start is None:
        return None
    params = {
        "policy_id": status.policy_id,
        "window_start": start,
        "since": min(start, window_at(window, now - _HOUR).starts_at),
    }
    found = one(conn, SQL["read_charges"], params, _Charged)
    pruned = value(conn, SQL["read_pruned_through"], {})
    is_whole = not isinstance(pruned, datetime) or start > pruned
    return None if found is None else Charges(
        used=found.used, marked=found.marked, last_hour=found.last_hour, is_whole=is_whole
    )
