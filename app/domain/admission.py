"""Whether a queue's policy admits a claim now, and the words that say why not (REQ-4, REQ-6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias, assert_never

from app.domain.policy import Policy
from app.domain.values import Json, rfc3339_or_none

REAPER_INTERVAL = timedelta(seconds=30)


class Reason(StrEnum):
    """Why a queue is deferred, the one that is reported first on top. Never stored (R5, R41)."""

    ADMISSION_UNAVAILABLE = "admission_unavailable"
    PAUSED = "paused"
    WINDOW_EXHAUSTED = "window_exhausted"
    IN_FLIGHT_FULL = "in_flight_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a policy is judged by: todos claimed, units used in the window, and the next hints.

    `in_flight` leaves out the candidate of a claim (R3). The window's three are None exactly when
    no window limit is in force; `slot_hint_at` is None when nobody asked for it.
    """

    in_flight: int
    used: int | None = None
    window_started_at: datetime | None = None
    window_resets_at: datetime | None = None
    slot_hint_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """The policy admits one more claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferral:
    """The policy admits none: the first reason by R5, and the others that would refuse (R56).

    `next_eligible_at` is a promise when `exact`, else a hint or None (R23, R49).
    """

    reason: Reason
    next_eligible_at: datetime | None = None
    exact: bool = False
    also_binding: tuple[Reason, ...] = ()


Decision: TypeAlias = Admitted | Deferral
UNAVAILABLE = Deferral(reason=Reason.ADMISSION_UNAVAILABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One entry of the deferred list: a queue with pending work that admits no claim now."""

    queue: str
    reason: Reason
    pending: int
    next_eligible_at: datetime | None
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """What is left after an admitted claim; what has no limit is None (REQ-7, R42)."""

    max_in_flight: int | None
    in_flight: int
    max_claims_per_window: int | None
    used: int | None
    remaining: int | None
    window_resets_at: datetime | None


def decide(policy: Policy, usage: Usage) -> Decision:
    """Judge one more claim; never raises. A window limit without its usage is UNAVAILABLE (REQ-9).

    Every limit is looked at: the first reason by R5 is reported, the rest are `also_binding`. A
    limit of 0 counts as the pause and not as full or exhausted too (R56).
    """
    if policy.max_claims_per_window is not None and (
        usage.used is None or usage.window_resets_at is None
    ):
        return UNAVAILABLE
    binding = []
    if policy.pauses:
        binding.append(Reason.PAUSED)
    if _reached(usage.used, policy.max_claims_per_window):
        binding.append(Reason.WINDOW_EXHAUSTED)
    if _reached(usage.in_flight, policy.max_in_flight):
        binding.append(Reason.IN_FLIGHT_FULL)
    return _deferral(usage, *binding) if binding else Admitted()


def _reached(count: int | None, limit: int | None) -> bool:
    if limit is None or limit == 0 or count is None:
        return False  # no such limit, or a pause, which has been said already
    return count >= limit


def _deferral(usage: Usage, reason: Reason, *also: Reason) -> Deferral:
    eligible_at, exact = None, False
    if reason is Reason.WINDOW_EXHAUSTED:
        eligible_at, exact = usage.window_resets_at, True
    elif reason is Reason.IN_FLIGHT_FULL:
        eligible_at = usage.slot_hint_at
    return Deferral(reason=reason, next_eligible_at=eligible_at, exact=exact, also_binding=also)


def slot_hint(earliest_live_lease: datetime | None, now: datetime) -> datetime:
    """When a slot may free: the earliest live lease's end, or now, and one reaper round (R23)."""
    return (earliest_live_lease or now) + REAPER_INTERVAL


def headroom(
    policy: Policy, in_flight: int, used: int | None, resets_at: datetime | None
) -> Headroom:
    """The headroom of a claim just made, both counts including it; the window's None without a
    window limit, and never a negative rest (R42)."""
    limited = policy.window_limit_in_force
    return Headroom(
        max_in_flight=policy.max_in_flight,
        in_flight=in_flight,
        max_claims_per_window=policy.max_claims_per_window,
        used=used if limited else None,
        remaining=_remaining(policy, used),
        window_resets_at=resets_at if limited else None,
    )


def headroom_body(left: Headroom) -> dict[str, Json]:
    """Headroom as JSON, always all six keys (agent-api.md, "Drain verbs")."""
    return {
        "max_in_flight": left.max_in_flight,
        "in_flight": left.in_flight,
        "max_claims_per_window": left.max_claims_per_window,
        "used": left.used,
        "remaining": left.remaining,
        "window_resets_at": rfc3339_or_none(left.window_resets_at),
    }


def usage_body(policy: Policy, usage: Usage) -> dict[str, Json]:
    """Usage as JSON; the window's four keys are null without a window limit (R42)."""
    limited = policy.window_limit_in_force
    return {
        "in_flight": usage.in_flight,
        "used": usage.used if limited else None,
        "remaining": _remaining(policy, usage.used),
        "window_started_at": rfc3339_or_none(usage.window_started_at if limited else None),
        "window_resets_at": rfc3339_or_none(usage.window_resets_at if limited else None),
    }


def _remaining(policy: Policy, used: int | None) -> int | None:
    limit = policy.max_claims_per_window
    if limit is None or used is None:
        return None
    return max(0, limit - used)


def status_body(decision: Decision) -> dict[str, Json]:
    """A queue's or a pending todo's status as JSON (REQ-6); `exact` wherever a time is (R49)."""
    if isinstance(decision, Admitted):
        return {"state": "admitted"}
    return {
        "state": "deferred",
        "reason": str(decision.reason),
        "next_eligible_at": rfc3339_or_none(decision.next_eligible_at),
        "exact": decision.exact,
    }


def sentence(queue: str, deferral: Deferral) -> str:
    """What a `deferred` error says to a person, of the queue as the caller names it (REQ-7)."""
    match deferral.reason:
        case Reason.ADMISSION_UNAVAILABLE:
            return f"Queue {queue} cannot judge its budget now, so it admits no claim."
        case Reason.PAUSED:
            return f"Queue {queue} is paused."
        case Reason.WINDOW_EXHAUSTED:
            until = rfc3339_or_none(deferral.next_eligible_at)
            return f"Queue {queue} has used up its budget until {until}."
        case Reason.IN_FLIGHT_FULL:
            return f"Queue {queue} has as many todos in flight as it admits."
        case _:
            assert_never(deferral.reason)
