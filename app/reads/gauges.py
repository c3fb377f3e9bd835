"""What the gauges of a scrape show: todos by queue name, and what policies say now (metrics.md)."""

from __future__ import annotations

from dataclasses import dataclass

from app.db.database import Database, many
from app.db.statements import load
from app.domain.admission import Decision
from app.reads import admission

SQL = load("gauges")

# A scrape is to be answered within three seconds, whatever the database does.
_CONNECTION_SECONDS = 1.0
_STATEMENT_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueGauge:
    """The known queues of one name; None are the names too long to be a label."""

    queue: str | None
    pending: int
    claimed: int
    done: int
    failed: int
    oldest_pending_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyGauge:
    """One queue with a live policy, its pending todos, and whether one would be admitted (R4)."""

    queue: str | None
    pending: int
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class _Budgeted:
    queue_id: int
    queue: str | None
    pending: int


def queues(db: Database) -> list[QueueGauge]:
    """Every known queue name, the oldest queue's first. Raises Unavailable."""
    with db.glance(_CONNECTION_SECONDS, _STATEMENT_SECONDS) as conn:
        return many(conn, SQL["read_queues"], {}, QueueGauge)


def policies(db: Database) -> list[PolicyGauge]:
    """Every queue with a live policy, the oldest first.

    A policy that is broken is UNAVAILABLE; tables that cannot be read raise, for then nothing is
    known of any policy. Raises Unavailable.
    """
    with db.glance(_CONNECTION_SECONDS, _STATEMENT_SECONDS) as conn:
        budgeted = many(conn, SQL["read_budgeted"], {}, _Budgeted)
        ids = [each.queue_id for each in budgeted]
        found = admission.statuses(conn, ids, counts_all=False, must_read=True)
    return [
        PolicyGauge(queue=each.queue, pending=each.pending, decision=status.decision)
        for each in budgeted
        if (status := found.get(each.queue_id))
    ]
