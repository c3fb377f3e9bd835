"""Forecasts: only when they can be computed, and then what the arithmetic says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from app.domain.admission import Usage
from app.domain.forecast import FARTHEST_WINDOWS, Backlog, Pace, backlog, pace, spans
from app.domain.policy import Policy
from app.domain.windows import Window

NOON = datetime(2026, 9, 30, 12, tzinfo=UTC)
RESETS = datetime(2026, 10, 1, tzinfo=UTC)
DAY = Window("day", "UTC", "00:00")
DAILY = Policy(max_claims_per_window=100, window=DAY)


def usage(used: int | None = 70) -> Usage:
    return Usage(in_flight=0, used=used, window_started_at=RESETS - timedelta(days=1),
                 window_resets_at=RESETS if used is not None else None)


def test_the_rate_of_the_last_hour_says_when_the_budget_is_used_up() -> None:
    assert pace(DAILY, usage(70), 10, NOON) == Pace(used_up_at=NOON + timedelta(hours=3))


def test_a_budget_that_outlives_its_window_lasts() -> None:
    assert pace(DAILY, usage(70), 2, NOON) == Pace(used_up_at=None)


@pytest.mark.parametrize(("policy", "used", "last_hour"), [
    (DAILY, 70, 0),
    (DAILY, 100, 10),
    (DAILY, 120, 10),
    (Policy(max_in_flight=5), None, 10),
    (Policy(max_in_flight=0, max_claims_per_window=100, window=DAY), 70, 10),
    (Policy(max_claims_per_window=0, window=DAY), 0, 10),
])
def test_without_claims_a_limit_or_anything_left_no_rate_is_carried_on(
    policy: Policy, used: int | None, last_hour: int
) -> None:
    assert pace(policy, usage(used), last_hour, NOON) is None


@pytest.mark.parametrize(("used", "pending", "said"), [
    (70, 30, Backlog(windows=0, until=None)),
    (70, 31, Backlog(windows=1, until=RESETS)),
    (70, 130, Backlog(windows=1, until=RESETS)),
    (70, 131, Backlog(windows=2, until=RESETS + timedelta(days=1))),
    (120, 100, Backlog(windows=1, until=RESETS)),
    (100, 100 * FARTHEST_WINDOWS,
     Backlog(windows=FARTHEST_WINDOWS, until=RESETS + timedelta(days=FARTHEST_WINDOWS - 1))),
    (100, 100 * FARTHEST_WINDOWS + 1, Backlog(windows=FARTHEST_WINDOWS + 1, until=None)),
])
def test_a_backlog_reaches_as_many_windows_as_its_units_fill(
    used: int, pending: int, said: Backlog
) -> None:
    assert backlog(DAILY, usage(used), pending, NOON) == said


@pytest.mark.parametrize(("policy", "used", "pending"), [
    (DAILY, 70, 0),
    (Policy(max_in_flight=5), None, 40),
    (Policy(max_claims_per_window=0, window=DAY), 0, 40),
    (Policy(max_in_flight=0, max_claims_per_window=100, window=DAY), 70, 40),
])
def test_without_todos_or_a_limit_there_is_no_backlog_to_date(
    policy: Policy, used: int | None, pending: int
) -> None:
    assert backlog(policy, usage(used), pending, NOON) is None


def test_windows_follow_one_another_without_a_gap() -> None:
    found = spans(Window("day", "America/Los_Angeles", "02:30"),
                  datetime(2026, 3, 7, 12, tzinfo=UTC), 6)

    assert len(found) == 6
    assert all(a.ends_at == b.starts_at for a, b in pairwise(found))
