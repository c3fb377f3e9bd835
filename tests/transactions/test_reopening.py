"""A closed queue owes one ring: who marks it, who removes the mark, what rings (R27, R28)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.errors import Deferred
from app.domain.queues import QueueAddress
from app.transactions import (
    claiming,
    policies,
    reopen_sweep,
    reopening,
    ringing,
    settling,
    sweeps,
)
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from app.transactions.settling import Settlement
from tests.support.clock import Clock
from tests.support.make import Make, QueueId

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
BELLS = "select endpoint_id, queue_id, todo_id, kind from doorbells order by id"
MARKS = "select queue_id, reason from admission_reopen order by queue_id"


@pytest.fixture
def ada(make: Make) -> Human:
    return make.human("Ada")


@pytest.fixture
def lane(make: Make, ada: Human) -> Endpoint:
    return make.endpoint(ada, queues=("lane-m",))


@pytest.fixture
def queue(make: Make, lane: Endpoint) -> QueueId:
    return make.queue_id(lane, "lane-m")


def take(db: Database, endpoint: Endpoint) -> Claimed | NothingClaimed:
    return claiming.claim_next(db, endpoint, None, ClaimRequest(), gone=lambda: False)


def taken(db: Database, endpoint: Endpoint) -> str:
    answer = take(db, endpoint)
    assert isinstance(answer, Claimed)
    return answer.todo.id


def reopens(make: Make) -> list[tuple[object, ...]]:
    return make.rows(f"select * from ({BELLS}) b where kind = 'reopen'")


# --- the mark ------------------------------------------------------------------------------------


def test_the_claim_that_takes_the_last_slot_marks_the_queue(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    make.policy(queue, max_in_flight=2)
    for _ in range(3):
        make.todo(lane, queue, rings=True)

    take(db, lane)
    assert make.rows(MARKS) == []
    take(db, lane)

    assert make.rows(MARKS) == [(int(queue), "in_flight_full")]


def test_the_claim_that_spends_the_last_unit_marks_the_queue(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    make.policy(queue, max_claims_per_window=1)
    make.todo(lane, queue)

    take(db, lane)

    assert make.rows(MARKS) == [(int(queue), "window_exhausted")]


def test_a_refusal_marks_the_queue(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    make.policy(queue, max_in_flight=0)
    todo = make.todo(lane, queue)

    assert isinstance(take(db, lane), NothingClaimed)
    assert make.rows(MARKS) == [(int(queue), "paused")]
    make.run("delete from admission_reopen")
    with pytest.raises(Deferred):
        claiming.claim(db, lane, todo, ClaimRequest(), gone=lambda: False)

    assert make.rows(MARKS) == [(int(queue), "paused")]


def test_a_policy_write_that_closes_the_queue_marks_it(
    db: Database, make: Make, ada: Human, lane: Endpoint, queue: QueueId
) -> None:
    policies.save(db, ada, QueueAddress(f"endpoint:{lane.slug}", "lane-m"), {"max_in_flight": 0})

    assert make.rows(MARKS) == [(int(queue), "paused")]


def test_a_suppressed_push_marks_the_queue_and_writes_nothing_else(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    make.policy(queue, max_in_flight=0)
    todo = make.todo(lane, queue, rings=True)
    before = make.row(todo)

    from_the_start = make.rows("select xmin::text from todos")
    ringing.created(db, [todo])

    assert make.rows(MARKS) == [(int(queue), "paused")]
    assert make.rows(BELLS) == []
    assert make.row(todo) == before
    assert make.rows("select xmin::text from todos") == from_the_start


def test_a_queue_without_a_policy_is_never_marked(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    make.todo(lane, queue)
    make.run("alter table admission_reopen rename to elsewhere")
    try:
        settling.complete(db, lane, taken(db, lane), Settlement())
    finally:
        make.run("alter table elsewhere rename to admission_reopen")


# --- the ring ------------------------------------------------------------------------------------


def test_a_completion_rings_once_for_the_oldest_eligible_todo(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    """R59: cap 1, claim, more todos created, complete: one bell, without any refusal between."""
    make.policy(queue, max_in_flight=1)
    make.todo(lane, queue)
    first = taken(db, lane)
    make.todo(lane, queue, created_at=NOON)  # nobody vouches for it: it never rings
    oldest = make.todo(lane, queue, created_at=NOON + timedelta(seconds=1), rings=True)
    make.todo(lane, queue, created_at=NOON + timedelta(seconds=2), rings=True)

    settling.complete(db, lane, first, Settlement())

    assert make.rows(BELLS) == [(lane.id, int(queue), str(oldest), "reopen")]
    assert make.rows(MARKS) == []


def test_a_slot_that_frees_while_the_window_is_spent_rings_nothing_and_keeps_the_mark(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    make.policy(queue, max_in_flight=1, max_claims_per_window=1)
    for _ in range(2):
        make.todo(lane, queue, rings=True)

    settling.complete(db, lane, taken(db, lane), Settlement())

    assert make.rows(BELLS) == []
    assert [row[0] for row in make.rows(MARKS)] == [int(queue)]


@pytest.mark.parametrize("end", ["complete", "fail", "release", "reap", "raise", "clear"])
def test_every_way_to_open_a_queue_rings_exactly_once(
    db: Database, make: Make, ada: Human, lane: Endpoint, queue: QueueId, end: str
) -> None:
    at = QueueAddress(f"endpoint:{lane.slug}", "lane-m")
    policies.save(db, ada, at, {"max_in_flight": 1})
    for _ in range(3):
        make.todo(lane, queue, rings=True)
    todo = taken(db, lane)
    match end:
        case "complete":
            settling.complete(db, lane, todo, Settlement())
        case "fail":
            settling.fail(db, lane, todo, Settlement())
        case "release":
            settling.release(db, lane, todo, Settlement())
        case "reap":
            make.run("update todos set lease_expires_at = clock() - interval '1 s'"
                     " where id = %s", todo)
            sweeps.reap(db)
        case "raise":
            policies.save(db, ada, at, {"max_in_flight": 2})
        case "clear":
            policies.clear(db, ada, at)

    assert [row[3] for row in make.rows(BELLS)] == ["reopen"]
    assert make.rows(MARKS) == []


def test_a_boundary_rings_once_and_says_when_the_next_is_due(
    db: Database, make: Make, clock: Clock, lane: Endpoint, queue: QueueId
) -> None:
    clock.set(NOON)
    make.policy(queue, max_claims_per_window=1, period="hour")
    for _ in range(41):
        make.todo(lane, queue, rings=True)
    take(db, lane)

    early = reopen_sweep.ring_due(db, most=10)
    clock.set(NOON + timedelta(hours=1))
    due = reopen_sweep.ring_due(db, most=10)
    again = reopen_sweep.ring_due(db, most=10)

    assert early.next_in is not None
    assert 3590 < early.next_in <= 3600
    assert [each.bells for each in due.reopened] == [1]
    assert (again.reopened, again.next_in) == ([], None)
    assert len(reopens(make)) == 1


def test_a_sweep_is_bounded_and_comes_round_to_every_queue(
    db: Database, make: Make, lane: Endpoint, ada: Human
) -> None:
    names = tuple(f"q{number}" for number in range(5))
    many = make.endpoint(ada, queues=names)
    for name in names:
        number = make.queue_id(many, name)
        make.todo(many, number, rings=True)
        make.run("insert into admission_reopen (queue_id, reason) values (%s, 'paused')",
                 int(number))

    turns = [reopen_sweep.ring_due(db, most=2) for _ in range(3)]

    assert [len(turn.reopened) for turn in turns] == [2, 2, 1]
    assert [turn.next_in for turn in turns] == [0.0, 0.0, None]
    assert len(reopens(make)) == 5


def test_a_lost_mark_is_set_again_by_the_sweep(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    make.policy(queue, max_in_flight=0)
    make.todo(lane, queue, rings=True)

    assert reopen_sweep.mark_lost(db, after=0, most=10) == (1, 0)
    assert make.rows(MARKS) == [(int(queue), "paused")]


def test_a_queue_without_eligible_work_loses_its_mark_and_rings_nothing(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    make.policy(queue, max_in_flight=1)
    make.todo(lane, queue)
    first = taken(db, lane)
    make.todo(lane, queue)

    settling.complete(db, lane, first, Settlement())

    assert (make.rows(BELLS), make.rows(MARKS)) == ([], [])


def test_a_clocked_out_endpoint_gets_no_row_and_the_mark_goes_all_the_same(
    db: Database, make: Make, lane: Endpoint, queue: QueueId
) -> None:
    make.policy(queue, max_in_flight=1)
    for _ in range(2):
        make.todo(lane, queue, rings=True)
    first = taken(db, lane)
    make.run("update endpoints set presence_override = 'out', override_by = 'agent',"
             " override_set_at = clock()")

    settling.complete(db, lane, first, Settlement())

    assert (make.rows(BELLS), make.rows(MARKS)) == ([], [])


def test_a_team_queue_rings_at_every_endpoint_that_drains_it(db: Database, make: Make) -> None:
    team, ana, ben = make.team("night"), make.human(), make.human()
    queue = make.team_queue(team)
    for human in (ana, ben):
        make.member(team, human)
    drains = [make.endpoint(ana), make.endpoint(ana), make.endpoint(ben)]
    stranger = make.endpoint(make.human())
    for endpoint in (*drains, stranger):
        make.grant(endpoint, queue)
    make.policy(queue, max_in_flight=1)
    todo = make.todo(queue=queue, state="claimed", holder=drains[0], rings=True)
    make.todo(queue=queue, rings=True)
    reopening.owe(db, int(queue), "in_flight_full")

    settling.complete(db, drains[0], todo, Settlement())

    assert {row[0] for row in reopens(make)} == {each.id for each in drains}
    assert len(reopens(make)) == 3
