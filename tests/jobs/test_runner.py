"""The jobs process as it runs: timers, notices, outages, two leaders."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from app.db.database import Database
from app.db.direct import dial
from app.db.listener import Listener
from app.domain.errors import Unavailable
from app.embedded import Cluster
from app.transactions.pruning import Retention
from app.transactions.sweeps import Swept
from jobs import runner
from jobs.runner import Job, JobThread, Runner
from tests.support.clock import Clock
from tests.support.make import Make, TodoId
from tests.support.pg import Fresh
from tests.support.wait import wait_for

LAPSES = "switchboard_todo_leases_expired_total"


@contextmanager
def running(url: str, db: Database, listener: Listener) -> Iterator[threading.Thread]:
    """The main of a jobs process, in a thread."""
    stop = threading.Event()
    main = threading.Thread(
        target=runner.run, args=(db, listener, dial(url), stop, Retention()), daemon=True
    )
    main.start()
    try:
        yield main
    finally:
        stop.set()
        main.join(20)
        assert not main.is_alive()


@dataclass
class Script:
    """A run_once that does as told: an exception to raise, or a report to return."""

    outcomes: list[Exception | Swept] = field(default_factory=list)
    runs: list[float] = field(default_factory=list)

    def __call__(self) -> Swept:
        self.runs.append(time.monotonic())
        outcome = self.outcomes.pop(0) if self.outcomes else Swept()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@contextmanager
def scripted(script: Script, *, is_timed: bool = True) -> Iterator[JobThread]:
    job = Job(name="scripted", every=30.0, run_once=script, is_timed=is_timed)
    thread = JobThread(job)
    thread.start()
    try:
        yield thread
    finally:
        thread.stop()
        assert thread.join(10)


def seconds_late(make: Make, todo: TodoId, due: Callable[[], datetime]) -> float:
    """Waits until the todo is pending; how long after `due` it became that."""
    due_at = due()
    wait_for(lambda: make.row(todo)["state"] == "pending", what="the todo is pending")
    moved_at = make.row(todo)["updated_at"]
    assert isinstance(moved_at, datetime)
    return (moved_at - due_at).total_seconds()


@pytest.mark.rule("todos.md: background jobs")
def test_a_lapsed_lease_is_pending_within_a_second(
    db: Database, db_url: str, listener: Listener, make: Make
) -> None:
    endpoint = make.endpoint()
    with running(db_url, db, listener):
        for _ in range(3):
            todo = make.todo(endpoint, state="claimed", lease=1.2)
            db.feed.changed(todo.queue_id)
            ends = make.row(todo)["lease_expires_at"]
            assert isinstance(ends, datetime)

            assert 0 <= seconds_late(make, todo, lambda ends=ends: ends) < 1.0


@pytest.mark.rule("todos.md: background jobs")
def test_a_due_retry_is_pending_within_a_second(
    db: Database, db_url: str, listener: Listener, make: Make
) -> None:
    endpoint = make.endpoint()
    with running(db_url, db, listener):
        due = make.now() + timedelta(seconds=1.2)
        todo = make.todo(endpoint, state="failed", next_retry_at=due)
        db.feed.changed(todo.queue_id)

        assert 0 <= seconds_late(make, todo, lambda: due) < 1.0


def test_timers_re_arm_when_the_clock_moves(
    db: Database, db_url: str, listener: Listener, make: Make, clock: Clock
) -> None:
    endpoint = make.endpoint(expires_at=make.now() + timedelta(hours=1))
    todo = make.todo(endpoint, state="claimed", lease=300)
    with running(db_url, db, listener):
        clock.advance(301)
        wait_for(lambda: make.row(todo)["state"] == "pending", 20)
        clock.advance(3_600)
        wait_for(lambda: make.row(todo)["state"] == "failed", 20)
        assert make.value("select state from endpoints where id = %s", endpoint.id) == "revoked"


def test_the_pruner_runs_at_start(
    db: Database, db_url: str, listener: Listener, make: Make
) -> None:
    old = make.now() - timedelta(days=31)
    make.todo(make.endpoint(), state="done", updated_at=old)
    with running(db_url, db, listener):
        wait_for(lambda: make.value("select count(*) from todos") == 0)


@pytest.mark.race
def test_two_processes_that_both_lead_reap_each_lapse_once(
    db: Database, listener: Listener, make: Make
) -> None:
    endpoint = make.endpoint()
    todos = [make.todo(endpoint, state="claimed", lease=-1) for _ in range(50)]
    leaders = [Runner(runner.jobs_of(db, Retention()), listener) for _ in range(2)]

    for leader in leaders:
        leader.start()
    wait_for(lambda: make.value("select count(*) from todos where state = 'pending'") == 50)
    for leader in leaders:
        leader.stop()

    assert db.counters.value(LAPSES, queue="inbox") == 50
    assert [len(make.attempts(todo)) for todo in todos] == [1] * 50


def test_an_outage_of_the_database_is_logged_and_overcome(
    durable_cluster: Cluster, durable_database: Fresh, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    url, db = durable_database.url, durable_database.db
    before = Make(url)
    todo = before.todo(before.endpoint(), state="claimed", lease=2)
    before.close()
    listener = Listener(dial(url))
    listener.start()
    try:
        with running(url, db, listener) as main:
            wait_for(lambda: "leads the jobs" in caplog.text)
            durable_cluster.stop("immediate")
            wait_for(lambda: "database away" in caplog.text)
            assert main.is_alive()
            durable_cluster.start()
            make = Make(url)
            wait_for(lambda: make.row(todo)["state"] == "pending", 30)
            make.close()
    finally:
        listener.stop()


def test_a_job_that_fails_is_run_again_and_never_ends(caplog: pytest.LogCaptureFixture) -> None:
    script = Script([Unavailable(), RuntimeError("a mistake"), Swept()])
    with scripted(script):
        wait_for(lambda: len(script.runs) == 3, 10)

    assert "scripted failed, again in" in caplog.text
    assert "a mistake" in caplog.text
    assert script.runs[1] - script.runs[0] >= 0.8
    assert script.runs[2] - script.runs[1] >= 1.6


def test_a_job_sleeps_to_the_instant_its_report_names() -> None:
    script = Script([Swept(next_in=0.8)])
    with scripted(script):
        wait_for(lambda: len(script.runs) == 2)

    assert 0.8 <= script.runs[1] - script.runs[0] < 1.5


def test_a_notice_wakes_a_timed_job_and_not_the_hourly_one() -> None:
    timed, hourly = Script(), Script()
    with scripted(timed) as one, scripted(hourly, is_timed=False) as other:
        wait_for(lambda: timed.runs and hourly.runs)
        one.wake()
        other.wake()
        wait_for(lambda: len(timed.runs) == 2)
        assert len(hourly.runs) == 1


def test_many_notices_are_two_looks_a_second_at_most() -> None:
    script = Script()
    with scripted(script) as thread:
        started = time.monotonic()
        while time.monotonic() - started < 1.2:
            thread.wake()
        runs = len(script.runs)

    assert 2 <= runs <= 3


def test_something_due_but_held_is_no_busy_loop() -> None:
    script = Script([Swept(next_in=-5.0)] * 100)
    with scripted(script):
        wait_for(lambda: len(script.runs) == 3)

    assert script.runs[2] - script.runs[0] >= 1.0


def test_every_change_wakes_the_jobs_also_one_that_names_nothing(
    listener: Listener, db_url: str, clock: Clock
) -> None:
    script = Script()
    jobs = Runner((Job(name="scripted", every=30.0, run_once=script),), listener)
    jobs.start()
    wait_for(lambda: script.runs)
    clock.advance(1)
    wait_for(lambda: len(script.runs) == 2)
    jobs.stop()
