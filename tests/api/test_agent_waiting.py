"""Long polls over the agent door: one todo wakes one waiter, and nobody asks in between (R58)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from flask import Flask

from app.db.database import Database
from app.domain.callers import Endpoint
from app.edge.deps import EdgeState
from app.transactions import claiming
from tests.api.asking import Answer, agent_of
from tests.support.make import Make
from tests.support.wait import wait_for

WAITERS = 20


@pytest.fixture
def endpoint(make: Make) -> Endpoint:
    return make.endpoint()


@pytest.fixture
def picks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When each look for a todo happened, in any thread."""
    looks: list[float] = []
    real = claiming.claim_next

    def counted(*args: object, **kwargs: object) -> object:
        looks.append(time.monotonic())
        return real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(claiming, "claim_next", counted)
    return looks


@contextmanager
def waiting(
    app: Flask, make: Make, endpoint: Endpoint, many: int
) -> Iterator[list[Future[Answer]]]:
    """That many calls of claim_next that wait; entered once every one of them does."""
    shared = app.extensions["switchboard"]
    assert isinstance(shared, EdgeState)
    with ThreadPoolExecutor(many) as pool:
        agents = [agent_of(app, make, endpoint) for _ in range(many)]
        futures = [pool.submit(agent, "claim_next", wait_seconds=30) for agent in agents]
        try:
            wait_for(lambda: shared.waiting.taken == many, 15, what="all of them wait")
            yield futures
        finally:
            shared.waiting.close()


def done(futures: list[Future[Answer]]) -> int:
    return sum(future.done() for future in futures)


def test_twenty_waiters_and_one_todo_make_one_claim(
    app: Flask, db: Database, make: Make, endpoint: Endpoint, picks: list[float]
) -> None:
    with waiting(app, make, endpoint, WAITERS) as futures:
        wait_for(lambda: len(picks) >= 2 * WAITERS, 15, what="each has looked twice")
        looked = len(picks)
        todo = make.todo(endpoint)
        db.feed.ready(make.queue_id(endpoint))
        wait_for(lambda: done(futures) == 1, 10, what="one claimed it")

        assert make.value("select count(*) from todo_attempts") == 1
        assert len(picks) - looked <= 4, "a herd woke for one todo"

    answers = [future.result() for future in futures]
    assert sorted(answer.body["empty"] for answer in answers) == [False] + [True] * (WAITERS - 1)
    assert {answer.status for answer in answers} == {200}
    assert [a.body["todo"]["id"] for a in answers if not a.body["empty"]] == [todo]


def test_as_many_todos_as_waiters_serve_every_one(
    app: Flask, db: Database, make: Make, endpoint: Endpoint
) -> None:
    with waiting(app, make, endpoint, WAITERS) as futures:
        todos = {make.todo(endpoint).id for _ in range(WAITERS)}
        db.feed.ready(make.queue_id(endpoint))
        wait_for(lambda: done(futures) == WAITERS, 15, what="every waiter has one")

    assert {future.result().body["todo"]["id"] for future in futures} == todos


def test_no_one_asks_the_database_between_wake_ups(
    app: Flask, make: Make, endpoint: Endpoint, picks: list[float]
) -> None:
    agent_of(app, make, endpoint)("claim_next", wait_seconds=3)

    first, watching, deadline = picks
    assert watching - first < 1.0
    assert deadline - watching > 2.0


def test_a_wait_ends_at_its_deadline_with_the_usual_answer(
    app: Flask, make: Make, endpoint: Endpoint
) -> None:
    started = time.monotonic()

    body = agent_of(app, make, endpoint)("claim_next", wait_seconds=1).body

    assert body == {"empty": True}
    assert 0.9 < time.monotonic() - started < 10


def test_a_todo_that_is_there_is_claimed_without_waiting(
    app: Flask, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint)
    started = time.monotonic()

    assert agent_of(app, make, endpoint)("claim_next", wait_seconds=30).body["todo"]["id"] == todo
    assert time.monotonic() - started < 10


def test_a_waiting_call_over_the_endpoints_32_counts_as_zero(
    app: Flask, make: Make, endpoint: Endpoint
) -> None:
    with waiting(app, make, endpoint, 32) as futures:
        started = time.monotonic()
        extra = agent_of(app, make, endpoint)("claim_next", wait_seconds=30)

        assert (extra.status, extra.body) == (200, {"empty": True})
        assert time.monotonic() - started < 10
        assert done(futures) == 0


def test_a_key_and_a_wait_go_together(
    app: Flask, db: Database, make: Make, endpoint: Endpoint
) -> None:
    agent = agent_of(app, make, endpoint)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(agent, "claim_next", key="once", wait_seconds=20)
        shared = app.extensions["switchboard"]
        wait_for(lambda: shared.waiting.taken == 1, 15, what="it waits")
        todo = make.todo(endpoint)
        db.feed.ready(make.queue_id(endpoint))

        assert call.result(timeout=15).body["todo"]["id"] == todo
    assert agent("claim_next", key="once", wait_seconds=20).body["todo"]["id"] == todo
