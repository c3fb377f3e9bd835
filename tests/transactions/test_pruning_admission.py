"""Retention of admission control: windows, faults, audit, and up to where attempts are gone."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from app.db.database import Database
from app.transactions import pruning
from app.transactions.pruning import Retention
from tests.support.make import Make, QueueId, TodoId

CAPS = Retention()


def policy(make: Make, queue_id: QueueId) -> uuid.UUID:
    """A live policy without windows."""
    made = uuid.uuid4()
    make.run(
        "insert into admission_policies (id, queue_id, max_in_flight, created_by_human_id,"
        " updated_by_human_id) values (%s, %s, 1, gen_random_uuid(), gen_random_uuid())",
        made, int(queue_id))
    return made


def windows(make: Make, policy_id: uuid.UUID, starts: list[datetime]) -> None:
    for start in starts:
        make.run(
            "insert into admission_windows (policy_id, window_start, used, limit_at_last_charge)"
            " values (%s, %s, 1, 10)", policy_id, start)


def left(make: Make, policy_id: uuid.UUID) -> list[object]:
    return [start for (start,) in make.rows(
        "select window_start from admission_windows where policy_id = %s order by 1", policy_id)]


def through(make: Make) -> object:
    return make.value("select value from settings where key = 'attempts_pruned_through'")


def charge(make: Make, todo: TodoId, *starts: datetime) -> None:
    """Marks the todo's attempts, oldest first, as charged to these windows."""
    for seq, start in enumerate(starts, 1):
        make.run(
            "update todo_attempts set charged_policy_id = gen_random_uuid(),"
            " charged_window_start = %s where todo_id = %s and seq = %s", start, todo, seq)


@pytest.mark.rule("R53: a weekly policy keeps 30 weeks")
def test_the_newest_thirty_windows_of_a_policy_stay_however_old(
    db: Database, make: Make
) -> None:
    weekly = policy(make, make.queue_id(make.endpoint()))
    starts = [make.now() - timedelta(weeks=week) for week in range(34, -1, -1)]
    windows(make, weekly, starts)

    assert pruning.prune(db, CAPS).windows == 5
    assert left(make, weekly) == starts[5:]


@pytest.mark.rule("R53: an hourly policy keeps 35 days")
def test_windows_younger_than_35_days_stay_however_many(db: Database, make: Make) -> None:
    hourly = policy(make, make.queue_id(make.endpoint()))
    now = make.now()
    starts = [now - timedelta(days=36) + timedelta(hours=hour) for hour in range(36 * 24)]
    windows(make, hourly, starts)

    assert pruning.prune(db, CAPS, batch=7).windows >= 24
    kept = left(make, hourly)
    assert kept == [start for start in starts if start in kept]
    assert kept[0] > now - timedelta(days=35)
    assert kept[0] - timedelta(hours=1) <= now - timedelta(days=35) + timedelta(seconds=60)


def test_each_policy_keeps_its_own_windows(db: Database, make: Make) -> None:
    endpoint = make.endpoint(queues=("inbox", "other"))
    busy, calm = (policy(make, make.queue_id(endpoint, name)) for name in ("inbox", "other"))
    old = make.now() - timedelta(days=400)
    windows(make, busy, [old + timedelta(days=day) for day in range(40)])
    windows(make, calm, [old])

    assert pruning.prune(db, CAPS).windows == 10
    assert left(make, calm) == [old]


def test_the_windows_of_a_cleared_policy_wait_for_its_revival(db: Database, make: Make) -> None:
    cleared = policy(make, make.queue_id(make.endpoint()))
    start = make.now() - timedelta(days=100)
    windows(make, cleared, [start])
    make.run("update admission_policies set deleted_at = clock()")

    assert pruning.prune(db, CAPS).windows == 0
    assert left(make, cleared) == [start]


def test_a_fault_older_than_a_day_goes(db: Database, make: Make) -> None:
    endpoint = make.endpoint(queues=("inbox", "other"))
    for name, hours in (("inbox", 25), ("other", 23)):
        make.run(
            "insert into admission_faults (queue_id, at, kind)"
            " values (%s, clock() - %s * interval '1 hour', 'lock_timeout')",
            int(make.queue_id(endpoint, name)), hours)

    assert pruning.prune(db, CAPS).faults == 1
    assert make.value("select queue_id from admission_faults") == make.queue_id(endpoint, "other")


def test_the_audit_is_never_pruned(db: Database, make: Make) -> None:
    queue_id = make.queue_id(make.endpoint())
    make.run(
        "insert into admission_policy_audit (policy_id, queue_id, actor_human_id, action, at)"
        " select gen_random_uuid(), %s, gen_random_uuid(), 'update', clock() - n * interval '1 y'"
        " from generate_series(1, 50) n", int(queue_id))
    make.run("update settings set value = '1' where key like 'retention_max%%'")

    pruning.prune(db, Retention(events_per_owner=1, todos_per_owner=1))

    assert make.value("select count(*) from admission_policy_audit") == 50


@pytest.mark.rule("R62: verify starts after what the pruner deleted")
def test_the_latest_window_of_the_deleted_attempts_is_remembered(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint()
    old = make.now() - timedelta(days=31)
    early, late, younger = (datetime(2026, 10, day, 7, tzinfo=UTC) for day in (1, 3, 9))
    gone = make.todo(endpoint, state="done", attempt=2, updated_at=old)
    charge(make, gone, late, early)
    kept = make.todo(endpoint, state="done")
    charge(make, kept, younger)

    assert pruning.prune(db, CAPS).todos == 1

    assert through(make) == "2026-10-03T07:00:00.000000Z"
    assert make.value("select value::timestamptz from settings"
                      " where key = 'attempts_pruned_through'") == late


def test_it_never_goes_back_and_moves_on_batch_by_batch(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    start = datetime(2026, 10, 1, tzinfo=UTC)

    def prune_one(day: int) -> object:
        todo = make.todo(endpoint, state="done", updated_at=make.now() - timedelta(days=31))
        charge(make, todo, start + timedelta(days=day))
        pruning.prune(db, CAPS, batch=1)
        return through(make)

    assert prune_one(4) == "2026-10-05T00:00:00.000000Z"
    assert prune_one(2) == "2026-10-05T00:00:00.000000Z"
    assert prune_one(6) == "2026-10-07T00:00:00.000000Z"


def test_attempts_that_were_not_charged_leave_no_word(db: Database, make: Make) -> None:
    make.todo(make.endpoint(), state="done", updated_at=make.now() - timedelta(days=31))

    assert pruning.prune(db, CAPS).todos == 1
    assert through(make) is None


def test_what_is_remembered_stands_or_falls_with_the_delete(db: Database, make: Make) -> None:
    todo = make.todo(make.endpoint(), state="done", updated_at=make.now() - timedelta(days=31))
    charge(make, todo, datetime(2026, 10, 1, tzinfo=UTC))
    make.run("create function refuse() returns trigger language plpgsql as"
             " $$ begin raise exception 'no'; end $$")
    make.run("create trigger refuse before delete on todos for each row execute function refuse()")
    try:
        with pytest.raises(Exception, match="no"):
            pruning.prune(db, CAPS)
    finally:
        make.run("drop function refuse() cascade")

    assert through(make) is None
    assert make.value("select count(*) from todos") == 1
