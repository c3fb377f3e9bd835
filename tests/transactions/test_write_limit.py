"""The limiter of policy writes: one a second, ten at once, per human and per endpoint."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.errors import RateLimited
from app.transactions import write_limit
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.race import together

pytestmark = pytest.mark.rule("R43")
NOON = "2026-09-30T12:00:00Z"


@pytest.fixture
def callers(make: Make) -> list[Human | Endpoint]:
    human = make.human()
    return [human, make.endpoint(human), make.endpoint(human), make.human()]


def taken(db: Database, caller: Human | Endpoint, tries: int) -> int:
    """How many of that many writes are let through."""
    passed = 0
    for _ in range(tries):
        try:
            write_limit.take(db, caller)
        except RateLimited:
            continue
        passed += 1
    return passed


def test_each_caller_has_ten_at_once(
    db: Database, clock: Clock, callers: list[Human | Endpoint]
) -> None:
    clock.set(NOON)

    assert [taken(db, caller, 12) for caller in callers] == [10, 10, 10, 10]


def test_one_comes_back_a_second_and_never_more_than_ten(
    db: Database, clock: Clock, callers: list[Human | Endpoint]
) -> None:
    clock.set(NOON)
    taken(db, callers[0], 10)

    clock.advance(0.5)
    assert taken(db, callers[0], 2) == 0
    clock.advance(0.5)
    assert taken(db, callers[0], 2) == 1
    clock.advance(3600)
    assert taken(db, callers[0], 12) == 10


def test_a_clock_that_goes_back_gives_and_takes_nothing(
    db: Database, clock: Clock, callers: list[Human | Endpoint]
) -> None:
    noon = clock.set(NOON)
    taken(db, callers[0], 4)

    clock.set(noon - timedelta(hours=2))

    assert taken(db, callers[0], 12) == 6


def test_ten_pass_of_forty_at_once(
    db: Database, clock: Clock, callers: list[Human | Endpoint]
) -> None:
    clock.set(NOON)

    for caller in callers[:2]:

        def take(_: int, who: Human | Endpoint = caller) -> str:
            write_limit.take(db, who)
            return "taken"

        outcomes = together(40, take)

        assert outcomes.count("taken") == 10
        assert sum(isinstance(outcome, RateLimited) for outcome in outcomes) == 30
