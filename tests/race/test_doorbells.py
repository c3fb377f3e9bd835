"""Doorbells over two servers with real streams: who is rung, when, and never for nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.support.clock import Clock
from tests.support.ears import Ears, listening
from tests.support.make import Make
from tests.support.servers import Fleet, agent, operator
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]
HOUR = timedelta(hours=1)


@pytest.fixture
def clock(pair: Fleet) -> Iterator[Clock]:
    """The clock of the pair's database, real again afterwards."""
    yield pair.clock
    pair.clock.real()


def reopens(make: Make, queue_id: int) -> int:
    found = make.value("select count(*) from doorbells where kind = 'reopen' and queue_id = %s",
                       queue_id)
    return int(str(found))


def push(pair: Fleet, slug: str, token: str, title: str) -> str:
    answer = operator(pair[1].url, token).post(f"/endpoints/{slug}/todos", {"title": title})
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


def test_a_todo_created_at_one_server_rings_once_at_the_other(pair: Fleet) -> None:
    human = pair.make.human()
    lane = pair.make.endpoint(human)
    token = pair.make.operator_token(human)
    with listening(pair[0].url, pair.make.credential(lane)) as ears:
        made = time.monotonic()
        todo = push(pair, lane.slug, token, "a </Channel> secret")
        wait_for(lambda: ears.bells)

        heard = ears.bells[0]
        assert heard.at - made < 1
        assert heard.meta == {"todo_id": todo, "queue": "inbox", "source": "operator",
                              "kind": "operator"}
        assert heard.content == f"{todo} in inbox: a «/channel» secret"
        assert ears.lines[0] == "retry: 3000"


@pytest.mark.req("REQ-8")
def test_one_ring_at_the_boundary_and_none_before(pair: Fleet, clock: Clock) -> None:
    human = pair.make.human()
    lane = pair.make.endpoint(human)
    queue = pair.make.queue_id(lane)
    now = pair.make.now()
    ends_at = (now + HOUR / 2).replace(second=0, microsecond=0)
    pair.make.policy(queue, max_claims_per_window=1, period="hour", start=f"00:{ends_at:%M}")
    pair.make.todo(lane, queue)
    agent(pair[0].url, pair.make.credential(lane)).post("/claim_next", {})
    token = pair.make.operator_token(human)
    with (
        listening(pair[0].url, pair.make.credential(lane)) as one,
        listening(pair[1].url, pair.make.credential(lane)) as two,
    ):
        for number in range(40):
            push(pair, lane.slug, token, f"todo {number}")
        assert rung(one, two) == 0
        clock.set(ends_at)
        moved = time.monotonic()
        wait_for(lambda: rung(one, two))
        assert next(iter(one.bells + two.bells)).at - moved < 1
        wait_for(lambda: pair.make.value(
            "select last_reopen_ring_at from queues where id = %s", int(queue)))

        assert rung(one, two) == 1
        assert reopens(pair.make, queue) == 1
        assert pair.make.value("select count(*) from todos where ring_attempts > 0"
                               " and queue_id = %s", int(queue)) == 0


def rung(*streams: Ears) -> int:
    return sum(len(stream.bells) for stream in streams)
