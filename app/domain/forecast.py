"""What a budget will do if nothing changes: estimates, each only when it can be computed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.admission import Usage
from app.domain.policy import Policy
from app.domain.windows import Span, Window, window_at

FARTHEST_WINDOWS = 400
"""A backlog that needs more windows than this is counted in windows, not dated."""

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When the window's budget is used up at the rate of the last hour; None when it lasts."""

    used_up_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """How far a backlog reaches at this budget: `windows` more after this one, the last of which
    begins at `until` (None for 0 windows, and for more than FARTHEST_WINDOWS)."""

    windows: int
    until: datetime | None


def pace(policy: Policy, usage: Usage, claims_last_hour: int, now: datetime) -> Pace | None:
    """The rate of the last hour carried on; None without claims, a limit or anything left."""
    left = _left(policy, usage)
    if left is None or left == 0 or claims_last_hour <= 0 or usage.window_resets_at is None:
        return None
    at = now + left * _HOUR / claims_last_hour
    return Pace(used_up_at=at if at < usage.window_resets_at else None)


def backlog(policy: Policy, usage: Usage, pending: int, now: datetime) -> Backlog | None:
    """Until when the waiting todos need, one unit each; None without todos or a limit."""
    left, limit, window = _left(policy, usage), policy.max_claims_per_window, policy.window
    if left is None or not limit or window is None or pending <= 0:
        return None
    windows = -(-max(0, pending - left) // limit)
    if windows == 0 or windows > FARTHEST_WINDOWS:
        return Backlog(windows=windows, until=None)
    last = spans(window, now, 1 + windows)[-1]
    return Backlog(windows=windows, until=last.starts_at)


def spans(window: Window, now: datetime, count: int) -> tuple[Span, ...]:
    """The window that contains `now` and those after it, `count` in all; raises UnknownZone."""
    found = [window_at(window, now)]
    while len(found) < count:
        found.append(window_at(window, found[-1].ends_at))
    return tuple(found)


def _left(policy: Policy, usage: Usage) -> int | None:
    """Units left in this window; None when claims are not counted or none is admitted at all."""
    limit = policy.max_claims_per_window
    if policy.pauses or limit is None or usage.used is None:
        return None
    return max(0, limit - usage.used)
