"""A moment as a page shows it; templates compare nothing and add nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from app.domain.values import rfc3339


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """A moment twice: for machines (RFC 3339) and in words with its zone."""

    machine: str
    words: str


def instant(moment: datetime | None, zone: str | None) -> Instant | None:
    """A moment as `30 Nov 2026, 14:05 UTC`, in the IANA zone given; None stays None."""
    if moment is None:
        return None
    local = moment.astimezone(UTC if zone is None else ZoneInfo(zone))
    return Instant(machine=rfc3339(moment), words=f"{local.day} {local:%b %Y, %H:%M %Z}")
