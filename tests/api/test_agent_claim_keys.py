"""Retry-safe claims and long polls over the agent door (R58, R61)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from app.domain.callers import Endpoint
from tests.api.asking import Agent, Answer, agent_of
from tests.support.make import Make

CONFLICT = (409, "conflict")


@pytest.fixture
def endpoint(make: Make) -> Endpoint:
    return make.endpoint()


@pytest.fixture
def agent(app: Flask, make: Make, endpoint: Endpoint) -> Agent:
    return agent_of(app, make, endpoint)


def together(calls: list[Callable[[], Answer]]) -> list[Answer]:
    """Run calls at once, each on a thread of its own, and return their answers in order."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], Answer]) -> Answer:
        gate.wait(timeout=20)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_the_same_key_answers_the_same_todo_and_token(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    make.todo(endpoint)
    make.todo(endpoint)

    first = agent("claim_next", key="once", require_fence=True)
    again = agent("claim_next", key="once", require_fence=True)

    assert first.status == again.status == 200
    assert again.body["todo"]["id"] == first.body["todo"]["id"]
    assert again.body["lease_token"] == first.body["lease_token"]
    assert again.body["attempt_seq"] == first.body["attempt_seq"] == 1
    assert make.value("select count(*) from todo_attempts") == 1


def test_a_replay_answers_the_row_of_today(agent: Agent, make: Make, endpoint: Endpoint) -> None:
    todo = make.todo(endpoint)
    agent("claim", id=todo, key="once")
    agent("heartbeat", id=todo, lease_ttl_seconds=80_000)

    again = agent("claim", id=todo, key="once").body

    assert again["id"] == todo
    assert again["lease_expires_at"] == agent("get_todo", id=todo).body["lease_expires_at"]


def test_the_same_key_with_other_arguments_is_a_conflict(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo, other = make.todo(endpoint), make.todo(endpoint)
    agent("claim", id=todo, key="once")

    assert agent("claim", id=other, key="once").refusal[:2] == CONFLICT
    assert agent("claim", id=todo, key="once", require_fence=True).refusal[:2] == CONFLICT
    assert agent("claim_next", key="once").refusal[:2] == CONFLICT
    assert agent("claim", id=todo, key="once", require_fence=False, claimant=None).status == 200


def test_a_key_is_the_endpoints_own(
    app: Flask, make: Make, agent: Agent, endpoint: Endpoint
) -> None:
    other = make.endpoint()
    mine, theirs = make.todo(endpoint), make.todo(other)

    assert agent("claim_next", key="once").body["todo"]["id"] == mine
    assert agent_of(app, make, other)("claim_next", key="once").body["todo"]["id"] == theirs


def test_an_empty_or_refused_answer_is_never_remembered(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    assert agent("claim_next", key="once").body == {"empty": True}
    held = make.todo(endpoint, state="claimed")
    assert agent("claim", key="twice", id=held).refusal[:2] == CONFLICT
    todo = make.todo(endpoint)

    assert agent("claim_next", key="once").body["todo"]["id"] == todo
    make.run("update todos set state = 'pending', owner = null, lease_expires_at = null "
             "where id = %s", str(held))
    make.run("delete from todo_attempts where todo_id = %s", str(held))
    assert agent("claim", key="twice", id=held).status == 200


def test_two_calls_with_one_key_at_once_make_one_claim(
    app: Flask, make: Make, endpoint: Endpoint
) -> None:
    for _ in range(8):
        make.todo(endpoint)
    agents = [agent_of(app, make, endpoint) for _ in range(8)]

    answers = together([lambda a=a: a("claim_next", key="once", require_fence=True)
                        for a in agents])

    assert [answer.status for answer in answers] == [200] * 8
    assert len({answer.body["todo"]["id"] for answer in answers}) == 1
    assert len({answer.body["lease_token"] for answer in answers}) == 1
    assert make.value("select count(*) from todo_attempts") == 1


def test_after_a_release_the_same_key_claims_anew(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint)
    first = agent("claim_next", key="once", require_fence=True).body
    agent("release", id=todo, lease_token=first["lease_token"])

    second = agent("claim_next", key="once", require_fence=True).body

    assert second["todo"]["id"] == todo
    assert (second["attempt_seq"], second["attempts_total"]) == (2, 2)
    assert second["lease_token"] != first["lease_token"]


def test_an_answer_that_never_arrived_is_found_again(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint)
    agent("claim_next", key="lost")  # the response is thrown away
    make.todo(endpoint)

    found = agent("claim_next", key="lost").body

    assert found["todo"]["id"] == todo
    assert found["todo"]["attempt"] == 1
