"""A queue whose budget was spent is looked at without a lock first, and never on a guess."""

from __future__ import annotations

from datetime import timedelta

from app.db.database import Database
from app.domain.callers import Endpoint
from app.transactions import claiming
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from tests.support.clock import Clock
from tests.support.make import Make


def take(db: Database, endpoint: Endpoint) -> Claimed | NothingClaimed:
    return claiming.claim_next(db, endpoint, None, ClaimRequest(), gone=lambda: False)


def spent_beside_another(db: Database, make: Make) -> Endpoint:
    """Two todos in an exhausted queue, older than three in a queue without a policy."""
    endpoint = make.endpoint(queues=("spent", "open"))
    make.policy(make.queue_id(endpoint, "spent"), max_claims_per_window=1)
    now = make.now()
    for _ in range(3):
        make.todo(endpoint, queue="spent", created_at=now - timedelta(hours=1))
        make.todo(endpoint, queue="open", created_at=now)
    assert queue_of(take(db, endpoint)) == "spent"
    assert queue_of(take(db, endpoint)) == "open"
    assert db.memory.spent.get(make.queue_id(endpoint, "spent")) is not None
    return endpoint


def queue_of(answer: Claimed | NothingClaimed) -> str:
    assert isinstance(answer, Claimed)
    return answer.todo.queue


def test_a_spent_queue_does_not_hold_up_another(db: Database, make: Make) -> None:
    endpoint = spent_beside_another(db, make)
    with db.transaction() as conn:
        conn.execute("select 1 from admission_policies for update")

        assert queue_of(take(db, endpoint)) == "open"

    counted = db.counters.value("switchboard_admission_refusals_total", queue="spent",
                                reason="window_exhausted")
    assert counted == 2


def test_a_raised_limit_is_seen_at_once(db: Database, make: Make) -> None:
    endpoint = spent_beside_another(db, make)
    make.run("update admission_policies set max_claims_per_window = 2")

    assert queue_of(take(db, endpoint)) == "spent"
    assert queue_of(take(db, endpoint)) == "open"


def test_a_removed_policy_is_seen_at_once(db: Database, make: Make) -> None:
    endpoint = spent_beside_another(db, make)
    make.run("update admission_policies set deleted_at = clock(), revision = revision + 1")

    assert queue_of(take(db, endpoint)) == "spent"
    assert queue_of(take(db, endpoint)) == "spent"


def test_units_that_are_free_again_are_seen_at_once(db: Database, make: Make) -> None:
    endpoint = spent_beside_another(db, make)
    make.run("update admission_windows set used = 0")

    assert queue_of(take(db, endpoint)) == "spent"


def test_windows_that_cannot_be_read_do_not_stop_the_others(db: Database, make: Make) -> None:
    endpoint = spent_beside_another(db, make)
    make.run("alter table admission_windows rename column used to unreadable")
    try:
        assert queue_of(take(db, endpoint)) == "open"
    finally:
        make.run("alter table admission_windows rename column unreadable to used")


def test_a_new_window_is_seen_at_once(db: Database, make: Make, clock: Clock) -> None:
    endpoint = spent_beside_another(db, make)
    clock.advance(24 * 3600)

    assert queue_of(take(db, endpoint)) == "spent"
    assert queue_of(take(db, endpoint)) == "open"
