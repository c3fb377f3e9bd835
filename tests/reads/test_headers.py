"""Queue headers: whose they are, what they count, and how long a fault is news (R24, R56, R64)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.db.database import Database
from app.domain.admission import Admitted, Deferral, Reason
from app.domain.callers import Endpoint, Human
from app.reads import cards, headers
from app.reads.headers import Counts, SeenHeader
from app.transactions import claiming, faults, settling
from app.transactions.claims import Claimed, ClaimRequest
from app.transactions.settling import Settlement
from tests.support.clock import Clock
from tests.support.make import Make, QueueId
from tests.support.recorded import recorded


@pytest.fixture
def ana(make: Make) -> Human:
    return make.human("Ana")


@pytest.fixture
def lane(make: Make, ana: Human) -> Endpoint:
    return make.endpoint(ana)


@pytest.fixture
def inbox(make: Make, lane: Endpoint) -> QueueId:
    return make.queue_id(lane)


def only(db: Database, human: Human) -> SeenHeader:
    found = headers.headers_for(db, human.id)
    assert len(found) == 1
    return found[0]


def test_todos_are_counted_by_what_they_wait_for(
    db: Database, make: Make, ana: Human, lane: Endpoint
) -> None:
    soon = make.now() + timedelta(hours=1)
    for state, count, retry in (("pending", 4, None), ("claimed", 3, None), ("failed", 2, None),
                                ("failed", 1, soon), ("done", 5, None)):
        for _ in range(count):
            make.todo(lane, state=state, next_retry_at=retry)

    assert only(db, ana).counts == Counts(pending=4, claimed=3, retrying=1, dead=2)


def test_one_asks_for_queues_by_id_and_gets_ones_own_alone(
    db: Database, make: Make, ana: Human
) -> None:
    mine = make.endpoint(ana, queues=("a", "b"))
    theirs = make.endpoint(queues=("c",))
    ids = [int(make.queue_id(mine, "b")), int(make.queue_id(theirs, "c")), 999_999_999]
    make.todo(theirs, "c")

    assert [each.queue for each in headers.headers_for(db, ana.id)] == ["a", "b"]
    assert [each.queue for each in headers.headers_for(db, ana.id, ids)] == ["b"]
    assert headers.headers_for(db, ana.id, []) == []
    assert cards.cards_for(db, ana.id, ids) == {}


def test_a_namesake_is_one_of_all_that_are_seen_not_of_those_asked_for(
    db: Database, make: Make, ana: Human
) -> None:
    first = make.endpoint(ana, queues=("inbox", "own"))
    make.endpoint(ana, queues=("inbox",))
    make.endpoint(queues=("own",))
    team = make.team("night")
    make.member(team, ana)
    make.team_queue(team, "inbox")

    asked = [make.queue_id(first, "inbox"), make.queue_id(first, "own")]
    found = {each.queue: each.is_namesake for each in headers.headers_for(db, ana.id, asked)}

    assert found == {"inbox": True, "own": False}
    assert {each.queue: each.is_namesake for each in headers.headers_for(db, ana.id)} == {
        "inbox": True, "own": False, "team:night/inbox": False}


def test_who_may_configure_is_said_by_role_and_never_of_a_revoked_endpoint(
    db: Database, make: Make, ana: Human
) -> None:
    team = make.team("night")
    make.team_queue(team, "triage")
    make.endpoint(team=team, queues=("gone",), expires_at=make.now())
    boss = make.human()
    make.member(team, ana)
    make.member(team, boss, "admin")

    def seen(human: Human) -> dict[str, tuple[bool, bool]]:
        return {each.queue: (each.may_configure, each.is_revoked)
                for each in headers.headers_for(db, human.id)}

    assert seen(ana) == {"gone": (False, True), "team:night/triage": (False, False)}
    assert seen(boss) == {"gone": (False, True), "team:night/triage": (True, False)}


def test_every_limit_that_binds_is_in_the_status(
    db: Database, make: Make, ana: Human, lane: Endpoint, inbox: QueueId
) -> None:
    policy = make.policy(inbox, max_in_flight=1, max_claims_per_window=3)
    make.window(policy, make.now().replace(hour=0, minute=0, second=0, microsecond=0), used=3)
    make.todo(lane, state="claimed")

    status = only(db, ana).status

    assert status is not None
    assert isinstance(status.decision, Deferral)
    assert status.decision.reason is Reason.WINDOW_EXHAUSTED
    assert status.decision.also_binding == (Reason.IN_FLIGHT_FULL,)


def test_a_fault_is_news_for_ten_minutes(
    db: Database, make: Make, clock: Clock, ana: Human, inbox: QueueId
) -> None:
    clock.set("2026-11-30T14:05:00Z")
    make.policy(inbox, max_in_flight=1)
    faults.note(db, inbox, "lock_timeout")

    clock.advance(599)
    fresh = only(db, ana).fault
    clock.advance(1)

    assert fresh is not None
    assert (fresh.kind, fresh.at) == ("lock_timeout", make.now() - timedelta(minutes=10))
    assert only(db, ana).fault is None


@pytest.mark.rule("R64: until the next admitted claim, also one of a process that knew nothing")
@pytest.mark.parametrize("limit", [{"max_claims_per_window": 9}, {"max_in_flight": 9}])
@pytest.mark.parametrize("ends", ["open", "complete", "park", "fail"])
def test_a_claim_of_another_process_ends_the_news(
    db: Database, make: Make, clock: Clock, ana: Human, lane: Endpoint, inbox: QueueId,
    limit: dict[str, int], ends: str,
) -> None:
    clock.set("2026-11-30T14:05:00Z")
    make.policy(inbox, **limit)
    make.todo(lane)
    make.todo(lane, max_attempts=1 if ends == "fail" else 5)
    claim(db, lane)
    clock.advance(1)
    faults.note(db, inbox, "gate_timeout")
    db.memory.faults.pop(inbox)  # as in a process that neither wrote nor heard of it

    before = only(db, ana).fault
    clock.advance(1)
    todo_id = claim(db, lane)
    if ends == "complete":
        settling.complete(db, lane, todo_id, Settlement())
    elif ends in ("park", "fail"):
        settling.fail(db, lane, todo_id, Settlement())

    assert before is not None
    assert make.value("select count(*) from admission_faults") == 1
    assert only(db, ana).fault is None


def test_a_header_costs_the_same_statements_for_one_queue_and_for_many(
    db: Database, make: Make, ana: Human, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(names: tuple[str, ...]) -> None:
        lane = make.endpoint(ana, queues=names)
        for name in names:
            queue_id = make.queue_id(lane, name)
            make.policy(queue_id, max_in_flight=0, max_claims_per_window=5)
            faults.note(db, queue_id, "database")

    fill(("one",))
    with recorded(monkeypatch) as few:
        headers.headers_for(db, ana.id)
    fill(tuple(f"queue-{n}" for n in range(30)))
    with recorded(monkeypatch) as many:
        found = headers.headers_for(db, ana.id)

    assert len(found) == 31
    assert all(each.fault and not isinstance(each.status.decision, Admitted)
               for each in found if each.status)
    # Ours are named and explained; what the notifier says meanwhile is not.
    first = [each for each in few if each.startswith("--")]
    then = [each for each in many if each.startswith("--")]
    assert [each.splitlines()[0] for each in first] == [each.splitlines()[0] for each in then]
    assert len(first) == 7


def claim(db: Database, lane: Endpoint) -> str:
    taken = claiming.claim_next(db, lane, None, ClaimRequest(), gone=lambda: False)
    assert isinstance(taken, Claimed)
    return taken.todo.id
