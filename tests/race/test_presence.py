"""Presence over two servers with real streams: silence while out, one digest on coming in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from app.domain.callers import Endpoint, Human
from tests.support.clock import Clock
from tests.support.ears import Ears, listening
from tests.support.servers import Fleet, agent, operator
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]
HOUR = timedelta(hours=1)


@pytest.fixture
def clock(pair: Fleet) -> Iterator[Clock]:
    """The clock of the pair's database, real again afterwards."""
    yield pair.clock
    pair.clock.real()


@pytest.fixture
def ada(pair: Fleet) -> Human:
    return pair.make.human("Ada")


@pytest.fixture
def lane(pair: Fleet, ada: Human) -> Endpoint:
    return pair.make.endpoint(ada)


class Canaries:
    """One more endpoint at each server; what was written before their bells was heard before."""

    def __init__(self, pair: Fleet, ada: Human, stack: ExitStack) -> None:
        self._pair = pair
        self._token = pair.make.operator_token(ada)
        self._lanes = [pair.make.endpoint(ada) for _ in pair]
        self._ears = [
            stack.enter_context(listening(server.url, pair.make.credential(lane)))
            for server, lane in zip(pair, self._lanes, strict=True)
        ]

    def sing(self) -> None:
        """Returns once both servers have delivered a bell that is newer than this call."""
        for lane, ears in zip(self._lanes, self._ears, strict=True):
            _wait_for_bell(ears, push(self._pair, lane, self._token))


@pytest.fixture
def canaries(pair: Fleet, ada: Human) -> Iterator[Canaries]:
    with ExitStack() as stack:
        yield Canaries(pair, ada, stack)


@pytest.fixture
def ears(pair: Fleet, lane: Endpoint) -> Iterator[list[Ears]]:
    """A stream of the lane at each server."""
    with ExitStack() as stack:
        credential = pair.make.credential(lane)
        yield [stack.enter_context(listening(server.url, credential)) for server in pair]


def push(pair: Fleet, lane: Endpoint, token: str) -> str:
    answer = operator(pair[0].url, token).post(f"/endpoints/{lane.slug}/todos", {"title": "t"})
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


def _wait_for_bell(ears: Ears, todo: str) -> None:
    wait_for(lambda: todo in ears.todo_ids, 20, what="a bell of somebody who is in")


def heard(ears: list[Ears]) -> list[dict[str, str]]:
    return [bell.meta for each in ears for bell in each.bells]


def stamped(pair: Fleet, lane: Endpoint) -> list[object]:
    found = pair.make.rows("select queue_id from digest_stamps where endpoint_id = %s", lane.id)
    return [queue_id for (queue_id,) in found]


def digest(pending: int, reason: str) -> dict[str, str]:
    return {"kind": "digest", "pending": str(pending), "queues": "inbox", "reason": reason}


@pytest.mark.req("REQ-8", "Reopening while clocked out")
def test_reopening_while_out_is_silent_and_clocking_in_sends_one_digest(
    pair: Fleet, clock: Clock, ada: Human, lane: Endpoint, ears: list[Ears], canaries: Canaries
) -> None:
    queue, token = pair.make.queue_id(lane), pair.make.operator_token(ada)
    credential = pair.make.credential(lane)
    ends_at = (pair.make.now() + HOUR / 2).replace(second=0, microsecond=0)
    pair.make.policy(queue, max_claims_per_window=1, period="hour", start=f"00:{ends_at:%M}")
    pair.make.todo(lane)
    assert agent(pair[0].url, credential).call("claim_next").json["empty"] is False
    assert agent(pair[0].url, credential).call("clock_out").json["presence"] == "out"
    for _ in range(3):
        push(pair, lane, token)
    marks = "select count(*) from admission_reopen where queue_id = %s"
    assert pair.make.value(marks, int(queue)) == 1

    clock.set(ends_at)
    wait_for(lambda: pair.make.value(marks, int(queue)) == 0, what="the mark removed")
    canaries.sing()
    assert heard(ears) == []

    agent(pair[1].url, credential).call("clock_in")
    wait_for(lambda: stamped(pair, lane), what="the digest's stamp")
    canaries.sing()
    assert heard(ears) == [digest(3, "clock_in")]
    assert stamped(pair, lane) == [int(queue)]
    assert pair.make.value("select sum(ring_attempts) from todos where queue_id = %s",
                           int(queue)) == 0  # fmt: skip


def test_the_start_of_a_shift_sends_one_digest_over_two_servers(
    pair: Fleet, clock: Clock, ada: Human, lane: Endpoint, ears: list[Ears], canaries: Canaries
) -> None:
    token = pair.make.operator_token(ada)
    starts_at = (pair.make.now() + HOUR / 2).replace(second=0, microsecond=0)
    shift = f"{starts_at:%H:%M}-{starts_at + HOUR:%H:%M}"
    set_ = operator(pair[0].url, token).request(
        "PUT", f"/endpoints/{lane.slug}/shift", {"shift": shift})  # fmt: skip
    assert (set_.status, set_.json["presence"]) == (200, "out")
    push(pair, lane, token)
    canaries.sing()
    assert heard(ears) == []

    clock.set(starts_at)
    moved = time.monotonic()
    wait_for(lambda: heard(ears), what="the digest")
    assert next(bell.at for each in ears for bell in each.bells) - moved < 5
    wait_for(lambda: stamped(pair, lane), what="the digest's stamp")
    canaries.sing()
    assert heard(ears) == [digest(1, "shift_start")]

    clock.set(starts_at + HOUR)
    seen = "select presence_seen from endpoints where id = %s"
    wait_for(lambda: pair.make.value(seen, lane.id) == "out", what="the end of the shift")


def test_presence_and_revocation_of_one_server_reach_the_streams_of_the_other(
    pair: Fleet, ada: Human, lane: Endpoint, canaries: Canaries
) -> None:
    token, path = pair.make.operator_token(ada), f"/endpoints/{lane.slug}"
    here = operator(pair[0].url, token)
    with listening(pair[1].url, pair.make.credential(lane)) as ears:
        here.request("PUT", f"{path}/presence", {"presence": "out"})
        push(pair, lane, token)
        canaries.sing()
        assert ears.bells == []

        came_in = time.monotonic()
        here.delete(f"{path}/presence")
        wait_for(lambda: ears.bells, 20, what="the digest")
        assert ears.bells[0].at - came_in < 5
        assert ears.bells[0].meta == digest(1, "operator")
        _wait_for_bell(ears, push(pair, lane, token))

        assert here.post(f"{path}/revoke").status == 200
        assert ears.has_ended.wait(5)
