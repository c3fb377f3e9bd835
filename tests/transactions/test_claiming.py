"""The claim: what may be claimed, by whom, in which order, and what one committed claim leaves."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from app.db.database import Database
from app.domain.errors import Conflict, Deferred, Forbidden, NotFound, Unavailable
from app.transactions import claiming, replaying
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.pg import Fresh
from tests.support.race import all_returned, together

PLAIN = ClaimRequest()


def here() -> bool:
    return False


def take(db, endpoint, queue=None, request=PLAIN, gone=here):
    return claiming.claim_next(db, endpoint, queue, request, gone=gone)


@pytest.mark.rule("R48: oldest by created_at, then id, across the granted queues")
def test_the_oldest_todo_of_all_granted_queues_is_claimed(db: Database, make: Make) -> None:
    endpoint = make.endpoint(queues=("a", "b"))
    now = make.now()
    younger = make.todo(endpoint, "a", created_at=now - timedelta(seconds=5))
    older = make.todo(endpoint, "b", created_at=now - timedelta(seconds=9))

    first, second = take(db, endpoint), take(db, endpoint)

    assert (first.todo.id, second.todo.id) == (str(older), str(younger))


@pytest.mark.rule("R48: equal timestamps are ordered by id")
def test_equal_ages_are_taken_in_the_order_of_their_ids(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    at = make.now()
    todos = sorted(str(make.todo(endpoint, created_at=at)) for _ in range(4))

    assert [take(db, endpoint).todo.id for _ in todos] == todos


@pytest.mark.rule("todos.md: a claim sets owner, lease and attempt and opens one attempt")
def test_a_claim_leaves_one_open_attempt_and_one_count(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint, payload={"n": 1})

    claimed = take(db, endpoint, request=ClaimRequest(claimant="me\x00\n", lease_ttl_seconds=90))

    assert isinstance(claimed, Claimed)
    assert claimed.todo.id == str(todo)
    assert claimed.todo.state == "claimed"
    assert claimed.todo.owner == endpoint.owner
    assert claimed.todo.payload == {"n": 1}
    assert claimed.todo.lease_expires_at - claimed.todo.claimed_at == timedelta(seconds=90)
    assert (claimed.todo.attempt, claimed.attempt_seq, claimed.attempts_total) == (1, 1, 1)
    assert claimed.prior_attempts == ()
    assert make.value("select count(*) from todo_attempts where ended_at is null") == 1
    assert make.value("select claimant from todo_attempts") == "me"
    assert db.counters.value("switchboard_todos_claimed_total", queue="inbox") == 1


@pytest.mark.rule("REQ-7: empty means no pending work in any granted queue")
def test_with_nothing_to_do_the_answer_is_empty(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint, state="done")
    make.todo(endpoint, state="claimed")
    make.todo(endpoint, state="failed")

    assert take(db, endpoint) == NothingClaimed(deferred=())


@pytest.mark.rule("identity.md: an endpoint drains its own granted queues only")
def test_other_owners_and_ungranted_queues_are_never_picked(db: Database, make: Make) -> None:
    endpoint, stranger = make.endpoint(queues=("inbox",)), make.endpoint()
    make.todo(stranger)
    ungranted = make.queue(endpoint, "elsewhere")
    make.todo(endpoint, ungranted)

    assert take(db, endpoint) == NothingClaimed()
    with pytest.raises(Forbidden):
        take(db, endpoint, "elsewhere")
    with pytest.raises(Forbidden):
        take(db, endpoint, "never heard of")
    with pytest.raises(NotFound):
        take(db, endpoint, "team:nobody/inbox")


@pytest.mark.rule("agent-api.md: with queue, only that queue is considered")
def test_a_named_queue_is_the_only_one_considered(db: Database, make: Make) -> None:
    endpoint = make.endpoint(queues=("a", "b"))
    make.todo(endpoint, "a")

    assert take(db, endpoint, "b") == NothingClaimed()
    assert take(db, endpoint, "a").todo.queue == "a"


@pytest.mark.rule("todos.md: a due retry is claimable, one not yet due is not")
def test_a_due_retry_is_claimed_and_a_parked_one_is_not(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    now = make.now()
    due = make.todo(endpoint, state="failed", attempt=1, next_retry_at=now - timedelta(seconds=1))
    make.todo(endpoint, state="failed", attempt=1, next_retry_at=now + timedelta(seconds=60))

    claimed = take(db, endpoint)

    assert claimed.todo.id == str(due)
    assert (claimed.todo.attempt, claimed.todo.next_retry_at) == (2, None)
    assert [a.outcome for a in claimed.prior_attempts] == ["failed"]
    assert take(db, endpoint) == NothingClaimed()


@pytest.mark.rule("R70: lapsed leases come last; a takeover closes the old attempt")
def test_a_lapsed_lease_is_taken_over_when_nothing_else_is_there(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    lapsed = make.todo(endpoint, state="claimed", attempt=1, lease=-5)
    pending = make.todo(endpoint)

    first, second = take(db, endpoint), take(db, endpoint)

    assert (first.todo.id, second.todo.id) == (str(pending), str(lapsed))
    assert second.todo.attempt == 2
    assert [a.outcome for a in second.prior_attempts] == ["lease_expired"]
    assert second.prior_attempts[0].died
    assert db.counters.value("switchboard_todo_leases_expired_total", queue="inbox") == 1


@pytest.mark.rule("todos.md: a lapsed claim at max_attempts is the reaper's alone")
def test_a_lapsed_lease_at_the_cap_is_not_claimable(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint, state="claimed", attempt=5, lease=-5)

    assert take(db, endpoint) == NothingClaimed()
    with pytest.raises(Conflict):
        claiming.claim(db, endpoint, str(todo), PLAIN, gone=here)


@pytest.mark.rule("agent-api.md: order of checks for claim")
def test_claim_by_id_checks_tenant_then_grant_then_state(db: Database, make: Make) -> None:
    endpoint, stranger = make.endpoint(), make.endpoint()
    foreign = make.todo(stranger)
    ungranted = make.todo(endpoint, make.queue(endpoint, "elsewhere"))
    done = make.todo(endpoint, state="done")
    mine = make.todo(endpoint)

    for unknown in (str(foreign), "td_" + "0" * 32, "nonsense", ""):
        with pytest.raises(NotFound):
            claiming.claim(db, endpoint, unknown, PLAIN, gone=here)
    with pytest.raises(Forbidden):
        claiming.claim(db, endpoint, str(ungranted), PLAIN, gone=here)
    with pytest.raises(Conflict):
        claiming.claim(db, endpoint, str(done), PLAIN, gone=here)
    assert claiming.claim(db, endpoint, str(mine), PLAIN, gone=here).todo.state == "claimed"
    with pytest.raises(Conflict):
        claiming.claim(db, endpoint, str(mine), PLAIN, gone=here)


@pytest.mark.rule("R12: a client that is gone leaves no trace")
@pytest.mark.parametrize("request_", [PLAIN, ClaimRequest(require_fence=True),
                                      ClaimRequest(claim_key="k", args_hash=b"h" * 32)])
def test_a_client_that_left_claims_nothing(db: Database, make: Make, request_) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint)

    with pytest.raises(Unavailable):
        take(db, endpoint, request=request_, gone=lambda: True)
    with pytest.raises(Unavailable):
        claiming.claim(db, endpoint, str(todo), request_, gone=lambda: True)

    assert make.value("select state from todos") == "pending"
    assert make.value("select count(*) from todo_attempts") == 0
    assert db.counters.value("switchboard_todos_claimed_total", queue="inbox") == 0
    assert take(db, endpoint).todo.id == str(todo)


@pytest.mark.rule("R12: a client that leaves while claim waits for its todo leaves no trace")
def test_a_client_that_leaves_while_waiting_for_the_todo_leaves_no_trace(
    db: Database, make: Make, db_url: str
) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint)
    left = []
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from todos where id = %s for update", (str(todo),))

        def claim_or_hold(number: int) -> object:
            if number == 0:
                return claiming.claim(db, endpoint, str(todo), PLAIN, gone=lambda: bool(left))
            make.wait_until_blocked()
            left.append(True)
            return holder.rollback()

        outcomes = together(2, claim_or_hold)

    assert isinstance(outcomes[0], Unavailable)
    assert make.value("select state from todos") == "pending"
    assert make.value("select count(*) from todo_attempts") == 0


@pytest.mark.rule("R8: a todo lock not had in 5 s is unavailable, and no refusal is counted")
def test_a_todo_that_stays_locked_is_unavailable(db: Database, make: Make, db_url: str) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint)
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from todos where id = %s for update", (str(todo),))

        with pytest.raises(Unavailable):
            claiming.claim(db, endpoint, str(todo), PLAIN, gone=lambda: False)


@pytest.mark.rule("R61: the same key answers the claim it already made, token included")
def test_a_key_replays_its_claim_while_the_attempt_is_open(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)
    make.todo(endpoint)
    keyed = ClaimRequest(claim_key="key-1", args_hash=b"a" * 32, require_fence=True)

    first, again = take(db, endpoint, request=keyed), take(db, endpoint, request=keyed)

    assert again == first
    assert first.lease_token
    assert make.value("select count(*) from todo_attempts") == 1
    assert db.counters.value("switchboard_todos_claimed_total", queue="inbox") == 1
    with pytest.raises(Conflict):
        take(db, endpoint, request=ClaimRequest(claim_key="key-1", args_hash=b"b" * 32))
    other = take(db, make.endpoint(), request=keyed)
    assert other == NothingClaimed()


@pytest.mark.rule("R61: two calls with one key at once make one claim")
def test_one_key_used_twice_at_once_makes_one_claim(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    for turn in range(1, 11):
        for _ in range(5):
            make.todo(endpoint)
        keyed = ClaimRequest(claim_key=f"key-{turn}", args_hash=b"a" * 32)

        answers = all_returned(
            together(8, lambda _, keyed=keyed: take(db, endpoint, request=keyed)))

        assert len({answer.todo.id for answer in answers}) == 1
        assert make.value("select count(*) from todo_attempts") == turn


@pytest.mark.rule("R39: unreadable policy tables refuse budgeted queues and no other")
def test_unreadable_policy_tables_refuse_only_queues_with_a_policy(
    fresh_database: Fresh,
) -> None:
    db, make = fresh_database.db, Make(fresh_database.url)
    endpoint = make.endpoint(queues=("budgeted", "free"))
    todo = make.todo(endpoint, "budgeted")
    make.policy(make.queue_id(endpoint, "budgeted"), max_in_flight=5)
    for table in ("admission_policies", "admission_windows", "admission_faults"):
        make.run(f"alter table {table} rename to gone_{table}")

    answer = take(db, endpoint)

    assert [(w.queue, w.reason, w.pending) for w in answer.deferred] == [
        ("budgeted", "admission_unavailable", 1)
    ]
    with pytest.raises(Deferred) as refused:
        claiming.claim(db, endpoint, str(todo), PLAIN, gone=here)
    assert refused.value.extras["reason"] == "admission_unavailable"
    make.todo(endpoint, "free")
    assert take(db, endpoint).todo.queue == "free"
    make.close()


@pytest.mark.rule("identity.md: a team queue is drained within grant and live reach")
def test_a_team_queue_is_drained_by_endpoints_of_two_humans(db: Database, make: Make) -> None:
    ada, bob = make.human("ada"), make.human("bob")
    team = make.team("crew")
    make.member(team, ada)
    make.member(team, bob)
    queue = make.team_queue(team, "shared")
    of_ada, of_bob = make.endpoint(ada), make.endpoint(bob)
    make.grant(of_ada, queue)
    make.grant(of_bob, queue)
    todos = {str(make.todo(queue=queue)) for _ in range(2)}

    first, second = take(db, of_ada), take(db, of_bob, "team:crew/shared")

    assert {first.todo.id, second.todo.id} == todos
    assert first.todo.queue == "team:crew/shared"
    assert first.todo.team == "crew"
    make.todo(queue=queue)
    make.remove_member(team, bob)
    assert take(db, of_bob) == NothingClaimed()
    with pytest.raises(NotFound):
        take(db, of_bob, "team:crew/shared")


@pytest.mark.rule("R44: a human claims within reach, always for 300 s")
def test_the_board_claims_for_a_human_within_reach(db: Database, make: Make) -> None:
    ada, eve = make.human("ada"), make.human("eve")
    endpoint = make.endpoint(ada)
    todo = make.todo(endpoint)

    with pytest.raises(NotFound):
        claiming.board_claim(db, eve, str(todo), gone=here)
    claimed = claiming.board_claim(db, ada, str(todo), gone=here)

    assert claimed.todo.owner == ada.owner
    assert claimed.todo.lease_expires_at - claimed.todo.claimed_at == timedelta(seconds=300)
    assert make.value("select claimer_kind from todo_attempts") == "owner"


@pytest.mark.rule("todos.md: history is capped, the oldest closed attempts go and are counted")
def test_attempts_beyond_the_cap_are_pruned_and_counted(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.run("insert into settings values ('attempt_history_max_per_todo', '2')")
    make.todo(endpoint)
    for _ in range(8):
        claimed = take(db, endpoint)
        make.run("update todos set state = 'pending', lease_expires_at = null, attempt = 0")
        make.run("update todo_attempts set ended_at = clock(), outcome = 'released',"
                 " disposition = 'requeued' where ended_at is null")

    assert claimed.attempts_total == 8
    kept = make.value("select count(*) from todo_attempts")
    assert kept == 5  # a cap under the minimum is the minimum
    assert make.value("select attempts_pruned from todos") == 8 - kept


@pytest.mark.rule("R11: the lease is a full ttl from the moment of the claim")
def test_the_lease_counts_from_the_claim_not_from_the_wait(
    db: Database, make: Make, clock: Clock
) -> None:
    endpoint = make.endpoint(default_lease_ttl_seconds=600)
    make.todo(endpoint)
    at = clock.set("2026-11-01T08:30:00Z")

    claimed = take(db, endpoint)

    assert claimed.todo.claimed_at == at
    assert claimed.todo.lease_expires_at == at + timedelta(seconds=600)


@pytest.mark.rule("50 claimers, 50 todos: 50 distinct claims")
def test_fifty_callers_claim_fifty_distinct_todos(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    todos = {str(make.todo(endpoint)) for _ in range(50)}

    answers = all_returned(together(50, lambda _: take(db, endpoint)))

    assert {answer.todo.id for answer in answers} == todos
    assert make.value("select count(*) from todo_attempts where ended_at is null") == 50


@pytest.mark.rule("R61: a lease token is derived, never stored")
def test_the_lease_token_is_not_in_the_database(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.todo(endpoint)

    claimed = take(db, endpoint, request=ClaimRequest(require_fence=True))

    assert len(claimed.lease_token) == 22
    stored = make.value("select lease_token_hash from todo_attempts")
    assert bytes(stored) == replaying.token_hash(claimed.lease_token)
