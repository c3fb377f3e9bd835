"""The one button that stops live updates or starts them again, and since when they rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from app.domain.values import rfc3339
from app.domain.zones import UnknownZone
from app.domain.zones import zone as zone_named
from app.reads.headers import SeenHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveControl:
    """A one-button form; `back` is where it leads afterwards, `since` is None while not paused."""

    action: str
    label: str
    back: str
    since: str | None


def control(paused_at: datetime | None, zone: str | None, back: str) -> LiveControl:
    """The control of a session, times in the viewer's zone or UTC (accessibility.md 1.4)."""
    if paused_at is None:
        return LiveControl(
            action="/live/pause", label="Pause live updates", back=back, since=None
        )
    local = paused_at.astimezone(_zone(zone))
    clock = f"{local:%H:%M}{' UTC' if zone is None else ''} on {local.day} {local:%b %Y}"
    return LiveControl(
        action="/live/resume",
        label="Resume live updates",
        back=back,
        since=f"Live updates paused at {clock}",
    )


def board_path(headers: Sequence[SeenHeader]) -> str:
    """The stream of a page with cards: it says when it was read, so that what changed before the
    stream opened is sent too.
    """
    since = rfc3339(headers[0].now) if headers else ""
    return f"/events?cards={since}"


def queue_path(queue_id: int) -> str:
    """The stream of one queue's page."""
    return f"/events?queue={queue_id}"


def _zone(name: str | None) -> tzinfo:
    if name is None:
        return UTC
    try:
        return zone_named(name)
    except UnknownZone:
        return UTC
