"""The limiter of policy writes: one a second, ten at once, for humans and endpoints alike (R43)."""

from __future__ import annotations

import pytest

from app.db.database import Database
from app.domain.errors import RateLimited
from app.transactions import write_limit
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.race import together


def passed(db: Database, caller, tries: int) -> int:
    outcomes = together(tries, lambda _: write_limit.take(db, caller))
    assert all(each is None or isinstance(each, RateLimited) for each in outcomes)
    return sum(each is None for each in outcomes)


@pytest.mark.rule("R43: burst 10, exactly, among writers that come at once")
def test_ten_of_twenty_writes_at_once_pass(db: Database, make: Make, clock: Clock) -> None:
    clock.set("2026-10-01T12:00:00Z")

    assert passed(db, make.human(), 20) == 10
    assert passed(db, make.endpoint(), 20) == 10


@pytest.mark.rule("R43: one a second comes back, and never more than ten")
def test_one_write_a_second_comes_back(db: Database, make: Make, clock: Clock) -> None:
    clock.set("2026-10-01T12:00:00Z")
    ada = make.human()
    assert passed(db, ada, 12) == 10

    clock.advance(3)
    assert passed(db, ada, 12) == 3
    clock.advance(3600)
    assert passed(db, ada, 12) == 10


@pytest.mark.rule("R43: one writer's bucket is nobody else's")
def test_buckets_are_apart(db: Database, make: Make, clock: Clock) -> None:
    clock.set("2026-10-01T12:00:00Z")
    ada, bob = make.human(), make.human()

    assert passed(db, ada, 11) == 10
    assert passed(db, bob, 1) == 1
