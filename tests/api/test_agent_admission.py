"""What a claim answers where a policy has a say: headroom, the deferred list, the refusal."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from flask import Flask

from app.db.database import Database
from app.domain.callers import Endpoint
from app.transactions import sweeps
from tests.api.asking import Agent, agent_of
from tests.support.clock import Clock
from tests.support.make import Make

ADMITTED = {"state": "admitted"}
WINDOW = datetime(2026, 9, 30, 7, tzinfo=UTC)
MIDNIGHT = "2026-10-01T07:00:00Z"


@pytest.fixture(autouse=True)
def afternoon(clock: Clock) -> None:
    """Four in the afternoon in Los Angeles."""
    clock.set("2026-09-30T23:00:00Z")


@pytest.fixture
def endpoint(make: Make) -> Endpoint:
    return make.endpoint(queues=("lane-m", "free"))


@pytest.fixture
def agent(app: Flask, make: Make, endpoint: Endpoint) -> Agent:
    return agent_of(app, make, endpoint)


def daily(make: Make, endpoint: Endpoint, limit: int, used: int) -> None:
    """A daily budget of Los Angeles on lane-m, some of it used."""
    policy = make.policy(make.queue_id(endpoint, "lane-m"), max_claims_per_window=limit,
                         tz="America/Los_Angeles")
    make.window(policy, WINDOW, used, limit=limit)


@pytest.mark.req("REQ-7", "Headroom on a successful claim")
@pytest.mark.parametrize("by_id", [True, False])
def test_a_claim_says_what_is_left(
    agent: Agent, make: Make, endpoint: Endpoint, *, by_id: bool
) -> None:
    daily(make, endpoint, 100, 72)
    todo = make.todo(endpoint, "lane-m")

    made = agent("claim", id=todo) if by_id else agent("claim_next")

    assert made.body["admission"] == {
        "max_in_flight": None, "in_flight": 1, "max_claims_per_window": 100, "used": 73,
        "remaining": 27, "window_resets_at": MIDNIGHT,
    }
    assert "admission" not in made.body.get("todo", {})


@pytest.mark.req("REQ-1", "No policy, no change")
def test_without_a_policy_no_answer_speaks_of_admission(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    daily(make, endpoint, 1, 1)
    first, second = make.todo(endpoint, "free"), make.todo(endpoint, "free")

    answers = [agent("list_todos", queue="free").body["todos"][0], agent("claim_next").body,
               agent("claim", id=second).body, agent("release", id=first).body,
               agent("get_todo", id=first).body, agent("claim_next", queue="free").body]

    assert answers[1]["todo"]["id"] == first
    assert ["admission" in answer for answer in answers] == [False] * 6


@pytest.mark.req("REQ-7", "A specific claim in a deferred queue")
@pytest.mark.req("REQ-1", "Zero pauses the queue")
@pytest.mark.rule("R32: Retry-After only when the time is exact")
def test_a_claim_in_a_paused_queue_is_refused_and_changes_nothing(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    make.policy(make.queue_id(endpoint, "lane-m"), max_in_flight=0)
    todo = make.todo(endpoint, "lane-m")
    before = make.row(todo), make.attempts(todo)

    refused, whichever = agent("claim", id=todo), agent("claim_next")

    assert (refused.status, refused.body) == (409, {
        "error": "Queue lane-m is paused.", "code": "deferred", "queue": "lane-m",
        "reason": "paused", "next_eligible_at": None, "exact": False,
    })
    assert "Retry-After" not in refused.headers
    assert whichever.body == {"empty": True, "deferred": [{
        "queue": "lane-m", "reason": "paused", "pending": 1, "next_eligible_at": None,
        "exact": False,
    }]}
    assert (make.row(todo), make.attempts(todo)) == before


@pytest.mark.req("REQ-7", "A worker is told to wait, not to poll")
@pytest.mark.rule("R32: Retry-After only when the time is exact")
def test_an_exhausted_budget_says_until_when(
    agent: Agent, make: Make, endpoint: Endpoint, clock: Clock
) -> None:
    daily(make, endpoint, 100, 100)
    todos = [make.todo(endpoint, "lane-m") for _ in range(12)]
    clock.set("2026-09-30T23:00:00.250Z")

    refused, whichever = agent("claim", id=todos[0]), agent("claim_next")

    assert refused.refusal[:2] == (409, "deferred")
    assert (refused.body["reason"], refused.body["exact"]) == ("window_exhausted", True)
    assert refused.headers["Retry-After"] == str(8 * 3600)
    assert whichever.body == {"empty": True, "deferred": [{
        "queue": "lane-m", "reason": "window_exhausted", "pending": 12,
        "next_eligible_at": MIDNIGHT, "exact": True,
    }]}


@pytest.mark.rule("R23, R32: a hint is no promise")
def test_a_full_queue_gives_a_hint_without_retry_after(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    make.policy(make.queue_id(endpoint, "lane-m"), max_in_flight=1)
    make.todo(endpoint, "lane-m", state="claimed", lease=600)
    todo = make.todo(endpoint, "lane-m")

    refused = agent("claim", id=todo)

    assert refused.body["reason"] == "in_flight_full"
    assert (refused.body["next_eligible_at"], refused.body["exact"]) == (
        "2026-09-30T23:10:30Z", False)
    assert "Retry-After" not in refused.headers


@pytest.mark.rule("R9: conflict before deferred")
def test_a_todo_that_is_not_claimable_is_a_conflict_in_a_paused_queue_too(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    make.policy(make.queue_id(endpoint, "lane-m"), max_in_flight=0)

    assert agent("claim", id=make.todo(endpoint, "lane-m", state="done")).status == 409
    assert agent("claim", id=make.todo(endpoint, "lane-m", state="done")).refusal[1] == "conflict"


@pytest.mark.rule("R50: a bare name is the own queue, a team's is written out")
def test_an_own_and_a_team_queue_of_one_name_are_two_entries(
    app: Flask, make: Make
) -> None:
    human, team = make.human(), make.team("ours")
    make.member(team, human)
    shared = make.team_queue(team, "inbox")
    endpoint = make.endpoint(human)
    make.grant(endpoint, shared)
    for queue in (make.queue_id(endpoint), shared):
        make.policy(queue, max_in_flight=0)
        make.todo(endpoint, queue)
    agent = agent_of(app, make, endpoint)

    deferred = agent("claim_next").body["deferred"]
    rows = {row["queue"]: row["admission"]["reason"] for row in agent("list_todos").body["todos"]}

    assert sorted(each["queue"] for each in deferred) == ["inbox", "team:ours/inbox"]
    assert rows == {"inbox": "paused", "team:ours/inbox": "paused"}


@pytest.mark.req("REQ-6", "An exhausted day keeps its work")
def test_forty_todos_of_an_exhausted_day_wait_unchanged(
    agent: Agent, make: Make, endpoint: Endpoint, clock: Clock
) -> None:
    daily(make, endpoint, 5, 5)
    todos = {str(make.todo(endpoint, "lane-m")) for _ in range(40)}
    clock.set("2026-10-01T06:59:00Z")

    assert agent("claim_next").body["empty"] is True
    rows = agent("list_todos", limit=200).body["todos"]

    waits = {"state": "deferred", "reason": "window_exhausted", "next_eligible_at": MIDNIGHT,
             "exact": True}
    assert {row["id"] for row in rows} == todos
    assert all((row["state"], row["attempt"], row["dead_letter"], row["admission"]) == (
        "pending", 0, False, waits) for row in rows)
    clock.set(MIDNIGHT)
    assert agent("list_todos").body["todos"][0]["admission"] == ADMITTED
    assert agent("claim_next").body["admission"]["used"] == 1


@pytest.mark.req("REQ-6", "Deferral outlives the retry backoff")
@pytest.mark.rule("R25: no admission on a parked retry; its attempt stays what it was")
def test_a_due_retry_becomes_pending_and_waits(
    agent: Agent, make: Make, endpoint: Endpoint, clock: Clock, db: Database
) -> None:
    daily(make, endpoint, 1, 0)
    todo = make.todo(endpoint, "lane-m")
    agent("claim", id=todo)
    parked = agent("fail", id=todo).body

    clock.advance(29)
    sweeps.requeue(db)
    early = agent("get_todo", id=todo).body
    clock.advance(31)
    sweeps.requeue(db)
    due = agent("get_todo", id=todo).body

    assert [(row["state"], row["attempt"]) for row in (parked, early, due)] == [
        ("failed", 1), ("failed", 1), ("pending", 1)]
    assert "admission" not in parked
    assert "admission" not in early
    assert due["admission"] == {"state": "deferred", "reason": "window_exhausted",
                                "next_eligible_at": MIDNIGHT, "exact": True}
    assert agent("claim", id=todo).refusal[:2] == (409, "deferred")
