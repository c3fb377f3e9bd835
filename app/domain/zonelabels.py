"""What people call a time: a clock in a zone, short for the eye and in full for the ear.

Source: board.md, "Queue header". A zone of None, or one the database does not know (REQ-9: a
broken policy may name one), reads UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from app.domain.zones import UnknownZone, zone

_UNITED_STATES = {
    "America/Los_Angeles": ("PT", "Pacific time"),
    "America/Denver": ("MT", "Mountain time"),
    "America/Chicago": ("CT", "Central time"),
    "America/New_York": ("ET", "Eastern time"),
}
_DAY = timedelta(days=1)


def clock_words(instant: datetime, tz: str | None, now: datetime) -> str:
    """`00:00 PT`; `Mon 00:00 PT` when the instant is more than 24 h away."""
    return f"{_day_and_clock(instant, tz, now)} {zone_label(tz, instant)}"


def viewer_words(instant: datetime, tz: str | None, now: datetime) -> str:
    """`09:00 your time` in the viewer's zone; `08:00 UTC` for a viewer who has set none."""
    return f"{_day_and_clock(instant, tz, now)} {'UTC' if tz is None else 'your time'}"


def spoken_words(instant: datetime, tz: str | None, now: datetime) -> str:
    """The same as `clock_words`, to be heard: `midnight Pacific time`."""
    local = instant.astimezone(_zone(tz))
    spoken = spoken_zone(tz, instant)
    if _is_far(instant, now):
        return f"{local:%A %H:%M} {spoken}"
    return f"{'midnight' if f'{local:%H:%M}' == '00:00' else f'{local:%H:%M}'} {spoken}"


def past_words(instant: datetime, tz: str | None, now: datetime) -> str:
    """`14:05` by the viewer's clock, with the date when it was on another day; says UTC when the
    viewer has set no zone."""
    local, today = instant.astimezone(_zone(tz)), now.astimezone(_zone(tz))
    tail = " UTC" if tz is None else ""
    if local.date() == today.date():
        return f"{local:%H:%M}{tail}"
    return f"{local:%H:%M}{tail} on {local.day} {local:%b %Y}"


def zone_label(tz: str | None, instant: datetime) -> str:
    """`PT MT CT ET`, else the zone's alphabetic abbreviation at that instant, else its name."""
    if tz in _UNITED_STATES:
        return _UNITED_STATES[tz][0]
    short = f"{instant.astimezone(_zone(tz)):%Z}"
    return short if short.isalpha() else str(tz)


def spoken_zone(tz: str | None, instant: datetime) -> str:
    """A zone to be heard: `Pacific time`, `CET`, `Sao Paulo time`."""
    if tz in _UNITED_STATES:
        return _UNITED_STATES[tz][1]
    label = zone_label(tz, instant)
    if label != tz or "/" not in label:
        return label
    return f"{label.rpartition('/')[2].replace('_', ' ')} time"


def _day_and_clock(instant: datetime, tz: str | None, now: datetime) -> str:
    local = instant.astimezone(_zone(tz))
    return f"{local:%a %H:%M}" if _is_far(instant, now) else f"{local:%H:%M}"


def _is_far(instant: datetime, now: datetime) -> bool:
    return instant - now > _DAY


def _zone(tz: str | None) -> tzinfo:
    if tz is None:
        return UTC
    try:
        return zone(tz)
    except UnknownZone:
        return UTC
