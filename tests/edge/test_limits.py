"""Token buckets: the burst, the refill, the keys apart, the memory bounded."""

from __future__ import annotations

from app.edge.limits import TokenBuckets
from tests.support.race import all_returned, together


class Ticks:
    """A clock a test moves, in seconds."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_the_burst_is_served_and_the_next_is_refused() -> None:
    buckets = TokenBuckets(rate=10, burst=5, clock=Ticks())

    assert [buckets.take("a") for _ in range(7)] == [True] * 5 + [False] * 2


def test_tokens_come_back_at_the_rate_and_never_beyond_the_burst() -> None:
    ticks = Ticks()
    buckets = TokenBuckets(rate=10, burst=5, clock=ticks)
    for _ in range(5):
        buckets.take("a")

    ticks.now += 0.05
    assert not buckets.take("a")
    ticks.now += 0.06
    assert buckets.take("a")
    ticks.now += 3_600
    assert [buckets.take("a") for _ in range(6)] == [True] * 5 + [False]


def test_one_key_never_limits_another() -> None:
    buckets = TokenBuckets(rate=1, burst=1, clock=Ticks())

    assert buckets.take("a")
    assert not buckets.take("a")
    assert buckets.take("b")


def test_a_clock_that_does_not_move_gives_nothing_back() -> None:
    ticks = Ticks()
    buckets = TokenBuckets(rate=1, burst=1, clock=ticks)
    buckets.take("a")
    ticks.now -= 100

    assert not buckets.take("a")


def test_memory_is_bounded_and_the_least_recent_key_is_forgotten() -> None:
    buckets = TokenBuckets(rate=1, burst=1, clock=Ticks())
    for number in range(10_000):
        buckets.take(number)
    buckets.take(0)
    buckets.take("one more")

    assert len(buckets) == 10_000
    assert not buckets.take(0)
    assert buckets.take(1)


def test_racing_callers_share_one_burst() -> None:
    buckets = TokenBuckets(rate=1, burst=100, clock=Ticks())

    taken = all_returned(together(8, lambda _: sum(buckets.take("a") for _ in range(50))))

    assert sum(taken) == 100
