"""The window an instant lies in: wall-clock starts that tile time (SPEC-0030 REQ-5, R20, R21)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from app.domain.wallclock import first_instant, local_time
from app.domain.zones import zone

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_A_MONDAY = datetime(2001, 1, 1)  # noqa: DTZ001 - a label on a wall clock, of no zone


@dataclass(frozen=True, slots=True)
class Window:
    """What a policy declares: `hour`, `day` or `week` from `HH:MM` local time in an IANA zone.

    Valid when it comes from `policy`. `weekday` is `Mon`..`Sun` for a week, else None.
    """

    period: str
    tz: str
    start: str
    weekday: str | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """One window, as UTC instants on whole seconds: `starts_at` belongs to it, `ends_at` not."""

    starts_at: datetime
    ends_at: datetime


def window_at(window: Window, instant: datetime) -> Span:
    """The window that contains an aware instant; raises UnknownZone.

    The clock showing a label or later is when that label's window has begun, so the last label
    before the local time has begun, always. While the clock repeats itself later labels may have
    begun too, and the hours merge; labels skipped by one gap begin together and count once (R21).
    """
    at = zone(window.tz)
    step = PERIODS[window.period]
    label = _last_label(window, step, local_time(instant, at))
    starts_at = _begins(window.tz, label)
    while (ends_at := _begins(window.tz, label := label + step)) <= instant:
        starts_at = ends_at
    return Span(starts_at, ends_at)


def _last_label(window: Window, step: timedelta, local: datetime) -> datetime:
    anchor = _anchor(window)
    return anchor + (local - anchor) // step * step


@lru_cache(maxsize=1024)
def _anchor(window: Window) -> datetime:
    # Any one label will do, as the others are whole steps away: so of an hour's start only the
    # minute counts (R20).
    hour, minute = (int(part) for part in window.start.split(":"))
    days = WEEKDAYS.index(window.weekday) if window.weekday is not None else 0
    return _A_MONDAY + timedelta(days=days, hours=hour, minutes=minute)


@lru_cache(maxsize=8192)
def _begins(tz: str, label: datetime) -> datetime:
    # The claim asks for the same two labels all window long; the zone data never changes.
    return first_instant(label, zone(tz))
