"""Windows against a plain second opinion: walk the wall clock, note when it passes a label.

It knows nothing of gaps and repeats. It reads the wall clock every 15 minutes, keeps the furthest
reading so far, and calls it a boundary whenever that passes one more label.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from app.domain.windows import WEEKDAYS, Span, Window, window_at
from app.domain.zones import zone, zone_names

FIRST, LAST = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
AROUND = timedelta(days=4)
GRAIN = timedelta(minutes=15)
TICK = timedelta(microseconds=1)
_LOOK = timedelta(hours=6)
_A_MONDAY = datetime(1973, 1, 1, tzinfo=UTC)
_MINUTES = {"hour": 60, "day": 24 * 60, "week": 7 * 24 * 60}
# The offsets are at most 2 h apart (Antarctica/Troll), so no window is further from its period.
LONGEST = {
    "hour": timedelta(hours=3),
    "day": timedelta(hours=26),
    "week": timedelta(days=7, hours=2),
}


def transitions(tz: str, first: datetime = FIRST, last: datetime = LAST) -> list[datetime]:
    """The instants at which the zone's offset changes, to the second."""
    found, at = [], first
    while at < last:
        if _offset(tz, at) != _offset(tz, at + _LOOK):
            found.append(_changes_at(tz, at, at + _LOOK))
        at += _LOOK
    return found


def distinct_zones() -> list[str]:
    """One zone of every set that keeps the same rules through the two years, by name."""
    kept: dict[tuple[object, ...], str] = {}
    for tz in sorted(zone_names()):
        changes = transitions(tz)
        rules = (_offset(tz, FIRST), *((at, _offset(tz, at)) for at in changes))
        kept.setdefault(rules, tz)
    return sorted(kept.values())


def definitions(tz: str) -> Iterator[Window]:
    """All three periods, at starts in, before and after what the zones skip and repeat."""
    for minute in ("00", "15", "30", "45"):
        yield Window("hour", tz, f"00:{minute}")
    for start in ("00:00", "00:30", "01:30", "02:00", "02:15", "02:30", "03:00", "23:45"):
        yield Window("day", tz, start)
    for weekday in WEEKDAYS:
        yield Window("week", tz, "00:00", weekday)
        yield Window("week", tz, "02:30", weekday)


def boundaries(window: Window, first: datetime, last: datetime) -> list[datetime]:
    """The starts of the windows after `first`, up to `last`, as `window_at` tells them.

    Asserts on the way that each window is one: every end is the next start, and start and last
    moment lie in the window they bound.
    """
    span = window_at(window, first)
    found = []
    while span.ends_at <= last:
        assert_is_a_window(window, span)
        following = window_at(window, span.ends_at)
        assert following.starts_at == span.ends_at, (window, span, following)
        found.append(following.starts_at)
        span = following
    return found


def assert_is_a_window(window: Window, span: Span) -> None:
    """Every instant of a window finds it, and it is as long as one may be."""
    assert span.starts_at < span.ends_at, (window, span)
    assert span.ends_at - span.starts_at <= LONGEST[window.period], (window, span)
    assert window_at(window, span.starts_at) == span
    assert window_at(window, span.ends_at - TICK) == span


def walk(tz: str, first: datetime, last: datetime) -> list[int]:
    """The furthest reading of the wall clock so far, in minutes, at every grain of the span."""
    readings, furthest, at = [], -(10**12), first
    while at <= last:
        reading = (at - _A_MONDAY + _offset(tz, at)) // timedelta(minutes=1)
        furthest = max(furthest, reading)
        readings.append(furthest)
        at += GRAIN
    return readings


def passed_labels(window: Window, first: datetime, readings: Sequence[int]) -> list[datetime]:
    """The instants at which the walked wall clock passed one more label, or several at once."""
    hour, minute = map(int, window.start.split(":"))
    label = {"hour": minute, "day": hour * 60 + minute, "week": hour * 60 + minute}[window.period]
    label += 24 * 60 * WEEKDAYS.index(window.weekday or "Mon")
    step = _MINUTES[window.period]
    counts = [(reading - label) // step for reading in readings]
    passes = enumerate(pairwise(counts), start=1)
    return [first + place * GRAIN for place, (before, after) in passes if after > before]


def assert_tiles(tz: str, first: datetime, last: datetime) -> int:
    """Both opinions agree on every boundary of every definition; how many there were."""
    readings, checked = walk(tz, first, last), 0
    for window in definitions(tz):
        found = boundaries(window, first, last)
        assert found == passed_labels(window, first, readings), window
        for at in transitions(tz, first, last):
            _assert_found_from_inside(window, found, at)
        checked += len(found)
    return checked


def _assert_found_from_inside(window: Window, found: list[datetime], transition: datetime) -> None:
    # In a repeated hour the wall clock is back before labels that have begun already.
    for grains in range(-12, 13):
        at = transition + grains * GRAIN + TICK
        place = bisect_right(found, at)
        span = window_at(window, at)
        assert place == 0 or span.starts_at == found[place - 1], (window, at, span)
        assert place == len(found) or span.ends_at == found[place], (window, at, span)


def random_instants(tz: str, amount: int = 40) -> list[datetime]:
    """The same instants for a zone in every run, down to the microsecond."""
    chance = random.Random(tz)
    return [FIRST + (LAST - FIRST) * chance.random() for _ in range(amount)]


def _offset(tz: str, at: datetime) -> timedelta:
    offset = at.astimezone(zone(tz)).utcoffset()
    assert offset is not None
    return offset


def _changes_at(tz: str, before: datetime, after: datetime) -> datetime:
    old = _offset(tz, before)
    while after - before > timedelta(seconds=1):
        middle = (before + (after - before) / 2).replace(microsecond=0)
        before, after = (middle, after) if _offset(tz, middle) == old else (before, middle)
    return after
