"""Doorbell rows: who takes them, what still rings when it is written, and what that stamps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from app.db.database import Database
from app.domain.callers import Endpoint
from app.transactions import bell_rounds, bell_rows, bell_stamps, reopening, ringing
from app.transactions.bell_rows import Ring
from tests.support.clock import Clock
from tests.support.feed import RecordingFeed
from tests.support.make import Make, Team
from tests.support.race import all_returned, together

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
CLAIM = ("update todos set state = 'claimed', owner = 'agent:other',"
         " lease_expires_at = clock() + interval '5 min'")
STAMPS = "select id from todos where last_ringed_at is not null order by id"


@pytest.fixture
def lane(make: Make) -> Endpoint:
    return make.endpoint()


def taken(
    db: Database, *endpoints: Endpoint, process: str = "me",
    out: tuple[Endpoint, ...] = (),
) -> list[Ring]:
    """What one process rings that holds streams of these endpoints, of which some are out."""
    present = {each.id: each not in out for each in endpoints}
    rows = bell_rows.take(db, process, present)
    return bell_stamps.stamp(db, bell_rows.judge(db, rows, present))


def todo_ids(rings: list[Ring]) -> list[str | None]:
    return [ring.todo_id for ring in rings]


def owed(make: Make, endpoint: Endpoint | UUID | None, queue_id: int, todo: str,
         kind: str = "reopen") -> None:
    make.run("insert into doorbells (endpoint_id, queue_id, todo_id, kind)"
             " values (%s, %s, %s, %s)",
             endpoint.id if isinstance(endpoint, Endpoint) else endpoint, int(queue_id), todo,
             kind)


# --- taking --------------------------------------------------------------------------------------


def test_of_many_processes_one_takes_a_row(db: Database, make: Make, lane: Endpoint) -> None:
    todos = [make.todo(lane, rings=True) for _ in range(5)]
    ringing.created(db, todos)

    outcomes = all_returned(together(6, lambda number: bell_rows.take(
        db, f"process {number}", {lane.id: True})))

    assert sorted(row.todo_id or "" for rows in outcomes for row in rows) == sorted(todos)
    assert make.value("select count(*) from doorbells where taken_at is null") == 0


def test_a_row_is_left_to_whoever_holds_a_stream_of_its_endpoint(
    db: Database, make: Make, lane: Endpoint
) -> None:
    ringing.created(db, [make.todo(lane, rings=True)])

    assert taken(db, make.endpoint()) == []
    assert len(taken(db, lane)) == 1
    assert taken(db, lane) == []


def test_a_row_nobody_took_within_a_minute_is_void(
    db: Database, make: Make, clock: Clock, lane: Endpoint
) -> None:
    clock.set(NOON)
    ringing.created(db, [make.todo(lane, rings=True)])
    clock.advance(59)
    ringing.created(db, [make.todo(lane, rings=True)])
    clock.advance(1)

    assert len(taken(db, lane)) == 1
    assert make.value("select count(*) from doorbells where taken_at is null") == 1


@pytest.fixture
def night(make: Make) -> Team:
    return make.team("night")


def drainer(make: Make, team: Team, queue: int) -> Endpoint:
    human = make.human()
    make.member(team, human)
    endpoint = make.endpoint(human)
    make.grant(endpoint, queue)
    return endpoint


def test_a_teams_bell_goes_to_one_endpoint_that_drains_the_queue_and_is_in(
    db: Database, make: Make, night: Team
) -> None:
    queue = make.team_queue(night)
    ana, ben = drainer(make, night, queue), drainer(make, night, queue)
    ringing.created(db, [make.todo(queue=queue, rings=True)])

    assert taken(db, make.endpoint()) == []
    assert taken(db, ben, out=(ben,)) == []
    rings = taken(db, ana, ben, out=(ben,))

    assert [ring.endpoint_ids for ring in rings] == [(ana.id,)]
    assert rings[0].bell.meta["queue"] == "team:night/inbox"


def test_a_teams_reopening_is_a_row_for_each_and_each_process_takes_its_own(
    db: Database, make: Make, night: Team
) -> None:
    queue = make.team_queue(night)
    ana, ben = drainer(make, night, queue), drainer(make, night, queue)
    make.todo(queue=queue, rings=True)
    reopening.owe(db, int(queue), "paused")  # open: it rings at once

    assert [ring.endpoint_ids for ring in taken(db, ana)] == [(ana.id,)]
    assert [ring.endpoint_ids for ring in taken(db, ben)] == [(ben.id,)]


def test_rows_nobody_waits_for_are_not_read_by_those_who_ask_for_theirs(
    db: Database, make: Make, lane: Endpoint
) -> None:
    deaf = make.endpoint()
    todo = make.todo(deaf, rings=True)
    make.run("insert into doorbells (endpoint_id, queue_id, todo_id, kind)"
             " select %s, %s, %s, 'todo' from generate_series(1, 3000)",
             deaf.id, todo.queue_id, str(todo))
    make.run("analyze doorbells")
    with db.reading() as conn:
        plan = conn.execute(
            b"explain select o.id from doorbells o where o.taken_at is null"
            b" and o.endpoint_id = any (%s::uuid[])"
            b" and o.created_at > (select clock()) - interval '60 s'", [[lane.id]]).fetchall()

    said = "\n".join(str(line[0]) for line in plan)
    assert "Index Scan" in said
    assert "Index Cond: ((endpoint_id = ANY" in said or "Index Cond: (endpoint_id = ANY" in said


# --- judging again -------------------------------------------------------------------------------


@pytest.mark.parametrize("why", ["out", "claimed", "closed", "revoked", "unscoped"])
def test_what_has_changed_since_the_row_was_written_rings_nothing(
    db: Database, make: Make, lane: Endpoint, why: str
) -> None:
    todo = make.todo(lane, rings=True)
    ringing.created(db, [todo])
    match why:
        case "claimed":
            make.run(CLAIM)
        case "closed":
            make.policy(todo.queue_id, max_in_flight=0)
        case "revoked":
            make.run("update endpoints set state = 'revoked', revoked_at = clock()")
        case "unscoped":
            make.run("update endpoints set scope_queues = '{other}'")

    assert taken(db, lane, out=(lane,) if why == "out" else ()) == []
    assert make.rows(STAMPS) == []


def test_a_reopen_row_rings_the_oldest_that_is_left(
    db: Database, make: Make, lane: Endpoint
) -> None:
    first = make.todo(lane, rings=True)
    second = make.todo(lane, rings=True)
    for _ in range(2):
        owed(make, lane, first.queue_id, first)
    make.run(f"{CLAIM} where id = %s", str(first))

    assert todo_ids(taken(db, lane)) == [second, second]
    make.run(CLAIM)
    owed(make, lane, first.queue_id, first)
    assert taken(db, lane) == []


def test_a_broken_or_newer_digest_is_dropped_and_the_others_ring(
    db: Database, make: Make, lane: Endpoint
) -> None:
    for meta in ('{}', '{"pending":1,"queues":["q"],"queue_ids":[1],"oldest_seconds":3,'
                 '"reason":"a newer one"}',
                 '{"pending":2,"queues":["q"],"queue_ids":[1],"oldest_seconds":90,'
                 '"reason":"clock_in"}'):
        make.run("insert into doorbells (endpoint_id, kind, meta) values (%s, 'digest', %s)",
                 lane.id, meta)

    assert [ring.bell.content for ring in taken(db, lane)] == [
        "2 todos pending in q, the oldest for 1 min"]


# --- once a minute -------------------------------------------------------------------------------


def test_a_todo_rings_once_a_minute_and_the_retry_scheduler_clears_that(
    db: Database, make: Make, clock: Clock, lane: Endpoint
) -> None:
    clock.set(NOON)
    todo = make.todo(lane, rings=True)
    heard = []
    for seconds, clears in ((0, False), (59, False), (0, True), (59, False), (1, False)):
        clock.advance(seconds)
        ringing.requeued(db, [todo], tells_hooks=False, clears_silence=clears)
        heard.append(len(taken(db, lane)))  # each time another process, which remembers nothing

    assert heard == [1, 0, 1, 0, 1]


def test_two_rows_of_one_todo_in_one_turn_ring_once(
    db: Database, make: Make, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)
    for _ in range(2):
        ringing.created(db, [todo])

    assert todo_ids(taken(db, lane)) == [todo]


def test_a_todo_that_an_opening_stream_rings_meanwhile_does_not_ring_twice(
    db: Database, db_url: str, make: Make, lane: Endpoint
) -> None:
    """The stream is known before its attach ring, so that both may happen at once."""
    todo = make.todo(lane, rings=True)
    ringing.created(db, [todo])
    attach = bell_rounds.SQL["mark_attach_rung"]
    asked = {"queue_ids": [int(todo.queue_id)], "limit": 3, "endpoint_id": lane.id}
    with psycopg.connect(db_url) as other:
        assert len(other.execute(attach, asked).fetchall()) == 1
        rings = taken(db, lane)

    assert rings == []
    assert make.row(todo)["last_ringed_at"] is not None


def test_a_requeued_todo_that_rang_since_does_not_ring_again(
    db: Database, make: Make, clock: Clock, lane: Endpoint
) -> None:
    clock.set(NOON)
    todo = make.todo(lane, rings=True)
    ringing.requeued(db, [todo], tells_hooks=False, clears_silence=True)
    clock.advance(1)
    rung = bell_rounds.attach(db, lane.id)
    clock.advance(1)

    assert todo_ids(rung) == [todo]
    assert taken(db, lane) == []


def test_two_processes_that_hold_two_rows_of_one_todo_ring_once(
    db: Database, make: Make, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)
    for _ in range(2):
        ringing.created(db, [todo])
    present = {lane.id: True}
    batches = [bell_rows.take(db, "each", present, limit=1) for _ in range(2)]
    judged = [bell_rows.judge(db, rows, present) for rows in batches]

    assert [len(rings) for rings in judged] == [1, 1]
    assert sorted(len(bell_stamps.stamp(db, rings)) for rings in judged) == [0, 1]


def test_a_reopen_bell_ignores_silence_and_starts_it_anew_at_every_process(
    db: Database, make: Make, clock: Clock, lane: Endpoint
) -> None:
    clock.set(NOON)
    todo = make.todo(lane, rings=True)
    ringing.created(db, [todo])
    taken(db, lane)
    clock.advance(50)
    owed(make, lane, todo.queue_id, todo)
    reopened = taken(db, lane)
    heard = []
    for seconds in (50, 9, 1):
        clock.advance(seconds)
        ringing.created(db, [todo])
        heard.append(len(taken(db, lane, process="another")))

    assert todo_ids(reopened) == [todo]
    assert heard == [0, 0, 1]


def test_a_reopen_bell_silences_the_todo_it_named_and_one_that_was_dropped_none(
    db: Database, make: Make, lane: Endpoint
) -> None:
    first, second = make.todo(lane, rings=True), make.todo(lane, rings=True)
    make.run(f"{CLAIM} where id = %s", str(first))
    owed(make, lane, first.queue_id, first)
    assert todo_ids(taken(db, lane)) == [second]
    make.run(f"{CLAIM} where id = %s", str(second))
    owed(make, lane, first.queue_id, first)
    assert taken(db, lane) == []
    make.run("update todos set state = 'pending', owner = null, lease_expires_at = null")
    ringing.created(db, [first, second])

    assert todo_ids(taken(db, lane)) == [first]


# --- stamps --------------------------------------------------------------------------------------


def test_a_creation_bell_stamps_its_todo_and_spends_nothing(
    db: Database, make: Make, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)
    ringing.created(db, [todo])
    assert isinstance(db.feed, RecordingFeed)
    db.feed.told.clear()
    taken(db, lane)

    assert make.row(todo)["last_ringed_at"] is not None
    assert make.row(todo)["ring_attempts"] == 0
    # A claim that met the row locked passed it over: whoever waits is told to look again.
    assert db.feed.told == [("ready", (todo.queue_id,))]


@pytest.mark.rule("R63")
def test_a_reopen_bell_stamps_its_queue_and_no_todo(
    db: Database, make: Make, lane: Endpoint
) -> None:
    todo = make.todo(lane, rings=True)
    owed(make, lane, todo.queue_id, todo)
    before = make.rows("select xmin::text from todos")
    taken(db, lane)

    assert make.rows("select xmin::text from todos") == before
    assert make.value("select last_reopen_ring_at from queues where id = %s",
                      todo.queue_id) is not None


@pytest.mark.rule("R63")
def test_a_digest_stamps_each_queue_it_counted_and_no_todo(
    db: Database, make: Make, clock: Clock, lane: Endpoint
) -> None:
    queue = int(make.queue_id(lane))
    for at in (NOON, NOON + timedelta(hours=1)):
        clock.set(at)
        make.run("insert into doorbells (endpoint_id, kind, meta) values (%s, 'digest',"
                 " jsonb_build_object('pending', 1, 'queues', '[\"inbox\"]'::jsonb, 'queue_ids',"
                 " jsonb_build_array(%s::bigint, 0), 'oldest_seconds', 1, 'reason', 'operator'))",
                 lane.id, queue)
        taken(db, lane)

    assert make.rows("select endpoint_id, queue_id, last_digest_at from digest_stamps") == [
        (lane.id, queue, NOON + timedelta(hours=1))]


def test_a_todo_that_is_being_claimed_holds_up_no_bell_and_has_none(
    db: Database, db_url: str, make: Make, lane: Endpoint
) -> None:
    held, free = make.todo(lane, rings=True), make.todo(lane, rings=True)
    ringing.created(db, [held, free])
    with psycopg.connect(db_url) as claim:
        claim.execute("select 1 from todos where id = %s for update", (str(held),))
        rings = taken(db, lane)

    assert todo_ids(rings) == [free]
    assert make.rows(STAMPS) == [(str(free),)]


def test_a_todo_that_a_row_names_meanwhile_rings(
    db: Database, db_url: str, make: Make, lane: Endpoint
) -> None:
    """A row that refers to a todo locks its key, which is neither a claim nor a ring."""
    todo = make.todo(lane, rings=True)
    ringing.created(db, [todo])
    with psycopg.connect(db_url) as other:
        other.execute("select 1 from todos where id = %s for key share", (str(todo),))
        rings = taken(db, lane)

    assert todo_ids(rings) == [todo]
