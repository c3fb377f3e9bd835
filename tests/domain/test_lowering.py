"""Which changes of a policy close its queue at once, and so are warned about."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.domain.admission import Reason, Usage
from app.domain.lowering import closing
from app.domain.policy import Policy
from app.domain.windows import Window

DAY, WEEK = Window("day", "UTC", "00:00"), Window("week", "UTC", "00:00", "Mon")
OLD = Policy(max_in_flight=5, max_claims_per_window=100, window=DAY)
PAUSED = Policy(max_in_flight=0, max_claims_per_window=100, window=DAY)


def policy(cap: int | None = 5, limit: int | None = 100, window: Window = DAY) -> Policy:
    return Policy(max_in_flight=cap, max_claims_per_window=limit, window=window)


@pytest.mark.parametrize(("old", "new", "in_flight", "used", "reasons"), [
    (OLD, policy(limit=61), 0, 60, ()),
    (OLD, policy(limit=60), 0, 60, (Reason.WINDOW_EXHAUSTED,)),
    (OLD, policy(limit=50), 0, 60, (Reason.WINDOW_EXHAUSTED,)),
    (OLD, policy(limit=110), 0, 120, (Reason.WINDOW_EXHAUSTED,)),
    (OLD, policy(window=WEEK), 0, 100, (Reason.WINDOW_EXHAUSTED,)),
    (OLD, policy(cap=6), 0, 100, ()),
    (OLD, policy(cap=2), 2, 60, (Reason.IN_FLIGHT_FULL,)),
    (OLD, policy(cap=2), 2, 100, (Reason.IN_FLIGHT_FULL,)),
    (OLD, policy(cap=3), 2, 60, ()),
    (OLD, policy(cap=2, limit=50), 2, 60, (Reason.WINDOW_EXHAUSTED, Reason.IN_FLIGHT_FULL)),
    (OLD, policy(cap=0), 0, 0, (Reason.PAUSED,)),
    (OLD, policy(limit=0), 0, 0, (Reason.PAUSED,)),
    (PAUSED, policy(cap=0, limit=90), 0, 60, ()),
    (PAUSED, policy(), 0, 60, ()),
    (None, policy(limit=60), 0, 60, (Reason.WINDOW_EXHAUSTED,)),
    (None, policy(), 0, 0, ()),
])
def test_a_change_that_closes_the_queue_is_found(
    old: Policy | None, new: Policy, in_flight: int, used: int, reasons: tuple[Reason, ...]
) -> None:
    usage = Usage(in_flight=in_flight, used=used,
                  window_resets_at=datetime(2026, 10, 1, tzinfo=UTC))

    assert closing(old, new, usage) == reasons
