"""Every end of a lease tells that a queue with a policy may admit again, and no other queue's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.transactions import endpoints, membership, settling, sweeps
from app.transactions.settling import Settlement
from tests.support.feed import RecordingFeed
from tests.support.make import Make, QueueId, TodoId

Ends = Callable[[Database, Make, Human, Endpoint, TodoId], object]


def policy(make: Make, queue_id: int) -> None:
    """A live cap on a queue; the trigger marks the queue."""
    make.run(
        "insert into admission_policies (id, queue_id, max_in_flight, created_by_human_id,"
        " updated_by_human_id) values (gen_random_uuid(), %s, 1, gen_random_uuid(),"
        " gen_random_uuid())", int(queue_id))


def reopened(db: Database) -> set[object]:
    assert isinstance(db.feed, RecordingFeed)
    return set(db.feed.ids("reopened"))


def _lapse(make: Make, todo: TodoId) -> None:
    make.run("update todos set lease_expires_at = clock() - interval '1 s' where id = %s", todo)


def _complete(db: Database, _: Make, __: Human, endpoint: Endpoint, todo: TodoId) -> object:
    return settling.complete(db, endpoint, todo, Settlement())


def _fail(db: Database, _: Make, __: Human, endpoint: Endpoint, todo: TodoId) -> object:
    return settling.fail(db, endpoint, todo, Settlement())


def _release(db: Database, _: Make, __: Human, endpoint: Endpoint, todo: TodoId) -> object:
    return settling.release(db, endpoint, todo, Settlement())


def _reap(db: Database, make: Make, _: Human, __: Endpoint, todo: TodoId) -> object:
    _lapse(make, todo)
    return sweeps.reap(db)


def _reap_last(db: Database, make: Make, _: Human, __: Endpoint, todo: TodoId) -> object:
    make.run("update todos set max_attempts = attempt where id = %s", todo)
    _lapse(make, todo)
    return sweeps.reap(db)


def _revoke(db: Database, _: Make, human: Human, endpoint: Endpoint, __: TodoId) -> object:
    return endpoints.revoke(db, human, endpoint.slug)


def _expire(db: Database, make: Make, _: Human, endpoint: Endpoint, __: TodoId) -> object:
    make.run("update endpoints set expires_at = clock() - interval '1 s' where id = %s",
             endpoint.id)
    return sweeps.expire(db)


ENDS: list[Ends] = [_complete, _fail, _release, _reap, _reap_last, _revoke, _expire]
NAMES = ["complete", "fail", "release", "reap", "reap at the cap", "revoke", "expiry"]


@pytest.mark.req("REQ-8")
@pytest.mark.parametrize("end", ENDS, ids=NAMES)
def test_a_lease_that_ends_reopens_its_queue(db: Database, make: Make, end: Ends) -> None:
    ada = make.human("ada")
    endpoint = make.endpoint(ada)
    todo = make.todo(endpoint, state="claimed")
    policy(make, todo.queue_id)

    end(db, make, ada, endpoint, todo)

    assert reopened(db) == {todo.queue_id}


@pytest.mark.parametrize("end", ENDS, ids=NAMES)
def test_a_queue_without_a_policy_has_nothing_to_reopen(
    db: Database, make: Make, end: Ends
) -> None:
    ada = make.human("ada")
    endpoint = make.endpoint(ada)
    todo = make.todo(endpoint, state="claimed")

    end(db, make, ada, endpoint, todo)

    assert reopened(db) == set()


@pytest.mark.parametrize("end", [_revoke, _expire], ids=["revoke", "expiry"])
def test_an_endpoint_that_ends_reopens_the_team_queue_it_worked_in(
    db: Database, make: Make, end: Ends
) -> None:
    ada, queue, endpoint, todo = _at_work_for_a_team(make)
    policy(make, queue)

    end(db, make, ada, endpoint, todo)

    assert reopened(db) == {int(queue)}


def test_a_lost_membership_reopens_the_team_queue(db: Database, make: Make) -> None:
    ada, queue, _, _ = _at_work_for_a_team(make)
    policy(make, queue)
    team = make.value("select team_id from queues where id = %s", int(queue))

    membership.remove_member(db, team, ada.id)

    assert reopened(db) == {int(queue)}


def test_pending_work_that_ends_with_its_endpoint_frees_no_slot(db: Database, make: Make) -> None:
    ada = make.human("ada")
    endpoint = make.endpoint(ada)
    policy(make, make.todo(endpoint).queue_id)

    endpoints.revoke(db, ada, endpoint.slug)

    assert reopened(db) == set()


def test_a_due_retry_frees_no_slot(db: Database, make: Make) -> None:
    due = make.now() - timedelta(seconds=1)
    policy(make, make.todo(make.endpoint(), state="failed", next_retry_at=due).queue_id)

    assert sweeps.requeue(db).requeued == 1
    assert reopened(db) == set()


def test_a_repeated_complete_tells_nothing_again(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint, state="claimed")
    policy(make, todo.queue_id)
    settling.complete(db, endpoint, todo, Settlement())
    assert isinstance(db.feed, RecordingFeed)
    db.feed.told.clear()

    settling.complete(db, endpoint, todo, Settlement())

    assert db.feed.told == []


def _at_work_for_a_team(make: Make) -> tuple[Human, QueueId, Endpoint, TodoId]:
    ada, team = make.human("ada"), make.team()
    make.member(team, ada)
    queue = make.team_queue(team)
    endpoint = make.endpoint(ada)
    make.grant(endpoint, queue)
    return ada, queue, endpoint, make.todo(queue=queue, state="claimed", holder=endpoint)
