"""Who is in: an override over a shift over the default (contract push.md, "Presence")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.shifts import Shift, stored_shift


class Source(StrEnum):
    """What decides a presence."""

    SHIFT = "shift"
    AGENT = "agent"
    OPERATOR = "operator"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceFacts:
    """An endpoint's presence columns. `override` is `in` or `out`; `override_by` is `agent` or
    `operator:<human id>`; both set with `override_set_at`.
    """

    shift: str | None = None
    presence_override: str | None = None
    override_until: datetime | None = None
    override_by: str | None = None
    override_set_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """What holds now: in or out, by what, and until when; None: until somebody changes it."""

    is_in: bool
    source: Source
    until: datetime | None
    shift: str | None

    @property
    def word(self) -> str:
        """`in` or `out`."""
        return "in" if self.is_in else "out"


def presence(facts: PresenceFacts, at: datetime) -> Presence:
    """The presence at an aware instant.

    An override ends at `override_until` and at the first boundary of the shift after it was set,
    whichever comes first. A stored shift that is not understood any more counts as none.
    """
    shift = understood(facts.shift)
    ends_at = _override_ends_at(facts, shift)
    if facts.presence_override is not None and (ends_at is None or at < ends_at):
        is_agent = facts.override_by == "agent"
        return Presence(
            is_in=facts.presence_override == "in",
            source=Source.AGENT if is_agent else Source.OPERATOR,
            until=ends_at,
            shift=facts.shift,
        )
    if shift is None:
        return Presence(is_in=True, source=Source.DEFAULT, until=None, shift=facts.shift)
    return Presence(
        is_in=shift.covers(at),
        source=Source.SHIFT,
        until=shift.next_boundary(at),
        shift=facts.shift,
    )


def is_in(facts: PresenceFacts, at: datetime) -> bool:
    """Whether a push may reach the endpoint at that instant."""
    shift = understood(facts.shift)
    if facts.presence_override is None:
        return shift is None or shift.covers(at)
    return presence(facts, at).is_in


def has_lapsed(facts: PresenceFacts, at: datetime) -> bool:
    """Whether an override is stored that has come to its end."""
    if facts.presence_override is None:
        return False
    ends_at = _override_ends_at(facts, understood(facts.shift))
    return ends_at is not None and ends_at <= at


def understood(shift: str | None) -> Shift | None:
    """A stored shift; None when there is none, or it is not understood any more."""
    return None if shift is None else stored_shift(shift)


def _override_ends_at(facts: PresenceFacts, shift: Shift | None) -> datetime | None:
    ends = [facts.override_until]
    if shift is not None and facts.override_set_at is not None:
        ends.append(shift.next_boundary(facts.override_set_at))
    return min((end for end in ends if end is not None), default=None)
