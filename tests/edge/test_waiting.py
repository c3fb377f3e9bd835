"""The long poll of claim_next over real claims, and the budget of waiting threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from app.db.database import Database
from app.db.listener import Listener
from app.domain.callers import Endpoint
from app.edge.waiting import WaitingBudget, wait_for_claim
from app.transactions import claiming, settling
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from app.transactions.settling import Settlement
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.wait import wait_for

REFUSALS = "switchboard_admission_refusals_total"


@dataclass
class Bench:
    """Waiters of one endpoint, each in a thread, and how often they asked the database."""

    db: Database
    listener: Listener
    endpoint: Endpoint
    waiting: WaitingBudget = field(default_factory=WaitingBudget)
    counting: threading.Lock = field(default_factory=threading.Lock)
    picks: int = 0
    gone: bool = False
    answers: list[Claimed | NothingClaimed] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def call(self, wait_seconds: int) -> Claimed | NothingClaimed:
        request = ClaimRequest()

        def pick() -> Claimed | NothingClaimed:
            with self.counting:
                self.picks += 1
            return claiming.claim_next(
                self.db, self.endpoint, None, request, gone=lambda: self.gone
            )

        return wait_for_claim(
            self, self.endpoint, wait_seconds, pick,
            lambda: claiming.watched_queues(self.db, self.endpoint, None),
            gone=lambda: self.gone,
        )

    def start(self, waiters: int, wait_seconds: int = 30) -> None:
        """Starts waiters and returns when all of them wait, holding no connection."""
        for _ in range(waiters):
            call = threading.Thread(
                target=lambda: self.answers.append(self.call(wait_seconds)), daemon=True
            )
            self.threads.append(call)
            call.start()
        wait_for(lambda: self.sleeping() == waiters, what=f"{waiters} waiters sleep")

    def sleeping(self) -> int:
        groups = list(self.listener._watches._groups.values())
        return sum(watch.is_waiting for group in groups for watch in list(group))

    def claimed(self) -> list[str]:
        return [answer.todo.id for answer in self.answers if isinstance(answer, Claimed)]

    def finish(self) -> None:
        self.waiting.close()
        for thread in self.threads:
            thread.join(20)
            assert not thread.is_alive()


@pytest.fixture
def bench(db: Database, listener: Listener, make: Make) -> Iterator[Bench]:
    """Nobody waits yet."""
    made = Bench(db, listener, make.endpoint(queues=("inbox", "other")))
    yield made
    made.finish()


def test_a_todo_that_is_there_is_claimed_at_once(bench: Bench, make: Make) -> None:
    todo = make.todo(bench.endpoint)

    answer = bench.call(30)

    assert isinstance(answer, Claimed)
    assert answer.todo.id == todo
    assert bench.picks == 1


def test_without_a_wait_an_empty_queue_is_answered_at_once(bench: Bench) -> None:
    assert bench.call(0) == NothingClaimed()
    assert bench.picks == 1


@pytest.mark.rule("R58")
def test_twenty_waiters_and_one_new_todo_make_one_claim(bench: Bench, make: Make) -> None:
    bench.start(20)
    asked = bench.picks

    todo = make.todo(bench.endpoint)
    bench.db.feed.ready(todo.queue_id)

    wait_for(lambda: bench.claimed() == [todo])
    wait_for(lambda: bench.sleeping() == 19)
    assert bench.picks - asked <= 3  # the claim, and the two it handed the notice on to


@pytest.mark.rule("R58")
def test_between_wake_ups_nothing_is_asked_and_no_connection_is_held(
    bench: Bench, make: Make
) -> None:
    bench.start(20)
    asked = bench.picks

    # More than one look at the client lies in between; changes elsewhere wake nobody.
    bench.db.feed.changed(make.queue_id(bench.endpoint))
    other = make.endpoint()
    heard = threading.Event()
    undo = bench.listener.subscribe(lambda change: heard.set() if change.ready else None)
    bench.db.feed.ready(make.queue_id(other))
    assert heard.wait(10)
    undo()

    stats = bench.db.pool.get_stats()
    assert bench.picks == asked
    assert stats["pool_available"] == stats["pool_size"]


def test_twenty_new_todos_reach_twenty_waiters_by_one_notice(bench: Bench, make: Make) -> None:
    bench.start(20)
    todos = [make.todo(bench.endpoint, "other") for _ in range(20)]
    bench.db.feed.ready(todos[0].queue_id)

    wait_for(lambda: sorted(bench.claimed()) == sorted(todos))


def test_the_deadline_answers_as_usual_even_when_a_notice_was_lost(
    bench: Bench, make: Make
) -> None:
    bench.start(1, wait_seconds=1)
    todo = make.todo(bench.endpoint)

    wait_for(lambda: bench.claimed() == [todo])


def test_the_deadline_of_an_empty_queue_is_kept(bench: Bench) -> None:
    started = time.monotonic()

    assert bench.call(1) == NothingClaimed()
    assert 1.0 <= time.monotonic() - started < 3.0


@pytest.mark.rule("R12")
def test_a_client_that_vanishes_while_waiting_claims_nothing(bench: Bench, make: Make) -> None:
    bench.start(2)
    asked = bench.picks
    bench.gone = True

    wait_for(lambda: len(bench.answers) == 2, what="both waits end")
    todo = make.todo(bench.endpoint)
    bench.db.feed.ready(todo.queue_id)
    assert bench.answers == [NothingClaimed(), NothingClaimed()]
    assert bench.picks == asked
    assert bench.waiting.taken == 0
    assert make.row(todo)["state"] == "pending"
    assert make.attempts(todo) == []


def test_a_waiter_that_vanished_with_the_notice_hands_it_on(
    db: Database, listener: Listener, make: Make
) -> None:
    endpoint = make.endpoint()
    vanished = Bench(db, listener, endpoint)
    patient = Bench(db, listener, endpoint)
    vanished.start(1)
    first = vanished.sleeping
    patient.threads.append(
        threading.Thread(target=lambda: patient.answers.append(patient.call(30)), daemon=True)
    )
    patient.threads[0].start()
    wait_for(lambda: first() == 2)
    vanished.gone = True

    todo = make.todo(endpoint)
    db.feed.ready(todo.queue_id)

    wait_for(lambda: patient.claimed() == [todo])
    vanished.finish()
    patient.finish()


def test_closing_the_budget_ends_every_wait(bench: Bench) -> None:
    bench.start(3)
    bench.waiting.close()

    wait_for(lambda: bench.answers == [NothingClaimed()] * 3)


@pytest.mark.rule("R67")
def test_over_its_cap_an_endpoint_waits_no_longer(bench: Bench) -> None:
    seats = [bench.waiting.enter("claim_next", bench.endpoint.id, 32) for _ in range(32)]
    assert all(seats)

    assert bench.call(30) == NothingClaimed()
    assert bench.picks == 1


@pytest.mark.rule("R67")
def test_192_wait_at_most_whoever_they_are() -> None:
    budget = WaitingBudget()
    seats = [budget.enter("stream", owner, 8) for owner in range(30) for _ in range(8)]

    assert sum(seat is not None for seat in seats) == 192
    assert budget.taken == 192
    assert budget.enter("claim_next", "late", 32) is None
    assert seats[0] is not None
    seats[0].leave()
    seats[0].leave()
    assert budget.taken == 191
    with budget.enter("claim_next", "late", 32) as late:
        assert late is not None
        assert budget.taken == 192
    assert budget.taken == 191


def test_each_kind_has_its_own_cap() -> None:
    budget = WaitingBudget()
    for _ in range(8):
        assert budget.enter("agent_stream", "a", 8)

    assert budget.enter("agent_stream", "a", 8) is None
    assert budget.enter("agent_stream", "b", 8)
    assert budget.enter("claim_next", "a", 32)


@dataclass
class Boundary:
    """Waiters behind a window that ends: what a claim answers before and after that instant."""

    db: Database
    listener: Listener
    endpoint: Endpoint
    queue_id: int
    at: datetime
    waiting: WaitingBudget = field(default_factory=WaitingBudget)
    picks: int = 0
    counting: threading.Lock = field(default_factory=threading.Lock)

    def pick(self) -> Claimed | NothingClaimed:
        with self.counting:
            self.picks += 1
        with self.db.reading() as conn:
            left = (self.at - self.db.now(conn)).total_seconds()
        if left > 0:
            return NothingClaimed(boundary_in=left)
        return claiming.claim_next(
            self.db, self.endpoint, None, ClaimRequest(), gone=lambda: False
        )

    def call(self, wait_seconds: int) -> Claimed | NothingClaimed:
        return wait_for_claim(
            self, self.endpoint, wait_seconds, self.pick, lambda: (self.queue_id,),
            gone=lambda: False,
        )

    def start(self, waiters: int) -> list[threading.Thread]:
        self.answers: list[Claimed | NothingClaimed] = []
        threads = [
            threading.Thread(target=lambda: self.answers.append(self.call(30)), daemon=True)
            for _ in range(waiters)
        ]
        for thread in threads:
            thread.start()
        wait_for(lambda: self.sleeping() == waiters, what=f"{waiters} waiters sleep")
        return threads

    def sleeping(self) -> int:
        groups = list(self.listener._watches._groups.values())
        return sum(watch.is_waiting for group in groups for watch in list(group))

    def claimed(self) -> list[str]:
        return [answer.todo.id for answer in self.answers if isinstance(answer, Claimed)]


def behind(db: Database, listener: Listener, make: Make, seconds: float) -> Boundary:
    endpoint = make.endpoint()
    queue_id = make.queue_id(endpoint)
    at = make.now() + timedelta(seconds=seconds)
    return Boundary(db, listener, endpoint, queue_id, at)


@pytest.mark.rule("R58: a waiter wakes at an exact boundary")
def test_a_boundary_inside_the_wait_wakes_without_any_notice(
    db: Database, listener: Listener, make: Make
) -> None:
    bench = behind(db, listener, make, 1.5)
    todo = make.todo(bench.endpoint)
    started = time.monotonic()

    answer = bench.call(30)

    assert isinstance(answer, Claimed)
    assert answer.todo.id == todo
    assert time.monotonic() - started < 2.5  # within a second of the boundary
    assert bench.picks <= 4  # before the wait, inside it, at the boundary; a rounding at most


def test_a_boundary_after_the_deadline_does_not_prolong_the_wait(
    db: Database, listener: Listener, make: Make
) -> None:
    bench = behind(db, listener, make, 3600)
    make.todo(bench.endpoint)
    started = time.monotonic()

    assert isinstance(bench.call(1), NothingClaimed)
    assert 1.0 <= time.monotonic() - started < 3.0


def test_a_clock_moved_over_the_boundary_is_followed_at_once(
    db: Database, listener: Listener, make: Make, clock: Clock
) -> None:
    bench = behind(db, listener, make, 3600)
    todos = [make.todo(bench.endpoint) for _ in range(5)]
    threads = bench.start(5)

    clock.advance(3601)

    for thread in threads:
        thread.join(10)
    assert sorted(bench.claimed()) == sorted(todos)


def test_a_clock_moved_short_of_the_boundary_arms_the_timer_again(
    db: Database, listener: Listener, make: Make, clock: Clock
) -> None:
    bench = behind(db, listener, make, 3600)
    todo = make.todo(bench.endpoint)
    threads = bench.start(1)

    clock.advance(3598)

    threads[0].join(10)
    assert bench.claimed() == [todo]


def test_a_clock_that_stands_still_before_the_boundary_makes_no_busy_loop(
    db: Database, listener: Listener, make: Make, clock: Clock
) -> None:
    bench = behind(db, listener, make, 100)
    clock.set(bench.at - timedelta(microseconds=1))

    assert isinstance(bench.call(1), NothingClaimed)
    assert bench.picks <= 25


@pytest.mark.rule("R58")
def test_a_waiter_without_a_boundary_ignores_a_clock_that_was_moved(
    bench: Bench, clock: Clock
) -> None:
    bench.start(3)
    asked = bench.picks
    heard = threading.Event()
    undo = bench.listener.subscribe(lambda _: heard.set())

    clock.advance(3600)

    assert heard.wait(10)
    undo()
    assert bench.picks == asked


def policy(make: Make, queue_id: int, *, cap: int | None = None, window: int | None = None) -> None:
    """A live policy: a cap, or a limit per hour, UTC."""
    make.run(
        "insert into admission_policies (id, queue_id, max_in_flight, max_claims_per_window,"
        " window_period, window_tz, window_start, created_by_human_id, updated_by_human_id)"
        " values (gen_random_uuid(), %s, %s, %s, %s, %s, %s, gen_random_uuid(), gen_random_uuid())",
        queue_id, cap, window,
        *(("hour", "UTC", "00:00") if window is not None else (None, None, None)))


@pytest.mark.rule("R58: a waiter wakes when a slot is free again")
def test_a_slot_that_frees_wakes_who_waits_behind_the_cap(bench: Bench, make: Make) -> None:
    held = make.todo(bench.endpoint, state="claimed")
    waiting = make.todo(bench.endpoint)
    policy(make, held.queue_id, cap=1)
    bench.start(1)

    settling.complete(bench.db, bench.endpoint, held, Settlement())

    wait_for(lambda: bench.claimed() == [waiting])


@pytest.mark.rule("R58: a waiter wakes at an exact boundary")
@pytest.mark.rule("R38: one refusal over a whole wait")
def test_a_new_window_wakes_who_waits_behind_a_spent_one(
    bench: Bench, make: Make, clock: Clock
) -> None:
    start = clock.set("2026-10-01T12:30:00Z")
    todos = [make.todo(bench.endpoint) for _ in range(3)]
    policy(make, todos[0].queue_id, window=1)
    assert isinstance(bench.call(0), Claimed)
    bench.start(2)
    bench.db.feed.ready(todos[0].queue_id)  # one more look of a waiter: no second refusal
    wait_for(lambda: bench.picks >= 6)
    wait_for(lambda: bench.sleeping() == 2)
    assert bench.db.counters.value(
        REFUSALS, queue="inbox", reason="window_exhausted") == 2

    clock.set(start + timedelta(minutes=30))

    wait_for(lambda: bench.claimed() == [todos[1]])
    wait_for(lambda: bench.sleeping() == 1)
    clock.set(start + timedelta(minutes=90))
    wait_for(lambda: bench.claimed() == todos[1:])
