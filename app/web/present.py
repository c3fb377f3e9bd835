"""The words a page shows, made from facts; templates compare nothing and add nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from app.domain.values import rfc3339
from app.reads.board import Board, QueueCounts, SeenEndpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """A moment twice: for machines (RFC 3339) and in words with its zone."""

    machine: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointLine:
    """One row of the endpoints table."""

    slug: str
    agent: str
    owner: str
    state: str
    queues: str
    expires: Instant | None
    seen: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """One row of the queues table."""

    queue: str
    owner: str
    pending: int
    claimed: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardView:
    """The first page of a signed-in human."""

    endpoints: list[EndpointLine]
    queues: list[QueueLine]


def board(seen: Board, zone: str | None) -> BoardView:
    """The board in words, times in the viewer's zone or UTC."""
    return BoardView(
        endpoints=[_endpoint_line(row, zone) for row in seen.endpoints],
        queues=[_queue_line(row) for row in seen.queues],
    )


def instant(moment: datetime | None, zone: str | None) -> Instant | None:
    """A moment as `30 Nov 2026, 14:05 UTC`, in the IANA zone given; None stays None."""
    if moment is None:
        return None
    local = moment.astimezone(UTC if zone is None else ZoneInfo(zone))
    return Instant(machine=rfc3339(moment), words=f"{local.day} {local:%b %Y, %H:%M %Z}")


def _endpoint_line(row: SeenEndpoint, zone: str | None) -> EndpointLine:
    return EndpointLine(
        slug=row.slug,
        agent=row.agent_name,
        owner="you" if row.team is None else f"team {row.team}",
        state=row.state,
        queues=", ".join(row.queues),
        expires=instant(row.expires_at, zone),
        seen=instant(row.last_seen_at, zone),
    )


def _queue_line(row: QueueCounts) -> QueueLine:
    return QueueLine(
        queue=row.queue,
        owner="team" if row.endpoint is None else row.endpoint,
        pending=row.pending,
        claimed=row.claimed,
        done=row.done,
        failed=row.failed,
    )
