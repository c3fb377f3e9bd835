"""Digests: what is counted, when one is owed, and that a reconnect's comes once (push.md)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.db.database import Database
from app.db.outbox import Backlog
from app.domain.bells import DigestReason
from app.domain.callers import Endpoint
from app.transactions import digests
from tests.support.clock import Clock
from tests.support.feed import RecordingFeed
from tests.support.make import Make
from tests.support.race import all_returned, together

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
ROWS = "select endpoint_id, queue_id, todo_id, kind, meta from doorbells"


@pytest.fixture
def lane(make: Make) -> Endpoint:
    return make.endpoint(queues=("b", "a", "shut", "empty"))


def owed(db: Database, endpoint: Endpoint) -> Backlog | None:
    with db.transaction() as conn:
        return digests.owe(conn, endpoint.id, DigestReason.CLOCK_IN)
    return None


@pytest.mark.rule("R29")
def test_a_digest_counts_eligible_work_in_open_queues(
    db: Database, make: Make, clock: Clock, lane: Endpoint
) -> None:
    clock.set(NOON)
    make.policy(make.queue_id(lane, "shut"), max_in_flight=0)
    for queue, age in (("b", 10), ("a", 7200), ("a", 5), ("shut", 9000)):
        make.todo(lane, queue, created_at=NOON - timedelta(seconds=age), rings=True)
    make.todo(lane, "b", created_at=NOON - timedelta(days=9))
    make.todo(lane, "b", state="claimed", rings=True)

    backlog = owed(db, lane)

    assert backlog is not None
    assert (backlog.endpoint_id, backlog.reason) == (lane.id, "clock_in")
    assert {each.queue: (each.pending, each.oldest_pending_seconds)
            for each in backlog.waiting} == {"a": (2, 7200), "b": (1, 10)}
    ((endpoint, queue_id, todo_id, kind, meta),) = make.rows(ROWS)
    assert (endpoint, queue_id, todo_id, kind) == (lane.id, None, None, "digest")
    assert isinstance(meta, dict)
    assert sorted(meta.pop("queue_ids")) == sorted(
        int(make.queue_id(lane, name)) for name in ("a", "b"))
    assert meta == {"pending": 3, "queues": ["a", "b"], "oldest_seconds": 7200,
                    "reason": "clock_in"}


@pytest.mark.rule("R29")
def test_nothing_but_closed_queues_is_no_digest(
    db: Database, make: Make, lane: Endpoint
) -> None:
    make.policy(make.queue_id(lane, "shut"), max_in_flight=0)
    make.todo(lane, "shut", rings=True)

    assert owed(db, lane) is None
    assert make.rows(ROWS) == []
    digests.mark_left_out(db, lane.id)
    assert make.value("select count(*) from admission_reopen") == 1


@pytest.mark.rule("R63")
def test_a_digest_writes_no_todo_and_spends_no_ring(
    db: Database, make: Make, lane: Endpoint
) -> None:
    make.todo(lane, "a", rings=True)
    before = make.rows("select xmin::text, ring_attempts, last_ringed_at from todos")
    owed(db, lane)

    assert make.rows("select xmin::text, ring_attempts, last_ringed_at from todos") == before


def test_a_reconnect_digest_comes_at_most_once_in_ten_minutes(
    db: Database, make: Make, clock: Clock, lane: Endpoint
) -> None:
    clock.set(NOON)
    assert not digests.owe_reconnect(db, lane.id)  # nothing waits: nothing is used up
    make.todo(lane, "a", rings=True)

    assert all_returned(together(4, lambda _: digests.owe_reconnect(db, lane.id))).count(True) == 1
    clock.advance(599)
    assert not digests.owe_reconnect(db, lane.id)
    clock.advance(1)
    assert digests.owe_reconnect(db, lane.id)

    assert make.value("select count(*) from doorbells where meta ->> 'reason' = 'reconnect'") == 2
    assert isinstance(db.feed, RecordingFeed)
    assert db.feed.ids("endpoints") == [lane.id, lane.id]


def test_an_endpoint_that_is_gone_gets_no_reconnect_digest(
    db: Database, make: Make, lane: Endpoint
) -> None:
    make.todo(lane, "a", rings=True)
    make.run("update endpoints set state = 'revoked', revoked_at = clock()")

    assert not digests.owe_reconnect(db, lane.id)


def test_a_mark_that_cannot_be_set_is_logged_only(
    db: Database, make: Make, lane: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    make.policy(make.queue_id(lane, "shut"), max_in_flight=0)
    make.todo(lane, "shut", rings=True)
    make.run("alter table admission_reopen rename to away")
    try:
        digests.mark_left_out(db, lane.id)
    finally:
        make.run("alter table away rename to admission_reopen")

    assert "reopen_not_marked" in caplog.text
