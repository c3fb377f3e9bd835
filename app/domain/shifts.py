"""A weekly shift: the wall-clock times an endpoint works, in a zone (push.md, "Presence").

Grammar: an optional prefix `TZ=Zone ` or `CRON_TZ=Zone ` (else UTC), then windows separated by `;`,
each an optional day spec (`Mon`..`Sun`, ranges that may wrap, comma lists) and `HH:MM-HH:MM`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from app.domain.errors import InvalidArgument
from app.domain.wallclock import first_instant, local_time
from app.domain.windows import WEEKDAYS
from app.domain.zones import UnknownZone, zone

SHIFT_LIMIT = 500  # characters

_PREFIX = re.compile(r"(?:CRON_)?TZ=(\S+) +(.*)", re.DOTALL)
_WINDOW = re.compile(
    r"(?:([A-Za-z]{3}(?:[-,][A-Za-z]{3})*) +)?([0-9]{2}:[0-9]{2})-([0-9]{2}:[0-9]{2})"
)
_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_SECOND = timedelta(seconds=1)
_DAY_MINUTES = 24 * 60
_AHEAD_DAYS = 9  # a weekly pattern shows every edge within a week, whatever the zone does


@dataclass(frozen=True, slots=True)
class Stretch:
    """One window: the weekdays (0 = Monday) it begins on, and its minutes of the day.

    `start` belongs to it, `end` not; an `end` that is not later runs into the next day.
    """

    days: frozenset[int]
    start: int
    end: int

    def covers(self, weekday: int, minute: int) -> bool:
        """Whether a wall clock that reads this minute of this weekday is inside."""
        if self.start < self.end:
            return weekday in self.days and self.start <= minute < self.end
        if weekday in self.days and minute >= self.start:
            return True
        return (weekday - 1) % 7 in self.days and minute < self.end


@dataclass(frozen=True, slots=True)
class Shift:
    """A shift that was understood; local wall clock in `tz` decides membership."""

    tz: str
    stretches: tuple[Stretch, ...]

    def covers(self, at: datetime) -> bool:
        """Whether an aware instant is in the shift; raises UnknownZone."""
        local = local_time(at, zone(self.tz))
        minute = local.hour * 60 + local.minute
        return any(each.covers(local.weekday(), minute) for each in self.stretches)

    def next_boundary(self, after: datetime) -> datetime | None:
        """The first instant after `after` at which the shift begins or ends; None: it never does.

        Raises UnknownZone. Where a clock is set back, a shift may begin twice.
        """
        was_in = self.covers(after)
        for instant in sorted({each for each in self._edges(after) if each > after}):
            if self.covers(instant) != was_in:
                return instant
        return None

    def _edges(self, after: datetime) -> Iterator[datetime]:
        """Every instant at which membership may change, in the days to come, and some earlier."""
        place = zone(self.tz)
        midnight = local_time(after, place).replace(hour=0, minute=0, second=0, microsecond=0)
        minutes = {minute for each in self.stretches for minute in (each.start, each.end)}
        for day in range(-1, _AHEAD_DAYS):
            for minute in minutes:
                label = midnight + day * _DAY + timedelta(minutes=minute)
                yield first_instant(label, place)
                yield _last_instant(label, place)
        yield from _transitions(place, after, after + _AHEAD_DAYS * _DAY)


def parse_shift(text: str) -> Shift:
    """Read a shift; raises InvalidArgument on `shift`, saying what is wrong with it."""
    if len(text) > SHIFT_LIMIT:
        raise _refused(f"is longer than {SHIFT_LIMIT} characters")
    tz, rest = "UTC", text.strip()
    prefixed = _PREFIX.fullmatch(rest)
    if prefixed:
        tz, rest = prefixed[1], prefixed[2]
    try:
        zone(tz)
    except UnknownZone:
        raise _refused(f"{tz[:64]} is not a zone we know, like Europe/Berlin") from None
    if not rest.strip():
        raise _refused("is blank; say when, like Mon-Fri 09:00-17:00")
    return Shift(tz, tuple(_stretch(part.strip()) for part in rest.split(";")))


@lru_cache(maxsize=1024)
def stored_shift(text: str) -> Shift | None:
    """A shift read back from where it is kept; None when it is not understood any more."""
    try:
        return parse_shift(text)
    except InvalidArgument:
        return None


def _stretch(part: str) -> Stretch:
    found = _WINDOW.fullmatch(part)
    if not found:
        raise _refused(f"{part[:64]!r} is not a window like Mon-Fri 09:00-17:00{_hint(part)}")
    start, end = _minute(found[2], is_end=False), _minute(found[3], is_end=True)
    if start == end:
        raise _refused(f"{part[:64]!r} starts and ends at one time; write 00:00-24:00 for all day")
    days = frozenset(range(7)) if found[1] is None else _days(found[1])
    return Stretch(days, start, end)


def _hint(part: str) -> str:
    """How a zone is written, for a text that begins with the bare name of one."""
    name = part.partition(" ")[0]
    try:
        zone(name)
    except UnknownZone:
        return ""
    return f"; a zone stands at the very beginning, as in TZ={name} Mon-Fri 09:00-17:00"


def _minute(text: str, *, is_end: bool) -> int:
    hour, minute = int(text[:2]), int(text[3:])
    total = hour * 60 + minute
    if minute > 59 or total > _DAY_MINUTES or (total == _DAY_MINUTES and not is_end):
        raise _refused(f"{text} is not a time of the day; 24:00 may only end a window")
    return total


def _days(text: str) -> frozenset[int]:
    days: set[int] = set()
    for part in text.split(","):
        first, *more = [_weekday(name) for name in part.split("-")]
        if len(more) > 1:
            raise _refused(f"{part[:64]!r} is not a range of days like Mon-Fri")
        last = more[0] if more else first
        days |= {(first + step) % 7 for step in range((last - first) % 7 + 1)}
    return frozenset(days)


def _weekday(name: str) -> int:
    if name not in WEEKDAYS:
        raise _refused(f"{name} is not a day; days are {', '.join(WEEKDAYS)}{_hint(name)}")
    return WEEKDAYS.index(name)


def _refused(why: str) -> InvalidArgument:
    return InvalidArgument(f"shift: {why}.", field="shift")


def _last_instant(label: datetime, place: ZoneInfo) -> datetime:
    """The second time a wall clock reads a label that occurs twice; else its only one."""
    offset = label.replace(tzinfo=place, fold=1).utcoffset()
    first = first_instant(label, place)
    if offset is None:
        return first
    last = (label - offset).replace(tzinfo=first.tzinfo)
    return max(first, last)


def _transitions(place: ZoneInfo, since: datetime, until: datetime) -> Iterator[datetime]:
    """When the zone's clocks are moved between two instants, to the second."""
    at = since
    while at < until:
        later = at + _HOUR
        if at.astimezone(place).utcoffset() != later.astimezone(place).utcoffset():
            yield _moved_at(place, at, later)
        at = later


def _moved_at(place: ZoneInfo, before: datetime, after: datetime) -> datetime:
    old = before.astimezone(place).utcoffset()
    before = before.replace(microsecond=0)
    low, high = 0, int((after - before).total_seconds()) + 1
    while low < high:
        middle = (low + high) // 2
        if (before + middle * _SECOND).astimezone(place).utcoffset() == old:
            low = middle + 1
        else:
            high = middle
    return before + low * _SECOND
