"""A local label and the instant it names, through gaps and repeats (SPEC-0030 REQ-5, R21)."""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_SECOND = timedelta(seconds=1)


def local_time(instant: datetime, zone: ZoneInfo) -> datetime:
    """What a wall clock in `zone` reads at an aware instant, as a naive datetime."""
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def first_instant(label: datetime, zone: ZoneInfo) -> datetime:
    """The instant, in UTC, at which a wall clock in `zone` first reads a naive `label` or later.

    A label that occurs once is itself, one that occurs twice its first occurrence, one that falls
    in a gap the transition that skips it.
    """
    before = _offset(label, zone, fold=0)
    after = _offset(label, zone, fold=1)
    if before < after:
        return _transition(label, zone, before, after)
    return (label - before).replace(tzinfo=UTC)


def _offset(label: datetime, zone: ZoneInfo, *, fold: int) -> timedelta:
    offset = label.replace(tzinfo=zone, fold=fold).utcoffset()
    if offset is None:  # only a zone without offsets answers so, and the database holds none
        raise ValueError(f"{zone.key} has no offset")
    return offset


def _transition(
    label: datetime, zone: ZoneInfo, before: timedelta, after: timedelta
) -> datetime:
    # The clock jumps over the label somewhere in this span, on a whole second: zone files hold
    # nothing finer.
    earliest = (label - after).replace(tzinfo=UTC)
    width = (after - before) // _SECOND
    seconds = bisect_left(
        range(width + 1),
        label,
        key=lambda passed: local_time(earliest + passed * _SECOND, zone),
    )
    return earliest + seconds * _SECOND
