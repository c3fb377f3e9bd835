"""How a presence is changed: what each write makes of the columns (push.md, "Presence")."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from app.domain.bells import DigestReason
from app.domain.errors import InvalidArgument
from app.domain.lifetimes import read_span
from app.domain.presence import PresenceFacts, has_lapsed, presence, understood
from app.domain.shifts import parse_shift

AGENT = "agent"
STAY = timedelta(hours=1)
LONGEST_STAY = timedelta(hours=8)
WORDS = ("in", "out")

Facts = TypeVar("Facts", bound=PresenceFacts)

_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)
_NO_INSTANT = "until: give a time to come with its zone, like 2026-12-24T18:00:00Z."
_NO_STAY = "for: give a number and m or h, such as 90m, at most 8h."
_PAST = "until: that time is over; give one to come."


def parse_stay(text: str | None) -> timedelta:
    """How long a clock-in lasts: `90m`, `8h`; None is an hour. InvalidArgument on `for`."""
    if text is None:
        return STAY
    stay = read_span(text)
    if stay is None:
        raise InvalidArgument(_NO_STAY, field="for")
    return check_stay(stay)


def check_stay(stay: timedelta) -> timedelta:
    """More than nothing and at most 8 hours, never clamped; InvalidArgument on `for`."""
    if not timedelta() < stay <= LONGEST_STAY:
        raise InvalidArgument(_NO_STAY, field="for")
    return stay


def parse_until(text: str | None, at: datetime) -> datetime | None:
    """An instant after `at` as RFC 3339 writes it; InvalidArgument on `until`."""
    return None if text is None else check_until(_instant(text), at)


def check_until(until: datetime, at: datetime) -> datetime:
    """The instant when it is after `at`; InvalidArgument on `until`."""
    if until <= at:
        raise InvalidArgument(_PAST, field="until")
    return until


def tidy_shift(text: str) -> str:
    """A shift as it is kept, on one line; InvalidArgument on `shift`, saying what is wrong."""
    parse_shift(text)
    return " ".join(text.split())


def clocked_out(facts: Facts, at: datetime) -> Facts:
    """The agent is out, until its shift says otherwise or it comes back."""
    return overridden(facts, "out", None, AGENT, at)


def clocked_in(facts: Facts, stay: timedelta, at: datetime) -> Facts:
    """The agent is in: in shift, or without one, this only ends an `out`; out of shift it lasts
    for `stay`, and no longer than to the next start of the shift.
    """
    shift = understood(facts.shift)
    if shift is None or shift.covers(at):
        is_out = not presence(facts, at).is_in
        return without_override(facts) if is_out or has_lapsed(facts, at) else facts
    starts_at = shift.next_boundary(at)
    until = at + stay if starts_at is None else min(at + stay, starts_at)
    return overridden(facts, "in", until, AGENT, at)


def overridden(
    facts: Facts, word: str, until: datetime | None, by: str, at: datetime
) -> Facts:
    """`in` or `out` from `at` on, by `agent` or `operator:<human id>`."""
    return replace(
        facts,
        presence_override=word,
        override_until=until,
        override_by=by,
        override_set_at=at,
    )


def without_override(facts: Facts) -> Facts:
    """What the shift says, or in without one."""
    return replace(
        facts, presence_override=None, override_until=None, override_by=None, override_set_at=None
    )


def with_shift(facts: Facts, shift: str | None, at: datetime) -> Facts:
    """Another shift, or none, from `at` on.

    A live override stays and ends at the first boundary of the new shift from now on: before now
    that shift had none. One that has ended goes, for under another shift it might live again.
    """
    changed = replace(facts, shift=shift)
    if facts.presence_override is None or has_lapsed(facts, at):
        return without_override(changed)
    return replace(changed, override_set_at=at)


def reason_by_clock(facts: PresenceFacts, at: datetime) -> DigestReason:
    """Why an endpoint that was out is in at `at`, when nobody changed anything."""
    ended, shift = facts.override_until, understood(facts.shift)
    if facts.presence_override != "out" or ended is None or ended > at:
        return DigestReason.SHIFT_START
    if shift is None or facts.override_set_at is None:
        return DigestReason.OVERRIDE_END
    boundary = shift.next_boundary(facts.override_set_at)
    is_first = boundary is None or at < boundary
    return DigestReason.OVERRIDE_END if is_first else DigestReason.SHIFT_START


def _instant(text: str) -> datetime:
    if not _INSTANT.fullmatch(text):
        raise InvalidArgument(_NO_INSTANT, field="until")
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidArgument(_NO_INSTANT, field="until") from None
