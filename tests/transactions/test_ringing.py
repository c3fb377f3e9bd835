"""Bells for todos that became ready: sender gate, admission, presence (REQ-8, R46)."""

from __future__ import annotations

import logging

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint
from app.transactions import ringing, settling, sweeps
from app.transactions.settling import Settlement
from tests.support.feed import RecordingFeed
from tests.support.make import Make
from tests.support.pg import database_over

BELLS = "select endpoint_id, queue_id, todo_id, kind, meta from doorbells order by id"
OUT = ("update endpoints set presence_override = 'out', override_by = 'agent',"
       " override_set_at = clock() where id = %s")
ADMISSION = ("admission_policies", "admission_windows", "admission_reopen")


@pytest.fixture
def lane(make: Make) -> Endpoint:
    return make.endpoint()


def test_a_new_todo_rings_at_its_endpoint_and_the_notice_follows_the_row(
    db: Database, make: Make, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)

    ringing.created(db, [todo])

    assert make.rows(BELLS) == [(lane.id, todo.queue_id, str(todo), "todo", None)]
    assert isinstance(db.feed, RecordingFeed)
    assert db.feed.told == [("ready", (todo.queue_id,))]


@pytest.mark.parametrize(
    ("verified", "trust_mode", "bells"),
    [(True, "signed", 1), (False, "token", 1), (False, "signed", 0), (False, "open", 0)],
)  # fmt: skip
def test_only_a_sender_that_somebody_vouches_for_rings(
    db: Database, make: Make, lane: Endpoint, *, verified: bool, trust_mode: str, bells: int
) -> None:
    todo = make.todo(lane)
    event = make.event(lane.id, verified=verified, trust_mode=trust_mode)
    make.run("update todos set event_id = %s", event)

    ringing.created(db, [todo])

    assert len(make.rows(BELLS)) == bells


def test_a_todo_without_an_event_and_one_that_was_taken_meanwhile_ring_nothing(
    db: Database, make: Make, lane: Endpoint
) -> None:
    ringing.created(db, [make.todo(lane), make.todo(lane, state="claimed", rings=True), "td_gone"])

    assert make.rows(BELLS) == []


@pytest.mark.parametrize("gone", ["out", "revoked", "expired", "unscoped"])
def test_an_endpoint_that_is_out_or_gone_gets_no_row(
    db: Database, make: Make, lane: Endpoint, gone: str
) -> None:
    todo = make.todo(lane, rings=True)
    make.run({
        "out": OUT,
        "revoked": "update endpoints set state = 'revoked', revoked_at = clock() where id = %s",
        "expired": "update endpoints set expires_at = clock() where id = %s",
        "unscoped": "update endpoints set scope_queues = '{other}' where id = %s",
    }[gone], lane.id)

    ringing.created(db, [todo])

    assert make.rows(BELLS) == []


def test_a_teams_todo_is_one_row_for_whoever_drains_the_queue(db: Database, make: Make) -> None:
    team = make.team()
    queue = make.team_queue(team)
    for human in (make.human(), make.human(), make.human()):
        make.member(team, human)
        make.grant(make.endpoint(human), queue)
    todo = make.todo(queue=queue, rings=True)

    ringing.created(db, [todo])

    assert make.rows(BELLS) == [(None, int(queue), str(todo), "todo", None)]


@pytest.mark.rule("R46")
def test_a_sender_nobody_vouches_for_is_refused_before_admission_is_asked(
    db: Database, make: Make, lane: Endpoint
) -> None:
    make.policy(make.queue_id(lane), max_in_flight=0)

    ringing.created(db, [make.todo(lane)])

    assert make.value("select count(*) from admission_reopen") == 0


def test_a_closed_queue_suppresses_the_bell_while_others_ring(
    db: Database, make: Make
) -> None:
    lane = make.endpoint(queues=("open", "shut"))
    make.policy(make.queue_id(lane, "shut"), max_in_flight=0)
    loud, quiet = make.todo(lane, "open", rings=True), make.todo(lane, "shut", rings=True)

    ringing.created(db, [quiet, loud])

    assert [row[2] for row in make.rows(BELLS)] == [str(loud)]
    assert make.rows("select queue_id from admission_reopen") == [(quiet.queue_id,)]


def test_without_a_policy_no_admission_table_is_read(
    db: Database, make: Make, lane: Endpoint
) -> None:
    for table in ADMISSION:
        make.run(f"alter table {table} rename to {table}_away")
    try:
        todo = make.todo(lane, rings=True)
        ringing.created(db, [todo])
        ringing.requeued(db, [todo], tells_hooks=True)
    finally:
        for table in ADMISSION:
            make.run(f"alter table {table}_away rename to {table}")

    assert len(make.rows(BELLS)) == 2


def test_unreadable_policies_silence_the_bell_and_are_logged(
    db: Database, make: Make, lane: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    make.policy(make.queue_id(lane), max_in_flight=5)
    todo = make.todo(lane, rings=True)
    make.run("alter table admission_policies rename to away")
    try:
        with caplog.at_level(logging.WARNING):
            ringing.created(db, [todo])
    finally:
        make.run("alter table away rename to admission_policies")

    assert make.rows(BELLS) == []
    assert "admission_unreadable" in caplog.text


def test_a_fault_is_logged_and_never_raised(
    db: Database, make: Make, lane: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    todo = make.todo(lane, rings=True)
    make.run("alter table doorbells rename to away")
    try:
        ringing.created(db, [todo])
    finally:
        make.run("alter table away rename to doorbells")

    assert "bells_not_written" in caplog.text


def test_a_retry_whose_time_has_come_says_that_its_silence_is_over(
    db: Database, make: Make, lane: Endpoint
) -> None:
    make.todo(lane, state="failed", next_retry_at=make.now(), rings=True)

    sweeps.requeue(db)

    assert [row[4] for row in make.rows(BELLS)] == [{"clears_silence": True}]


def test_a_release_rings_as_any_todo_that_becomes_ready(
    db: Database, make: Make, lane: Endpoint
) -> None:
    todo = make.todo(lane, state="claimed", rings=True)

    settling.release(db, lane, todo, Settlement())

    assert [(row[3], row[4]) for row in make.rows(BELLS)] == [("todo", None)]


def test_a_queue_that_rings_for_its_reopening_rings_for_nothing_else(
    db: Database, make: Make, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)

    ringing.requeued(db, [todo], tells_hooks=True, rung={todo.queue_id})

    assert make.rows(BELLS) == []


def test_hooks_hear_of_what_rings_and_what_presence_silenced_but_of_nothing_closed(
    db: Database, make: Make, lane: Endpoint
) -> None:
    """Presence is judged hook by hook: one with `ignore_presence` is told all the same."""
    told: list[object] = []

    class Hooks:
        def offer(self, notice: object) -> None:
            told.append(notice)

    hooked = Database(pool=db.pool, feed=db.feed, sealer=db.sealer, counters=db.counters,
                      hooks=Hooks())
    shut = make.endpoint(queues=("shut",))
    make.policy(make.queue_id(shut, "shut"), max_in_flight=0)
    make.run(OUT, lane.id)
    todo = make.todo(lane, rings=True)

    ringing.created(hooked, [todo, make.todo(shut, "shut", rings=True)])
    ringing.requeued(hooked, [todo], tells_hooks=False)
    ringing.requeued(hooked, [todo], tells_hooks=True)

    assert [(each.todo_id, each.why) for each in told] == [
        (str(todo), "created"), (str(todo), "requeued")]
    assert make.rows(BELLS) == []


def test_todos_in_a_closed_queue_write_one_mark_and_nothing_per_todo(
    db: Database, make: Make, lane: Endpoint
) -> None:
    make.policy(make.queue_id(lane), max_in_flight=0)
    todos = [make.todo(lane, rings=True) for _ in range(20)]
    rows = make.rows("select id, xmin::text from todos order by id")

    for todo in todos:
        ringing.created(database_over(db.pool), [todo])

    assert make.rows("select id, xmin::text from todos order by id") == rows
    assert make.rows(BELLS) == []
    assert make.value("select count(*) from admission_reopen") == 1
