"""Heartbeat and attach: which todos ring again, when, and on what budget (push.md)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from app.db.database import Database
from app.domain.callers import Endpoint
from app.transactions import bell_rounds
from tests.support.clock import Clock
from tests.support.make import Make, TodoId
from tests.support.race import all_returned, together

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE, HOUR = 60, 3600


@pytest.fixture
def lane(make: Make) -> Endpoint:
    return make.endpoint()


@pytest.fixture
def noon(clock: Clock) -> Clock:
    clock.set(NOON)
    return clock


def beat(db: Database, *endpoints: Endpoint) -> list[str | None]:
    return [ring.todo_id for ring in bell_rounds.heartbeat(db, [each.id for each in endpoints])]


def attach(db: Database, endpoint: Endpoint) -> list[str | None]:
    return [ring.todo_id for ring in bell_rounds.attach(db, endpoint.id)]


def attempts(make: Make, todo: str) -> object:
    return make.row(todo)["ring_attempts"]


# --- heartbeat -----------------------------------------------------------------------------------


def test_the_steps_grow_and_end_after_five_rings(
    db: Database, make: Make, noon: Clock, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)
    for step in (5 * MINUTE, 20 * MINUTE, HOUR, 6 * HOUR, 6 * HOUR):
        noon.advance(step - 1)
        assert beat(db, lane) == [], step
        noon.advance(1)
        assert beat(db, lane) == [todo], step
    noon.advance(48 * HOUR)

    assert beat(db, lane) == []
    assert attempts(make, todo) == 5
    assert make.row(todo)["last_ringed_at"] == NOON + timedelta(hours=13, minutes=25)


@pytest.mark.parametrize("stamp", ["todo", "reopen", "digest"])
def test_whatever_rang_last_pushes_the_next_ring_a_step_away(
    db: Database, make: Make, noon: Clock, lane: Endpoint, stamp: str
) -> None:
    todo = make.todo(lane, rings=True)
    noon.advance(4 * MINUTE)
    match stamp:
        case "todo":
            make.run("update todos set last_ringed_at = clock()")
        case "reopen":
            make.run("update queues set last_reopen_ring_at = clock()")
        case "digest":
            make.run("insert into digest_stamps select %s, id, clock() from queues", lane.id)
    noon.advance(5 * MINUTE - 1)
    assert beat(db, lane) == []
    noon.advance(1)

    assert beat(db, lane) == [todo]


def test_a_digest_of_one_endpoint_pushes_back_nothing_of_another(
    db: Database, make: Make, noon: Clock
) -> None:
    team = make.team()
    queue = make.team_queue(team)
    ana, ben = make.human(), make.human()
    make.member(team, ana)
    make.member(team, ben)
    one, two = make.endpoint(ana), make.endpoint(ben)
    make.grant(one, queue)
    make.grant(two, queue)
    todo = make.todo(queue=queue, rings=True)
    noon.advance(5 * MINUTE)
    make.run("insert into digest_stamps values (%s, %s, clock())", one.id, int(queue))

    assert beat(db, one) == []
    assert beat(db, one, two) == [todo]


def test_a_sweep_rings_three_and_the_best_of_each_endpoint_first(
    db: Database, make: Make, noon: Clock
) -> None:
    lanes = [make.endpoint() for _ in range(3)]
    todos: list[list[TodoId]] = []
    for place, each in enumerate(lanes):  # all of the first are due before any of the second
        at = NOON + timedelta(seconds=place)
        todos.append([make.todo(each, created_at=at, rings=True) for _ in range(3)])
    noon.advance(10 * MINUTE)

    sweeps = [beat(db, *lanes) for _ in range(4)]

    assert sweeps == [sorted(row[place] for row in todos) for place in range(3)] + [[]]


@pytest.mark.parametrize(
    "why", ["claimed", "unvouched", "paused", "revoked", "unscoped", "not held", "young"]
)
def test_who_is_no_candidate(
    db: Database, make: Make, noon: Clock, lane: Endpoint, why: str
) -> None:
    todo = make.todo(lane, rings=why != "unvouched",
                     state="claimed" if why == "claimed" else "pending")
    match why:
        case "paused":
            make.policy(todo.queue_id, max_in_flight=0)
        case "revoked":
            make.run("update endpoints set state = 'revoked', revoked_at = clock()")
        case "unscoped":
            make.run("update endpoints set scope_queues = '{other}'")
    noon.advance(4 * MINUTE if why == "young" else 5 * MINUTE)

    assert beat(db, *[make.endpoint() if why == "not held" else lane]) == []
    assert (attempts(make, todo), make.row(todo)["last_ringed_at"]) == (0, None)


@pytest.mark.req("REQ-8")
def test_a_closed_queue_spends_no_ring_and_owes_one(
    db: Database, make: Make, noon: Clock, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)
    make.policy(todo.queue_id, max_in_flight=0)
    noon.advance(HOUR)

    assert beat(db, lane) == attach(db, lane) == []
    assert attempts(make, todo) == 0
    assert make.rows("select queue_id, reason from admission_reopen") == [
        (todo.queue_id, "paused")]


def test_without_a_policy_no_admission_table_is_read(
    db: Database, make: Make, noon: Clock, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)
    noon.advance(HOUR)
    tables = ("admission_policies", "admission_windows", "admission_reopen")
    for table in tables:
        make.run(f"alter table {table} rename to {table}_away")
    try:
        assert beat(db, lane) == [todo]
        noon.advance(HOUR)
        assert attach(db, lane) == [todo]
    finally:
        for table in tables:
            make.run(f"alter table {table}_away rename to {table}")


def test_processes_that_beat_at_once_ring_each_todo_once(
    db: Database, make: Make, noon: Clock, lane: Endpoint
) -> None:
    todos = [make.todo(lane, rings=True) for _ in range(9)]
    noon.advance(5 * MINUTE)

    rung = all_returned(together(5, lambda _: beat(db, lane)))

    told = [todo for each in rung for todo in each]
    assert len(told) == len(set(told)) >= 3
    assert sorted(str(todo) for todo in todos if attempts(make, todo) == 1) == sorted(
        str(each) for each in told)
    assert make.value("select max(ring_attempts) from todos") == 1


def test_a_todo_that_is_being_claimed_holds_up_neither_heartbeat_nor_attach(
    db: Database, db_url: str, make: Make, noon: Clock, lane: Endpoint
) -> None:
    held, free = make.todo(lane, rings=True), make.todo(lane, rings=True)
    noon.advance(5 * MINUTE)
    with psycopg.connect(db_url) as claim:
        claim.execute("select 1 from todos where id = %s for update", (str(held),))

        assert beat(db, lane) == [free]
        noon.advance(HOUR)
        assert attach(db, lane) == [free]


# --- attach --------------------------------------------------------------------------------------


def test_attach_rings_the_three_oldest_of_all_queues(db: Database, make: Make) -> None:
    lane = make.endpoint(queues=("one", "two"))
    todos = [make.todo(lane, "one" if number % 2 else "two",
                       created_at=NOON + timedelta(seconds=number), rings=True)
             for number in range(5)]
    make.todo(lane, "one", created_at=NOON - timedelta(days=1))  # nobody vouches for it

    assert attach(db, lane) == sorted(map(str, todos[:3]))


def test_attach_leaves_a_todo_alone_for_a_minute_and_takes_from_the_same_budget(
    db: Database, make: Make, noon: Clock, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)

    assert attach(db, lane) == [todo]
    noon.advance(MINUTE - 1)
    assert attach(db, lane) == []
    for _ in range(4):
        noon.advance(MINUTE)
        assert attach(db, lane) == [todo]
    noon.advance(48 * HOUR)

    assert attach(db, lane) == beat(db, lane) == []
    assert attempts(make, todo) == 5


def test_streams_that_open_at_once_share_the_oldest(
    db: Database, make: Make, lane: Endpoint
) -> None:
    for _ in range(5):
        make.todo(lane, rings=True)

    rung = all_returned(together(4, lambda _: attach(db, lane)))

    told = [todo for each in rung for todo in each]
    assert len(told) == len(set(told)) >= 3
    assert make.value("select max(ring_attempts) from todos") == 1
