"""The window vectors of admission-readings.md: boundaries in UTC of awkward days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.windows import Window

LA = "America/Los_Angeles"
HOWE = "Australia/Lord_Howe"
APIA = "Pacific/Apia"


@dataclass(frozen=True, slots=True)
class Vector:
    """Consecutive boundaries of a window definition, as YYYY-MM-DDTHH:MM in UTC."""

    window: Window
    boundaries: tuple[str, ...]

    def instants(self) -> list[datetime]:
        return [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in self.boundaries]

    def __str__(self) -> str:
        window = self.window
        return f"{window.period} {window.weekday or ''} {window.start} {window.tz}"


def _of(period: str, start: str, tz: str, *boundaries: str, weekday: str | None = None) -> Vector:
    return Vector(Window(period, tz, start, weekday), boundaries)


VECTORS = (
    _of("day", "00:00", LA, "2026-11-01T07:00", "2026-11-02T08:00"),
    _of("day", "01:30", LA, "2026-11-01T08:30", "2026-11-02T09:30"),
    _of("day", "02:30", LA, "2026-03-07T10:30", "2026-03-08T10:00", "2026-03-09T09:30"),
    _of("hour", "00:30", LA, *("2026-11-01T07:30", "2026-11-01T08:30", "2026-11-01T10:30"),
        "2026-11-01T11:30"),
    _of("hour", "00:30", LA, *("2026-03-08T08:30", "2026-03-08T09:30", "2026-03-08T10:00"),
        "2026-03-08T10:30"),
    _of("hour", "00:00", LA, "2026-03-08T09:00", "2026-03-08T10:00", "2026-03-08T11:00"),
    _of("hour", "00:00", HOWE, "2026-04-04T14:00", "2026-04-04T15:30"),
    _of("hour", "00:45", HOWE, "2026-04-04T14:45", "2026-04-04T16:15"),
    _of("hour", "00:15", HOWE, "2026-10-03T14:45", "2026-10-03T15:30", "2026-10-03T16:15"),
    _of("hour", "00:00", HOWE, "2026-10-03T14:30", "2026-10-03T15:30", "2026-10-03T16:00"),
    _of("day", "00:00", APIA, "2011-12-29T10:00", "2011-12-30T10:00", "2011-12-31T10:00"),
    _of("day", "09:00", APIA, "2011-12-29T19:00", "2011-12-30T10:00", "2011-12-30T19:00"),
    _of("week", "09:00", APIA, "2011-12-23T19:00", "2011-12-30T10:00", "2012-01-05T19:00",
        weekday="Fri"),
    _of("day", "00:00", "America/Santiago", "2026-09-06T04:00", "2026-09-07T03:00"),
    _of("day", "23:30", "America/Santiago", "2026-04-05T02:30", "2026-04-06T03:30"),
    _of("day", "00:00", "America/Havana", "2025-11-02T04:00", "2025-11-03T05:00"),
    _of("hour", "00:00", "Pacific/Chatham", "2026-04-04T13:15", "2026-04-04T15:15"),
    _of("day", "02:00", "Antarctica/Troll", "2026-03-28T02:00", "2026-03-29T01:00",
        "2026-03-30T00:00"),
    _of("day", "02:30", "Africa/Casablanca", "2026-02-15T01:30", "2026-02-16T02:30"),
    _of("hour", "00:30", "UTC", "2026-09-30T14:30", "2026-09-30T15:30"),
    _of("hour", "07:30", "UTC", "2026-09-30T14:30", "2026-09-30T15:30"),
    _of("hour", "00:00", "Asia/Kathmandu", "2026-09-30T14:15", "2026-09-30T15:15"),
    _of("week", "09:00", LA, "2026-10-26T16:00", "2026-11-02T17:00", weekday="Mon"),
    # C7 of the pitfalls: a start in a gap is after it, a start that comes twice its first time.
    _of("day", "02:30", "America/New_York", "2027-03-13T07:30", "2027-03-14T07:00",
        "2027-03-15T06:30"),
    _of("day", "02:30", "America/New_York", "2026-10-31T06:30", "2026-11-01T07:30",
        "2026-11-02T07:30"),
    _of("day", "00:00", "Asia/Beirut", "2026-03-27T22:00", "2026-03-28T22:00",
        "2026-03-29T21:00"),
)  # fmt: skip
