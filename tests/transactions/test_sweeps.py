"""The sweeps: lapsed leases, due retries, lifetimes; exactly once, also with two leaders."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from app.db.database import Database
from app.domain.errors import Unavailable
from app.transactions import sweeps
from app.transactions.sweeps import Swept
from tests.support.clock import Clock
from tests.support.feed import RecordingFeed
from tests.support.make import Make, TodoId
from tests.support.race import all_returned, together

LAPSES = "switchboard_todo_leases_expired_total"
CLOSED = "switchboard_todo_attempts_closed_total"


def told(db: Database, kind: str) -> set[object]:
    assert isinstance(db.feed, RecordingFeed)
    return set(db.feed.ids(kind))


def test_a_lapsed_lease_is_pending_again_and_its_attempt_reaped(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint, state="claimed", attempt=2, lease=-1)

    report = sweeps.reap(db)

    row = make.row(todo)
    assert (row["state"], row["attempt"], row["attempts_total"]) == ("pending", 2, 2)
    assert row["owner"] is row["lease_expires_at"] is row["claimed_by_endpoint_id"] is None
    last = make.attempts(todo)[-1]
    assert (last["outcome"], last["disposition"]) == ("reaped", "requeued")
    assert last["ended_at"] is not None
    assert (report.requeued, report.dead_lettered, report.next_in) == (1, 0, None)
    assert report.queue_ids == {todo.queue_id}
    assert told(db, "ready") == {todo.queue_id}
    assert told(db, "changed") == set()
    assert db.counters.value(LAPSES, queue="inbox") == 1
    assert db.counters.value(CLOSED, queue="inbox", outcome="reaped") == 1


def test_a_lapsed_lease_at_its_last_attempt_is_a_dead_letter(db: Database, make: Make) -> None:
    todo = make.todo(make.endpoint(), state="claimed", attempt=3, max_attempts=3, lease=-1)

    report = sweeps.reap(db)

    row = make.row(todo)
    assert (row["state"], row["next_retry_at"], row["owner"]) == ("failed", None, None)
    last = make.attempts(todo)[-1]
    assert (last["outcome"], last["disposition"]) == ("reaped", "dead_lettered")
    assert (report.requeued, report.dead_lettered) == (0, 1)
    assert told(db, "ready") == set()
    assert told(db, "changed") == {todo.queue_id}
    assert db.counters.value(LAPSES, queue="inbox") == 1


def test_a_live_lease_stays_and_says_when_it_ends(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint, state="claimed", lease=100)
    todo = make.todo(endpoint, state="claimed", lease=50)

    report = sweeps.reap(db)

    assert report.moved == ()
    assert report.next_in is not None
    assert 40 < report.next_in <= 50
    assert make.row(todo)["state"] == "claimed"


def test_a_lease_lapses_by_the_clock_of_the_database(
    db: Database, make: Make, clock: Clock
) -> None:
    todo = make.todo(make.endpoint(), state="claimed", lease=300)

    clock.advance(299)
    assert sweeps.reap(db).moved == ()
    clock.advance(2)
    assert [moved.id for moved in sweeps.reap(db).moved] == [todo]


def test_a_todo_that_is_not_claimed_is_left_alone(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    later = make.now() + timedelta(hours=1)
    todos = [
        make.todo(endpoint), make.todo(endpoint, state="done"),
        make.todo(endpoint, state="failed"),
        make.todo(endpoint, state="failed", next_retry_at=later),
    ]
    before = [make.row(todo) for todo in todos]

    assert sweeps.reap(db) == Swept()
    assert sweeps.requeue(db).moved == ()
    assert [make.row(todo) for todo in todos] == before
    assert db.counters.snapshot() == {}


def test_a_due_retry_is_pending_again_and_keeps_its_attempts(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    due = make.now() - timedelta(seconds=1)
    todo = make.todo(endpoint, state="failed", attempt=2, next_retry_at=due)
    make.todo(endpoint, state="failed", next_retry_at=due + timedelta(seconds=61))

    report = sweeps.requeue(db)

    row = make.row(todo)
    assert (row["state"], row["attempt"], row["next_retry_at"]) == ("pending", 2, None)
    assert row["owner"] is row["lease_expires_at"] is None
    assert make.attempts(todo)[-1]["outcome"] == "failed"
    assert [moved.id for moved in report.moved] == [todo]
    assert report.next_in is not None
    assert 50 < report.next_in <= 60
    assert told(db, "ready") == {todo.queue_id}
    assert db.counters.snapshot() == {}


def test_a_sweep_goes_on_until_a_batch_is_not_full(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    todos = [make.todo(endpoint, state="claimed", lease=-1) for _ in range(7)]

    report = sweeps.reap(db, batch=3)

    assert [moved.id for moved in report.moved] == todos


@pytest.mark.race
def test_two_leaders_reap_every_lapsed_lease_exactly_once(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    todos = [make.todo(endpoint, state="claimed", lease=-1) for _ in range(60)]

    reports = all_returned(together(4, lambda _: sweeps.reap(db, batch=5)))

    moved = [todo.id for report in reports for todo in report.moved]
    assert sorted(moved) == sorted(todos)
    assert db.counters.value(LAPSES, queue="inbox") == 60
    assert db.counters.value(CLOSED, queue="inbox", outcome="reaped") == 60


@pytest.mark.race
def test_two_leaders_requeue_every_due_retry_exactly_once(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    due = make.now()
    todos = [make.todo(endpoint, state="failed", next_retry_at=due) for _ in range(60)]

    reports = all_returned(together(4, lambda _: sweeps.requeue(db, batch=5)))

    moved = [todo.id for report in reports for todo in report.moved]
    assert sorted(moved) == sorted(todos)


def test_a_row_someone_holds_is_skipped_and_said_to_be_due(
    db: Database, db_url: str, make: Make
) -> None:
    endpoint = make.endpoint()
    held, free = (make.todo(endpoint, state="claimed", lease=-1) for _ in range(2))
    with psycopg.connect(db_url) as conn:
        conn.execute("select 1 from todos where id = %s for update", (held,))

        report = sweeps.reap(db)

    assert [moved.id for moved in report.moved] == [free]
    assert report.next_in is not None
    assert report.next_in <= 0


def test_a_heartbeat_that_came_first_keeps_its_lease(
    db: Database, db_url: str, make: Make
) -> None:
    todo = make.todo(make.endpoint(), state="claimed", lease=-1)
    with psycopg.connect(db_url) as conn:
        conn.execute(
            "update todos set lease_expires_at = clock() + interval '1 minute' where id = %s",
            (todo,),
        )
        conn.commit()

    assert sweeps.reap(db).moved == ()
    assert make.row(todo)["state"] == "claimed"


def test_an_expired_endpoint_ends_as_if_revoked(db: Database, make: Make) -> None:
    endpoint = make.endpoint(expires_at=make.now() - timedelta(seconds=1))
    pending = make.todo(endpoint)
    claimed = make.todo(endpoint, state="claimed")
    parked = make.todo(endpoint, state="failed", next_retry_at=make.now())
    done = make.todo(endpoint, state="done")

    report = sweeps.expire(db)

    assert report.endpoint_ids == (endpoint.id,)
    assert make.value("select state from endpoints where id = %s", endpoint.id) == "revoked"
    assert [_ended(make, todo) for todo in (pending, claimed, parked)] == [("failed", None)] * 3
    assert make.attempts(claimed)[-1]["outcome"] == "revoked"
    assert make.row(done)["state"] == "done"
    assert told(db, "endpoints") == {endpoint.id}
    assert db.counters.value(CLOSED, queue="inbox", outcome="revoked") == 1
    assert sweeps.expire(db) == sweeps.Expired()


def test_an_endpoint_that_lives_on_says_when_it_ends(db: Database, make: Make) -> None:
    make.endpoint()
    endpoint = make.endpoint(expires_at=make.now() + timedelta(seconds=60))

    report = sweeps.expire(db)

    assert report.endpoint_ids == ()
    assert report.next_in is not None
    assert 50 < report.next_in <= 60
    assert make.value("select state from endpoints where id = %s", endpoint.id) == "active"


@pytest.mark.race
def test_two_leaders_end_every_expired_endpoint_exactly_once(db: Database, make: Make) -> None:
    past = make.now() - timedelta(seconds=1)
    endpoints = [make.endpoint(expires_at=past) for _ in range(12)]
    for endpoint in endpoints:
        make.todo(endpoint, state="claimed")

    reports = all_returned(together(3, lambda _: sweeps.expire(db, batch=4)))

    ended = [each for report in reports for each in report.endpoint_ids]
    assert sorted(ended) == sorted(endpoint.id for endpoint in endpoints)
    assert db.counters.value(CLOSED, queue="inbox", outcome="revoked") == 12


def test_a_sweep_that_fails_changes_nothing_and_counts_nothing(db: Database, make: Make) -> None:
    todo = make.todo(make.endpoint(), state="claimed", lease=-1)
    make.run("alter table todo_attempts rename to attempts_away")
    try:
        with pytest.raises(Unavailable):
            sweeps.reap(db)
    finally:
        make.run("alter table attempts_away rename to todo_attempts")

    assert make.row(todo)["state"] == "claimed"
    assert db.counters.snapshot() == {}
    assert told(db, "ready") == set()


def _ended(make: Make, todo: TodoId) -> tuple[object, object]:
    row = make.row(todo)
    return row["state"], row["next_retry_at"]
