"""Every word a queue header and a chip say, made from a status alone (board.md, "Admission
surfaces"; accessibility.md 1.2, H1 to H6 and C1 to C3).
"""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from app.domain.admission import Admitted, Decision, Deferral, Reason
from app.domain.isolating import isolate
from app.domain.policy import Policy
from app.domain.zonelabels import clock_words, past_words, spoken_words, viewer_words

ADMITTED = "admitted"
WORDS = {
    ADMITTED: "Admitting",
    Reason.WINDOW_EXHAUSTED: "Budget used up",
    Reason.IN_FLIGHT_FULL: "At limit",
    Reason.PAUSED: "Paused",
    Reason.ADMISSION_UNAVAILABLE: "Unavailable",
}
# Which queue needs a human first (board.md, "Board view").
URGENCY = {
    Reason.ADMISSION_UNAVAILABLE: 0,
    Reason.PAUSED: 1,
    Reason.WINDOW_EXHAUSTED: 2,
    Reason.IN_FLIGHT_FULL: 3,
    ADMITTED: 4,
}
_WARNS_AT_PERCENT = 80
_NO_CLAIM = "so no claim is admitted"
_BROKEN = {
    "unknown_zone": "the time zone of the budget is not known here",
    "invalid_policy": "the budget breaks a rule",
}
_FAULTS = {
    "lock_timeout": "budget busy",
    "gate_timeout": "budget busy",
    "database": "database error",
    "invalid_policy": "budget not valid",
    "unknown_zone": "time zone not known",
}


def state_of(decision: Decision) -> str:
    """`admitted` or the reason, as classes and keys spell it; never stored (R41)."""
    return ADMITTED if isinstance(decision, Admitted) else decision.reason.value


def used_words(used: int, limit: int | None) -> str:
    """`100 of 100 used`; a limit of 0 is named, never "0 of 0"."""
    if limit is None:
        return "no limit on claims"
    return f"{used} used, limit 0" if limit == 0 else f"{used} of {limit} used"


def in_flight_words(in_flight: int, cap: int | None) -> str:
    """`2 of 5 in flight`; `2 in flight, no limit` without a cap."""
    if cap is None:
        return f"{in_flight} in flight, no limit"
    return f"{in_flight} in flight, limit 0" if cap == 0 else f"{in_flight} of {cap} in flight"


def is_nearly_used_up(used: int | None, limit: int | None) -> bool:
    """Whether 80 % of a window is spent and some is left."""
    if not limit or used is None or used >= limit:
        return False
    return used * 100 >= limit * _WARNS_AT_PERCENT


def resets_words(at: datetime, tz: str | None, viewer_tz: str | None, now: datetime) -> str:
    """`resets 00:00 PT (09:00 your time)`."""
    return f"resets {both_words(at, tz, viewer_tz, now)}"


def both_words(at: datetime, tz: str | None, viewer_tz: str | None, now: datetime) -> str:
    """`00:00 PT (09:00 your time)`: in the zone of a policy and the viewer's, once when they are
    the same words.
    """
    here, there = clock_words(at, tz, now), viewer_words(at, viewer_tz, now)
    return here if here == there else f"{here} ({there})"


def spoken_resets_words(
    at: datetime, tz: str | None, viewer_tz: str | None, now: datetime
) -> str:
    """`resets at midnight Pacific time, 09:00 your time`."""
    said, there = spoken_words(at, tz, now), viewer_words(at, viewer_tz, now)
    is_one = clock_words(at, tz, now) == there
    return f"resets at {said}" if is_one else f"resets at {said}, {there}"


def also_words(decision: Decision) -> list[str]:
    """The limits that bind beside the one reported: `also at limit` (R56)."""
    if isinstance(decision, Admitted):
        return []
    return [f"also {WORDS[reason].lower()}" for reason in decision.also_binding]


def unavailable_words(kind: str | None) -> str:
    """Why a budget cannot be judged, in words; None is a budget that cannot be read (REQ-9)."""
    return f"{_BROKEN.get(kind or '', 'the budget cannot be read')}, {_NO_CLAIM}"


def refused_words(kind: str, at: datetime, viewer_tz: str | None, now: datetime) -> str:
    """`claims refused at 14:05: budget busy` (R64)."""
    return f"claims refused at {past_words(at, viewer_tz, now)}: {_FAULTS[kind]}"


def paused_words(
    who: str | None, at: datetime, reason: str | None, viewer_tz: str | None, now: datetime
) -> str:
    """`paused by Ana at 14:05: deploy freeze`; without a name or a reason, without those words."""
    by = f" by {isolate(who)}" if who else ""
    why = f": {isolate(' '.join(reason.split()))}" if reason else ""
    return f"paused{by} at {past_words(at, viewer_tz, now)}{why}"


def chip_words(deferral: Deferral, tz: str | None, now: datetime) -> str:
    """What a deferred pending todo says, exactly as the table of board.md, "Chip"."""
    at = deferral.next_eligible_at
    match deferral.reason:
        case Reason.WINDOW_EXHAUSTED:
            return _until("deferred · budget", "eligible", at, tz, now)
        case Reason.IN_FLIGHT_FULL:
            hint = _until("deferred · in flight", "about", at, tz, now)
            return hint if at is None else f"{hint} (estimate)"
        case Reason.PAUSED:
            return "deferred · paused"
        case Reason.ADMISSION_UNAVAILABLE:
            return "deferred · budget unavailable"
        case _:
            assert_never(deferral.reason)


def zone_of(policy: Policy | None) -> str | None:
    """The zone a policy's times are said in; None, which reads UTC, when it has no window."""
    return None if policy is None or policy.window is None else policy.window.tz


def _until(text: str, word: str, at: datetime | None, tz: str | None, now: datetime) -> str:
    return text if at is None else f"{text} · {word} {clock_words(at, tz, now)}"
