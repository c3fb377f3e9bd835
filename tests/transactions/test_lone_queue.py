"""An endpoint of one queue claims without a peek, and in the same order as with one."""

from __future__ import annotations

from datetime import timedelta

from app.db.database import Database
from app.domain.callers import Endpoint
from app.transactions import claiming
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from tests.support.make import Make


def take(db: Database, endpoint: Endpoint) -> Claimed | NothingClaimed:
    return claiming.claim_next(db, endpoint, None, ClaimRequest(), gone=lambda: False)


def taken(db: Database, endpoint: Endpoint) -> str:
    answer = take(db, endpoint)
    assert isinstance(answer, Claimed)
    return answer.todo.id


def known_as_lone(db: Database, make: Make, *, limit: int | None = None) -> Endpoint:
    endpoint = make.endpoint(queues=("first",))
    if limit is not None:
        make.policy(make.queue_id(endpoint, "first"), max_claims_per_window=limit)
    make.todo(endpoint, queue="first")
    taken(db, endpoint)
    lone = db.memory.lone.get(endpoint.id)
    assert lone is not None
    assert lone.is_trusted
    return endpoint


def test_an_older_todo_of_a_queue_granted_since_is_claimed_first(db: Database, make: Make) -> None:
    for limit in (None, 10):
        endpoint = known_as_lone(db, make, limit=limit)
        now = make.now()
        make.todo(endpoint, queue="first", created_at=now - timedelta(hours=1))
        make.run("update endpoints set scope_queues = '{first,second}' where id = %s", endpoint.id)
        make.queue(endpoint, "second")
        older = make.todo(endpoint, queue="second", created_at=now - timedelta(hours=2))

        assert taken(db, endpoint) == older.id


def test_an_older_due_retry_is_claimed_before_a_pending_todo(db: Database, make: Make) -> None:
    for limit in (None, 10):
        endpoint = known_as_lone(db, make, limit=limit)
        now = make.now()
        make.todo(endpoint, queue="first", created_at=now - timedelta(hours=1))
        retry = make.todo(endpoint, queue="first", state="failed", attempt=1,
                          created_at=now - timedelta(hours=2),
                          next_retry_at=now - timedelta(minutes=1))

        assert taken(db, endpoint) == retry.id


def test_a_policy_that_came_since_is_obeyed(db: Database, make: Make) -> None:
    endpoint = known_as_lone(db, make)
    make.policy(make.queue_id(endpoint, "first"), max_claims_per_window=0)
    make.todo(endpoint, queue="first")

    answer = take(db, endpoint)

    assert isinstance(answer, NothingClaimed)
    assert [each.queue for each in answer.deferred] == ["first"]


def test_a_queue_that_is_no_longer_granted_is_not_claimed_from(db: Database, make: Make) -> None:
    for limit in (None, 10):
        endpoint = known_as_lone(db, make, limit=limit)
        make.todo(endpoint, queue="first")
        make.run("update endpoints set scope_queues = '{}' where id = %s", endpoint.id)

        assert isinstance(take(db, endpoint), NothingClaimed)


def test_an_exhausted_budget_is_refused_without_a_peek_too(db: Database, make: Make) -> None:
    endpoint = known_as_lone(db, make, limit=1)
    make.todo(endpoint, queue="first")

    answer = take(db, endpoint)

    assert isinstance(answer, NothingClaimed)
    assert [each.reason for each in answer.deferred] == ["window_exhausted"]
