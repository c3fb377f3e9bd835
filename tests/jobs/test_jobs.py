"""Each job: how often at the longest, and that run_once does its sweep."""

from __future__ import annotations

from datetime import timedelta

from app.db.database import Database
from app.transactions.pruning import Retention
from jobs import expiry, reaper, requeue, retention
from tests.support.make import Make


def test_sweeps_run_every_30_seconds_at_the_longest_and_the_pruner_hourly() -> None:
    assert (reaper.EVERY, requeue.EVERY, expiry.EVERY, retention.EVERY) == (30, 30, 30, 3600)


def test_the_reaper_frees_a_lapsed_todo(db: Database, make: Make) -> None:
    todo = make.todo(make.endpoint(), state="claimed", lease=-1)

    assert [moved.id for moved in reaper.run_once(db).moved] == [todo]


def test_the_retry_scheduler_moves_a_due_retry(db: Database, make: Make) -> None:
    todo = make.todo(make.endpoint(), state="failed", next_retry_at=make.now())

    assert [moved.id for moved in requeue.run_once(db).moved] == [todo]


def test_expiry_ends_an_endpoint_whose_lifetime_is_over(db: Database, make: Make) -> None:
    endpoint = make.endpoint(expires_at=make.now())

    assert expiry.run_once(db).endpoint_ids == (endpoint.id,)


def test_the_pruner_takes_the_caps_it_is_given(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    for _ in range(3):
        make.todo(endpoint, state="done", updated_at=make.now() - timedelta(days=1))

    assert retention.run_once(db, Retention(todos_per_owner=1)).todos == 2
