"""Notify hooks over two servers and a real HTTPS receiver: who is called, when, and how often."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from app.domain.callers import Endpoint
from app.domain.verbs import BASICS, NOTIFY
from tests.support.clock import Clock
from tests.support.ears import listening
from tests.support.make import QueueId
from tests.support.receiver import Received, Receiver
from tests.support.servers import Fleet, HttpCaller, agent, operator
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]
CANARIES = 6  # per server, so that each of its processes has very likely sung
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Lane:
    """An endpoint with one hook at a path of its own, and callers of each server."""

    fleet: Fleet
    receiver: Receiver
    endpoint: Endpoint
    queue: QueueId
    token: str
    path: str
    hook_id: str
    secret: str

    @property
    def calls(self) -> list[Received]:
        """What the hook was told so far; each is checked with the stock library."""
        found = self.receiver.of(self.path)
        for call in found:
            call.verified(self.secret)
        return found

    @property
    def reasons(self) -> list[tuple[object, object, object]]:
        """Type, reason and todo of each call."""
        return [(call.json["type"], call.json["reason"], call.json.get("todo_id"))
                for call in self.calls]

    def agent(self, server: int = 0) -> HttpCaller:
        """Its agent, at one server."""
        return agent(self.fleet[server].url, self.fleet.make.credential(self.endpoint))

    def push(self, server: int = 0, title: str = "a todo") -> str:
        """A todo of its owner, which may ring."""
        asked = operator(self.fleet[server].url, self.token)
        answer = asked.post(f"/endpoints/{self.endpoint.slug}/todos", {"title": title})
        assert answer.status == 201, answer.body
        return str(answer.json["id"])

    def row(self) -> dict[str, object]:
        """The hook as it is listed."""
        listed = self.agent(1).call("list_notify_hooks").json["hooks"]
        assert isinstance(listed, list)
        return next(row for row in listed if row["hook_id"] == self.hook_id)


def lane(pair: Fleet, receiver: Receiver, **hook: object) -> Lane:
    """An endpoint that registered a hook over the wire."""
    human = pair.make.human()
    endpoint = pair.make.endpoint(human, queues=("inbox", "other"), verbs=(*BASICS, *NOTIFY))
    path = f"/hook-{next(_numbers)}"
    made = agent(pair[0].url, pair.make.credential(endpoint)).call(
        "create_notify_hook", url=receiver.url(path), **hook)
    assert made.status == 200, made.body
    return Lane(pair, receiver, endpoint, pair.make.queue_id(endpoint),
                pair.make.operator_token(human), path, str(made.json["hook_id"]),
                str(made.json["signing_secret"]))


@pytest.fixture
def one(pair: Fleet, receiver: Receiver) -> Lane:
    """A lane with a hook that hears of every queue."""
    return lane(pair, receiver)


@pytest.fixture(scope="module")
def canary(pair: Fleet, receiver: Receiver) -> Lane:
    """A lane that nothing holds back: when it was called, whatever was to come has come."""
    return lane(pair, receiver)


@pytest.fixture
def clock(pair: Fleet) -> Iterator[Clock]:
    """The clock of the pair's database, real again afterwards."""
    yield pair.clock
    pair.clock.real()


def sing(canary: Lane) -> None:
    """Have every process call a hook."""
    before = len(canary.receiver.of(canary.path))
    for number in range(2 * CANARIES):
        canary.push(number % 2)
    wait_for(lambda: len(canary.receiver.of(canary.path)) == before + 2 * CANARIES)
    canary.fleet.make.run("update notify_hooks set rate_tokens = 120 where id = %s",
                          uuid.UUID(canary.hook_id))


def test_a_todo_is_one_signed_call_whichever_server_made_it(one: Lane) -> None:
    todos = [one.push(server, f"todo {number}") for number in range(3) for server in (0, 1)]
    wait_for(lambda: len(one.calls) == 6)

    assert sorted(str(call.json["todo_id"]) for call in one.calls) == sorted(todos)
    assert {call.headers["user-agent"] for call in one.calls} == {"switchboard/0.1.0"}
    assert len({call.headers["webhook-id"] for call in one.calls}) == 6
    assert one.row()["last_status"] == 204


@pytest.mark.req("REQ-8", "No wake-up for work that cannot be claimed")
def test_nothing_is_called_and_nothing_rings_while_a_queue_is_deferred(
    pair: Fleet, one: Lane, canary: Lane
) -> None:
    pair.make.policy(one.queue, max_claims_per_window=1)
    pair.make.todo(one.endpoint, one.queue)
    assert one.agent().call("claim_next").json["empty"] is False
    with listening(pair[0].url, pair.make.credential(one.endpoint)) as ears:
        for number in range(20):
            one.push(number % 2)
        sing(canary)

        assert (ears.bells, one.calls) == ([], [])
    assert one.row()["last_attempt_at"] is None


@pytest.mark.req("REQ-8", "One ring at midnight")
def test_40_pending_at_a_boundary_are_one_bell_and_one_call(
    pair: Fleet, receiver: Receiver, clock: Clock, one: Lane, canary: Lane
) -> None:
    # Near enough for the stock library, which looks at the wall clock, and not by itself in time.
    ends_at = (pair.make.now() + timedelta(minutes=3)).replace(second=0, microsecond=0)
    pair.make.policy(one.queue, max_claims_per_window=1, period="hour", start=f"00:{ends_at:%M}")
    pair.make.todo(one.endpoint, one.queue)
    claimed = one.agent().call("claim_next").json["todo"]
    assert isinstance(claimed, dict)
    assert one.agent().call("complete", id=claimed["id"]).status == 200
    elsewhere = one.agent().call(
        "create_notify_hook", url=receiver.url(f"{one.path}-other"), queues=["other"])
    assert elsewhere.status == 200
    with listening(pair[1].url, pair.make.credential(one.endpoint)) as ears:
        todos = [one.push(number % 2, f"todo {number}") for number in range(40)]
        sing(canary)
        assert (ears.bells, one.calls) == ([], [])

        clock.set(ends_at)
        wait_for(lambda: one.calls and ears.bells)
        sing(canary)

        assert one.reasons == [("todo.ready", "requeued", todos[0])]
        assert ears.todo_ids == [todos[0]]
    assert receiver.of(f"{one.path}-other") == []


@pytest.mark.rule("R46")
def test_an_ignore_presence_hook_on_a_paused_queue_stays_silent(
    pair: Fleet, receiver: Receiver, canary: Lane
) -> None:
    eager = lane(pair, receiver, ignore_presence=True)
    assert eager.agent().call("clock_out").status == 200
    heard = eager.push()
    wait_for(lambda: eager.calls)
    pair.make.policy(eager.queue, max_in_flight=0)

    for server in (0, 1):
        eager.push(server)
    sing(canary)

    assert eager.reasons == [("todo.ready", "created", heard)]


@pytest.mark.req("REQ-8")
def test_work_that_came_while_clocked_out_is_one_backlog_at_clock_in(
    one: Lane, canary: Lane
) -> None:
    assert one.agent(1).call("clock_out").status == 200
    for server in (0, 1):
        one.push(server)
    sing(canary)
    assert one.calls == []

    assert one.agent(0).call("clock_in").status == 200
    wait_for(lambda: one.calls)
    sing(canary)

    assert one.reasons == [("todos.backlog", "clock_in", None)]
    assert (one.calls[0].json["pending"], one.calls[0].json["queues"]) == (2, ["inbox"])


def test_a_retry_that_is_due_is_told_by_the_jobs_process(
    pair: Fleet, one: Lane, canary: Lane
) -> None:
    todo = str(pair.make.todo(one.endpoint, one.queue, state="failed", rings=True,
                              next_retry_at=pair.make.now()))
    pair.make.run("notify queue_changed, '{}'")
    wait_for(lambda: one.calls)
    sing(canary)

    assert one.reasons == [("todo.ready", "requeued", todo)]
    assert one.calls[0].json["attempt"] == 1


def test_a_passing_fault_is_repeated_after_about_a_second(one: Lane) -> None:
    one.receiver.answer(one.path, 503)

    one.push()
    wait_for(lambda: len(one.calls) == 2)

    first, second = one.calls
    assert (first.body, first.headers["webhook-id"]) == (
        second.body, second.headers["webhook-id"])
    assert 0.7 < second.at - first.at < 4
    assert int(second.headers["webhook-timestamp"]) >= int(first.headers["webhook-timestamp"])
    wait_for(lambda: one.row()["last_status"] == 204)
    assert one.row()["consecutive_failures"] == 0


def test_ten_redirects_in_a_row_disable_the_hook_and_a_rotation_enables_it(
    one: Lane, canary: Lane
) -> None:
    one.receiver.always(one.path, 302)
    for number in range(10):
        one.push(number % 2)
        wait_for(lambda reached=number + 1: one.row()["consecutive_failures"] == reached)
    for number in range(4):
        one.push(number % 2)
    sing(canary)

    row = one.row()
    assert (row["enabled"], row["disabled_reason"], row["last_error"]) == (
        False, "consecutive_failures", "redirect")
    assert len(one.calls) == 10
    assert one.receiver.of("/elsewhere") == []

    one.receiver.always(one.path, 204)
    rotated = one.agent(1).call("rotate_notify_hook", hook_id=one.hook_id).json
    assert rotated["enabled"] is True
    last = one.push()
    wait_for(lambda: len(one.calls) == 11)  # the old secret verifies, too
    assert one.calls[-1].verified(str(rotated["signing_secret"]))["todo_id"] == last
