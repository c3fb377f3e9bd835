"""The courier with a real receiver: signed, repeated, given up, bounded, and gone within 2 s."""

from __future__ import annotations

import dataclasses
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from standardwebhooks import WebhookVerificationError

from app.db.database import Database
from app.db.outbox import Backlog, QueueBacklog, Ready
from app.domain.addresses import AddressRules, parse_networks
from app.domain.callers import Endpoint
from app.domain.hooks import Failure, HookRules, Verdict
from app.domain.verbs import BASICS, NOTIFY
from app.outbound import courier as couriers
from app.outbound.courier import Courier
from app.outbound.deliveries import Deliveries, Delivery
from app.outbound.dialing import Dialer
from app.transactions import hook_calls, hooks, ringing
from app.transactions.hook_calls import Owed
from app.transactions.hooks import MintedHook
from app.version import VERSION
from tests.support.make import Make
from tests.support.receiver import Receiver, receiving
from tests.support.wait import wait_for

RULES = HookRules(addresses=AddressRules(allowed=parse_networks(["127.0.0.0/8", "::1"])))
VERBS = (*BASICS, *NOTIFY)
NOTIFICATIONS = "switchboard_notify_hook_notifications_total"
ATTEMPTS = "switchboard_notify_hook_attempts_total"


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver that this process trusts."""
    with receiving(tmp_path) as made:
        monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
        yield made


@pytest.fixture
def lane(make: Make) -> Endpoint:
    """An endpoint that may have hooks."""
    return make.endpoint(verbs=VERBS)


@pytest.fixture
def told(db: Database, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database whose verbs tell a courier that repeats a hundred times as fast."""
    monkeypatch.setattr(couriers, "RETRY_AFTER", (0.01, 0.05))
    courier = Courier(Dialer(RULES), version=VERSION)
    database = dataclasses.replace(db, hooks=courier)
    courier.start(database)
    yield database
    courier.stop()


def create(db: Database, lane: Endpoint, url: str, **more: bool) -> MintedHook:
    return hooks.create(db, lane, url, rules=RULES, **more)


def push(db: Database, make: Make, lane: Endpoint, title: str = "issue 41") -> str:
    """A todo is created, and whoever is to know is told."""
    todo = make.todo(lane, rings=True, title=title)
    ringing.created(db, [todo.id])
    return todo.id


def count(db: Database, outcome: str, about: str = "todo.ready") -> int:
    return db.counters.value(NOTIFICATIONS, type=about, outcome=outcome)


def test_a_created_todo_is_one_signed_call(
    told: Database, make: Make, lane: Endpoint, receiver: Receiver
) -> None:
    made = create(told, lane, receiver.url("/wake?k=1"))

    todo = push(told, make, lane)
    wait_for(lambda: count(told, "delivered"))

    call, = receiver.calls
    assert call.path == "/wake?k=1"
    assert call.verified(made.signing_secret)["todo_id"] == todo
    with pytest.raises(WebhookVerificationError):
        call.verified("whsec_" + "A" * 43 + "=")
    assert call.headers["content-type"] == "application/json"
    assert call.headers["user-agent"] == f"switchboard/{VERSION}"
    assert call.headers["webhook-id"].startswith("msg_")
    assert abs(int(call.headers["webhook-timestamp"]) - time.time()) < 60
    assert told.counters.value(ATTEMPTS, result="2xx") == 1
    assert make.rows("select last_status, last_error from notify_hooks") == [(204, None)]


def test_for_a_day_after_a_rotation_both_secrets_verify(
    told: Database, make: Make, lane: Endpoint, receiver: Receiver
) -> None:
    made = create(told, lane, receiver.url())
    rotated = hooks.rotate(told, lane, str(made.id))

    push(told, make, lane)
    wait_for(lambda: count(told, "delivered"))

    call, = receiver.calls
    assert len(call.headers["webhook-signature"].split(" ")) == 2
    assert call.verified(made.signing_secret) == call.verified(rotated.signing_secret)


@pytest.mark.parametrize("statuses", [(503, 429), (408,), (500, 500)])
def test_a_passing_fault_is_repeated_with_the_same_id_and_body(
    told: Database, make: Make, lane: Endpoint, receiver: Receiver, statuses: tuple[int, ...]
) -> None:
    made = create(told, lane, receiver.url())
    receiver.answer("/wake", *statuses)

    push(told, make, lane)
    wait_for(lambda: count(told, "delivered"))

    assert len(receiver.calls) == len(statuses) + 1
    assert len({(call.headers["webhook-id"], call.body) for call in receiver.calls}) == 1
    for call in receiver.calls:
        call.verified(made.signing_secret)
    assert make.value("select consecutive_failures from notify_hooks") == 0


@pytest.mark.parametrize(("status", "attempts", "error"), [
    (500, 3, "http_status"), (429, 3, "http_status"), (400, 1, "http_status"),
    (404, 1, "http_status"), (410, 1, "http_status"), (302, 1, "redirect"), (308, 1, "redirect"),
])
def test_a_lasting_fault_is_one_failed_delivery(
    told: Database, make: Make, lane: Endpoint, receiver: Receiver, status: int, attempts: int,
    error: str,
) -> None:
    create(told, lane, receiver.url())
    receiver.always("/wake", status)

    push(told, make, lane)
    wait_for(lambda: count(told, "failed"))
    wait_for(lambda: make.value("select consecutive_failures from notify_hooks") == 1)

    assert [call.path for call in receiver.calls] == ["/wake"] * attempts
    assert make.rows("select last_status, last_error from notify_hooks") == [(status, error)]
    assert told.counters.value(ATTEMPTS, result=f"{status // 100}xx") == attempts


def test_ten_failures_switch_it_off_and_a_rotation_on_again(
    told: Database, make: Make, lane: Endpoint, receiver: Receiver
) -> None:
    made = create(told, lane, receiver.url())
    receiver.always("/wake", 404)
    for number in range(10):
        push(told, make, lane)
        wait_for(lambda reached=number + 1: count(told, "failed") == reached)
    wait_for(lambda: make.value("select disabled_reason from notify_hooks")
             == "consecutive_failures")

    receiver.always("/wake", 204)
    hooks.rotate(told, lane, str(made.id))
    last = push(told, make, lane)
    wait_for(lambda: count(told, "delivered"))

    assert len(receiver.calls) == 11
    assert receiver.calls[-1].json["todo_id"] == last


def test_a_name_that_turned_inside_is_refused_at_delivery(
    told: Database, db: Database, make: Make, lane: Endpoint, receiver: Receiver
) -> None:
    create(told, lane, receiver.url())
    make.run("update notify_hooks set url = 'https://10.0.0.1/'")

    push(told, make, lane)
    wait_for(lambda: count(told, "failed"))
    wait_for(lambda: make.value("select last_error from notify_hooks") == "rejected_ssrf")

    assert told.counters.value(ATTEMPTS, result="rejected_ssrf") == 1
    assert make.value("select consecutive_failures from notify_hooks") == 1


def test_a_todo_that_is_taken_between_two_attempts_is_not_told_again(
    told: Database, make: Make, lane: Endpoint, receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(couriers, "RETRY_AFTER", (0.5, 0.5))
    create(told, lane, receiver.url())
    receiver.always("/wake", 503)

    push(told, make, lane)
    wait_for(lambda: make.value("select last_status from notify_hooks"))
    make.run("update todos set state = 'done', completed_at = clock()")
    wait_for(lambda: count(told, "failed"))

    assert len(receiver.calls) == 1
    wait_for(lambda: make.value("select consecutive_failures from notify_hooks") == 1)


def test_a_backlog_is_told(
    told: Database, make: Make, lane: Endpoint, receiver: Receiver
) -> None:
    made = create(told, lane, receiver.url())
    waiting = QueueBacklog(queue_id=int(make.queue_id(lane)), queue="inbox", pending=3,
                           oldest_pending_seconds=60)

    told.hooks.offer(Backlog(endpoint_id=lane.id, reason="clock_in", waiting=(waiting,)))
    wait_for(lambda: count(told, "delivered", "todos.backlog"))

    body = receiver.calls[0].verified(made.signing_secret)
    assert body.pop("created_at")
    assert body == {"type": "todos.backlog", "reason": "clock_in", "endpoint": lane.slug,
                    "pending": 3, "queues": ["inbox"], "oldest_pending_seconds": 60}


def test_every_hook_is_told_once_of_each_of_many(
    told: Database, make: Make, lane: Endpoint, receiver: Receiver
) -> None:
    for number in range(3):
        create(told, lane, receiver.url(f"/{number}"))

    todos = [push(told, make, lane) for _ in range(20)]
    wait_for(lambda: count(told, "delivered") == 60)

    for number in range(3):
        assert sorted(str(c.json["todo_id"]) for c in receiver.of(f"/{number}")) == sorted(todos)
    assert len({call.headers["webhook-id"] for call in receiver.calls}) == 60


# --- bounds --------------------------------------------------------------------------------------


class Stuck(Dialer):
    """A dialer whose attempts last until they are let go."""

    def __init__(self) -> None:
        super().__init__(RULES)
        self.let_go = threading.Event()
        self.begun = threading.Semaphore(0)

    def post(self, url: str, headers: object, body: bytes) -> Verdict:
        self.begun.release()
        self.let_go.wait(30)
        return Verdict(failure=Failure.TIMEOUT)


def test_what_does_not_fit_is_dropped_and_counted_and_nobody_waits(
    db: Database, make: Make, lane: Endpoint, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(couriers, "MOST_WAITING", 16)
    create(db, lane, receiver.url())
    stuck = Stuck()
    courier = Courier(stuck, version=VERSION)
    courier.start(db)
    todo = make.todo(lane, rings=True)
    notice = Ready(todo_id=todo.id, queue_id=todo.queue_id, why="created")
    for _ in range(couriers.WORKERS):
        courier.offer(notice)
        assert stuck.begun.acquire(timeout=10)

    began = time.monotonic()
    for _ in range(200):
        courier.offer(notice)
    assert time.monotonic() - began < 1
    wait_for(lambda: count(db, "dropped") >= 200 - 16 - 16)

    began = time.monotonic()
    courier.stop()
    assert time.monotonic() - began < 2.5
    stuck.let_go.set()
    assert not receiver.calls


def test_a_stop_makes_the_calls_that_are_due(
    db: Database, make: Make, lane: Endpoint, receiver: Receiver
) -> None:
    create(db, lane, receiver.url())
    courier = Courier(Dialer(RULES), version=VERSION)
    courier.start(db)
    todo = make.todo(lane, rings=True)

    for _ in range(20):
        courier.offer(Ready(todo_id=todo.id, queue_id=todo.queue_id, why="created"))
    courier.stop()

    assert len(receiver.calls) == 20


def test_a_mistake_with_one_call_silences_no_other(
    told: Database, make: Make, lane: Endpoint, receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:
    create(told, lane, receiver.url())
    real = hook_calls.prepare
    faults = iter([ZeroDivisionError()] * couriers.WORKERS)

    def careless(*given: object) -> object:
        if (fault := next(faults, None)) is not None:
            raise fault
        return real(*given)

    monkeypatch.setattr(hook_calls, "prepare", careless)
    for _ in range(couriers.WORKERS + 1):
        push(told, make, lane)
    wait_for(lambda: count(told, "delivered"))

    assert len(receiver.calls) == 1
    assert "notify_hook_not_called" in caplog.text


# --- the queue of deliveries ---------------------------------------------------------------------


def delivery(**more: int) -> Delivery:
    notice = Ready(todo_id="td_1", queue_id=random.randrange(9), why="created")
    owed = Owed(hook_id=hooks.minting.new_id(), notice=notice)
    return Delivery(owed=owed, **more)


def test_the_earliest_is_taken_first_and_a_repeated_one_always_has_room() -> None:
    waiting = Deliveries(2)
    late, first, again = delivery(), delivery(), delivery(attempts=1)

    assert waiting.put(late, after=0.05)
    assert waiting.put(first)
    assert not waiting.put(delivery())
    assert waiting.put(again, after=0.02)
    assert [waiting.take() for _ in range(3)] == [first, again, late]


def test_closing_ends_every_wait() -> None:
    waiting = Deliveries(2)
    taken: list[Delivery | None] = []
    threads = [threading.Thread(target=lambda: taken.append(waiting.take())) for _ in range(3)]
    for thread in threads:
        thread.start()

    assert waiting.close() == 0
    for thread in threads:
        thread.join(5)

    assert taken == [None] * 3
    assert not waiting.put(delivery())
