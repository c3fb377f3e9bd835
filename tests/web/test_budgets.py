"""Budgets: every policy the person may manage, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.domain.callers import Human
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.recorded import recorded
from tests.web.budgeting import NOON, lane, rows, words


@pytest.fixture(autouse=True)
def noon(clock: Clock) -> None:
    clock.set(NOON)


def test_every_policy_one_may_manage_is_listed_with_its_header_and_its_links(
    make: Make, browser: Callable[[Human], Browser]
) -> None:
    ana, ben, team = make.human("Ana"), make.human("Ben"), make.team("night")
    make.run("update humans set zone = 'Europe/Berlin'")
    endpoint, queue = lane(make, ana)
    lane(make, ben, "secret")
    paused = make.queue(endpoint, "paused")
    make.queue(endpoint, "bare")
    gone = make.endpoint(ana, queues=("gone",), expires_at=make.now())
    make.policy(make.queue_id(gone, "gone"), max_in_flight=3, human=ana)
    make.policy(paused, max_in_flight=0, human=ana)
    managed, seen = make.team_queue(team, "triage"), make.team_queue(make.team("day"), "seen")
    make.member(team, ana, "admin")
    make.policy(managed, max_in_flight=3, human=ana)
    make.policy(seen, max_in_flight=3, human=ben)
    make.run("insert into team_members (team_id, human_id, role, source) select team_id, %s,"
             " 'member', 'manual' from queues where id = %s", ana.id, int(seen))

    answer = browser(ana).get("/budgets")

    table = {row[0]: row[1:] for row in rows(answer)}
    assert sorted(table) == ["investigations", "paused", "team:night/triage"]
    assert table["investigations"] == [
        endpoint.slug,
        "at most 100 claims a day, from 00:00 America/Los_Angeles; at most 5 at once",
        "Admitting 0 of 100 used · 0 of 5 in flight · resets 00:00 PT (09:00 your time)",
        "Edit budget"]
    assert table["paused"][1:3][0] == "at most 0 at once, which pauses the queue"
    assert table["paused"][2].startswith("Paused")
    assert table["team:night/triage"][0] == "team night"
    assert f'href="/queues/{queue}">investigations</a>' in answer.text
    edit = f'href="/queues/{queue}/budget?from=budgets" aria-label="Edit budget for investigations"'
    assert edit in answer.text


def test_a_broken_policy_is_listed_with_its_fault(
    make: Make, browser: Callable[[Human], Browser]
) -> None:
    ana = make.human("Ana")
    lane(make, ana)
    make.run("update admission_policies set window_tz = 'Mars/Olympus'")

    row = rows(browser(ana).get("/budgets"))[0]

    assert row[2] == "cannot be judged"
    assert row[3].startswith("Unavailable")


def test_without_a_policy_the_page_says_where_to_make_one(
    make: Make, browser: Callable[[Human], Browser]
) -> None:
    answer = browser(make.human()).get("/budgets")

    assert "You manage no budget." in words(answer)
    assert "Go to the board and choose a queue" in words(answer)


def test_the_page_costs_the_same_statements_however_many_policies(
    make: Make, browser: Callable[[Human], Browser], statements: Any
) -> None:
    ana = make.human("Ana")
    seat = browser(ana)
    endpoint, _ = lane(make, ana)
    few = statements(lambda: seat.get("/budgets"))
    for n in range(20):
        make.policy(make.queue(endpoint, f"queue-{n}"), max_in_flight=n + 1, human=ana)

    many = statements(lambda: seat.get("/budgets"))

    assert few == many


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """How many statements a call sends."""
    def count(call: Callable[[], object]) -> int:
        with recorded(monkeypatch) as said:
            call()
        return len(said)

    return count
