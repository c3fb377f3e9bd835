"""Claims under a policy: what is admitted, what is refused and why, and what a claim is charged."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from app.db.database import Database
from app.db.memory import Memory
from app.domain.errors import Conflict, Deferred, Unavailable
from app.transactions import claiming, picking, settling
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed, of_endpoint
from app.transactions.picking import Kind
from app.transactions.settling import Settlement
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.pg import Fresh, opened
from tests.support.race import all_returned, together

PLAIN = ClaimRequest()
NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)


def take(db, endpoint, queue=None, **request):
    return claiming.claim_next(db, endpoint, queue, ClaimRequest(**request), gone=lambda: False)


def reasons(answer: NothingClaimed) -> list[tuple]:
    return [(w.queue, str(w.reason), w.pending) for w in answer.deferred]


def used(make: Make) -> int:
    return make.value("select coalesce(sum(used), 0)::int from admission_windows")


def marks_differ(make: Make) -> list[tuple]:
    """Windows whose used differs from the attempts marked as charged there (R62)."""
    return make.rows("""
        select coalesce(w.policy_id, a.policy_id), w.used, a.marked
          from admission_windows w
          full join (select charged_policy_id as policy_id, charged_window_start as window_start,
                            count(*)::int as marked
                       from todo_attempts where charged_policy_id is not null
                      group by 1, 2) a using (policy_id, window_start)
         where w.used is distinct from a.marked""")


@pytest.mark.req("REQ-1", "A daily budget")
def test_a_daily_budget_admits_its_limit_until_pacific_midnight(
    db: Database, make: Make, clock: Clock
) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=2, tz="America/Los_Angeles")
    for _ in range(5):
        make.todo(endpoint)
    clock.set("2026-09-30T20:00:00Z")

    first, second, third = take(db, endpoint), take(db, endpoint), take(db, endpoint)

    assert (first.admission.used, first.admission.remaining) == (1, 1)
    assert (second.admission.used, second.admission.remaining) == (2, 0)
    assert reasons(third) == [("inbox", "window_exhausted", 3)]
    midnight = datetime(2026, 10, 1, 7, tzinfo=UTC)
    assert third.deferred[0].next_eligible_at == midnight
    assert third.deferred[0].exact
    assert third.boundary_in == pytest.approx(11 * 3600)
    clock.set(midnight)
    assert take(db, endpoint).admission.used == 1


@pytest.mark.req("REQ-1", "Zero pauses the queue")
def test_a_limit_of_zero_pauses_the_queue(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_in_flight=0, max_claims_per_window=100)
    todo = make.todo(endpoint)

    assert reasons(take(db, endpoint)) == [("inbox", "paused", 1)]
    with pytest.raises(Deferred) as refused:
        claiming.claim(db, endpoint, str(todo), PLAIN, gone=lambda: False)
    assert refused.value.extras == {
        "queue": "inbox", "reason": "paused", "next_eligible_at": None, "exact": False}
    assert make.value("select state from todos") == "pending"
    assert used(make) == 0


@pytest.mark.req("REQ-4", "In-flight cap")
def test_a_full_cap_refuses_until_a_claim_completes(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_in_flight=2)
    for _ in range(4):
        make.todo(endpoint)

    first, second = take(db, endpoint), take(db, endpoint)
    refused = take(db, endpoint)
    settling.complete(db, endpoint, first.todo.id, Settlement())
    admitted = take(db, endpoint)

    assert (first.admission.in_flight, second.admission.in_flight) == (1, 2)
    assert reasons(refused) == [("inbox", "in_flight_full", 2)]
    assert not refused.deferred[0].exact
    hint = second.todo.lease_expires_at + timedelta(seconds=30)
    assert abs(refused.deferred[0].next_eligible_at - hint) < timedelta(seconds=2)
    assert isinstance(admitted, Claimed)
    assert admitted.admission.max_claims_per_window is None
    assert used(make) == 0


@pytest.mark.req("REQ-4", "Takeover at the in-flight cap")
@pytest.mark.rule("R4: an older pending todo does not hide the takeover a full cap still admits")
def test_a_full_cap_admits_the_takeover_of_its_lapsed_claim(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_in_flight=1)
    make.todo(endpoint, created_at=make.now() - timedelta(hours=1))
    lapsed = make.todo(endpoint, state="claimed", attempt=1, lease=-5)

    claimed = take(db, endpoint)

    assert claimed.todo.id == str(lapsed)
    assert claimed.admission.in_flight == 1
    assert reasons(take(db, endpoint)) == [("inbox", "in_flight_full", 1)]


@pytest.mark.rule("R3: other lapsed claims count, the candidate does not")
def test_the_candidate_of_a_takeover_is_not_counted_but_others_are(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint()
    policy = make.policy(make.queue_id(endpoint), max_in_flight=2)
    make.todo(endpoint, state="claimed", attempt=1)
    lapsed = make.todo(endpoint, state="claimed", attempt=1, lease=-5)
    pending = make.todo(endpoint)

    with pytest.raises(Deferred):
        claiming.claim(db, endpoint, str(pending), PLAIN, gone=lambda: False)
    assert claiming.claim(db, endpoint, str(lapsed), PLAIN, gone=lambda: False).todo
    make.run("update todos set lease_expires_at = clock() - interval '1 s' where id = %s",
             str(lapsed))
    make.run("update admission_policies set max_in_flight = 1 where id = %s", policy)
    with pytest.raises(Deferred):
        claiming.claim(db, endpoint, str(lapsed), PLAIN, gone=lambda: False)


@pytest.mark.req("REQ-4", "One deferred queue does not starve the others")
def test_an_exhausted_queue_with_the_oldest_todo_does_not_starve_the_other(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint(queues=("triage", "lane-s"))
    make.policy(make.queue_id(endpoint, "lane-s"), max_claims_per_window=0)
    now = make.now()
    make.todo(endpoint, "lane-s", created_at=now - timedelta(hours=1))
    older = make.todo(endpoint, "triage", created_at=now - timedelta(minutes=5))
    make.todo(endpoint, "triage", created_at=now)

    assert take(db, endpoint).todo.id == str(older)
    assert db.counters.value("switchboard_admission_refusals_total",
                             queue="lane-s", reason="paused") == 1


@pytest.mark.req("REQ-3", "A retry is charged")
def test_a_retry_is_charged_again(db: Database, make: Make, clock: Clock) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=10)
    make.todo(endpoint)
    clock.set(NOON)
    first = take(db, endpoint)
    settling.fail(db, endpoint, first.todo.id, Settlement())
    clock.advance(31)

    again = take(db, endpoint)

    assert (again.todo.id, again.admission.used) == (first.todo.id, 2)
    assert make.rows("select used, retries, takeovers from admission_windows") == [(2, 1, 0)]


@pytest.mark.req("REQ-3", "A takeover is charged")
def test_a_takeover_is_charged(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=10)
    make.todo(endpoint, state="claimed", attempt=1, lease=-5)

    assert take(db, endpoint).admission.used == 1
    assert make.rows("select used, retries, takeovers from admission_windows") == [(1, 0, 1)]


@pytest.mark.req("REQ-3", "Release does not refund")
def test_a_release_refunds_nothing_and_the_next_claim_is_charged(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=2)
    make.todo(endpoint)
    for expected in (1, 2):
        claimed = take(db, endpoint)
        assert claimed.admission.used == expected
        settling.release(db, endpoint, claimed.todo.id, Settlement())
        assert used(make) == expected

    assert reasons(take(db, endpoint)) == [("inbox", "window_exhausted", 1)]


@pytest.mark.req("REQ-7", "Headroom on a successful claim")
def test_the_73rd_claim_says_73_used_and_27_left(db: Database, make: Make, clock: Clock) -> None:
    endpoint = make.endpoint()
    clock.set(NOON)
    policy = make.policy(make.queue_id(endpoint), max_claims_per_window=100)
    make.window(policy, NOON.replace(hour=0), 72)
    make.todo(endpoint)

    left = take(db, endpoint).admission

    assert (left.used, left.remaining) == (73, 27)
    assert left.window_resets_at == NOON.replace(hour=0) + timedelta(days=1)
    assert (left.max_in_flight, left.in_flight) == (None, 1)


@pytest.mark.req("REQ-7", "A worker is told to wait, not to poll")
def test_an_exhausted_queue_answers_a_deferred_list(
    db: Database, make: Make, clock: Clock
) -> None:
    endpoint = make.endpoint(queues=("investigations",))
    clock.set("2026-09-30T20:00:00Z")
    queue = make.queue_id(endpoint, "investigations")
    policy = make.policy(queue, max_claims_per_window=100, tz="America/Los_Angeles")
    make.window(policy, datetime(2026, 9, 30, 7, tzinfo=UTC), 100)
    for _ in range(12):
        make.todo(endpoint, "investigations")

    answer = take(db, endpoint)

    assert reasons(answer) == [("investigations", "window_exhausted", 12)]
    assert answer.deferred[0].next_eligible_at == datetime(2026, 10, 1, 7, tzinfo=UTC)


@pytest.mark.req("REQ-9", "A policy that cannot be evaluated")
@pytest.mark.parametrize(("column", "bad", "kind"), [
    ("window_tz", "Mars/Olympus", "unknown_zone"), ("window_tz", "America", "unknown_zone"),
    ("window_start", "25:99", "invalid_policy"), ("max_claims_per_window", "-1", "invalid_policy"),
])
def test_a_broken_policy_blocks_only_its_queue_and_heals_by_a_valid_row(
    fresh_database: Fresh, column: str, bad: str, kind: str
) -> None:
    db, make = fresh_database.db, Make(fresh_database.url)
    endpoint = make.endpoint(queues=("broken", "sound"))
    make.policy(make.queue_id(endpoint, "broken"), max_claims_per_window=5)
    make.run("alter table admission_policies drop constraint admission_policies_start,"
             " drop constraint admission_policies_max_claims")
    good = make.value(f"select {column} from admission_policies")
    make.run(f"update admission_policies set {column} = '{bad}'")
    make.todo(endpoint, "broken")
    make.todo(endpoint, "sound")

    first, second = take(db, endpoint), take(db, endpoint)

    assert first.todo.queue == "sound"
    assert reasons(second) == [("broken", "admission_unavailable", 1)]
    assert make.value("select kind from admission_faults") == kind
    assert db.counters.value("switchboard_admission_refusals_total",
                             queue="broken", reason="admission_unavailable") == 2
    make.run(f"update admission_policies set {column} = '{good}'")
    assert take(db, endpoint).todo.queue == "broken"
    assert make.value("select count(*) from admission_faults") == 0
    make.close()


@pytest.mark.rule("R9: conflict before deferred")
def test_a_todo_that_is_not_claimable_conflicts_even_in_a_paused_queue(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_in_flight=0)
    todo = make.todo(endpoint, state="done")

    with pytest.raises(Conflict):
        claiming.claim(db, endpoint, str(todo), PLAIN, gone=lambda: False)


@pytest.mark.rule("R1: a claim that waits for the policy across a boundary charges the new window")
@pytest.mark.parametrize("by_id", [False, True])
def test_a_claim_held_at_the_policy_lock_across_midnight_charges_the_new_day(
    db: Database, make: Make, clock: Clock, db_url: str, *, by_id: bool
) -> None:
    endpoint = make.endpoint()
    policy = make.policy(make.queue_id(endpoint), max_claims_per_window=5)
    midnight = NOON.replace(hour=0) + timedelta(days=1)
    make.window(policy, midnight - timedelta(days=1), 5)
    todo = str(make.todo(endpoint))
    clock.set(midnight - timedelta(seconds=1))
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from admission_policies for update")

        def act(number: int) -> object:
            if number == 0 and by_id:
                return claiming.claim(db, endpoint, todo, PLAIN, gone=lambda: False)
            if number == 0:
                return take(db, endpoint)
            make.wait_until_blocked()
            clock.set(midnight + timedelta(seconds=1))
            return holder.rollback()

        claimed, _ = all_returned(together(2, act))

    assert claimed.admission.used == 1
    assert claimed.todo.claimed_at == midnight + timedelta(seconds=1)
    assert make.value("select used from admission_windows where window_start = %s", midnight) == 1


@pytest.mark.rule("R1: a claim stopped between charge and guard across a boundary starts over")
def test_a_claim_that_outlives_its_window_before_the_commit_is_charged_to_the_next(
    fresh_database: Fresh,
) -> None:
    db, make = fresh_database.db, Make(fresh_database.url)
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=5)
    midnight = NOON.replace(hour=0) + timedelta(days=1)
    make.todo(endpoint)
    clock = Clock(fresh_database.url)
    clock.set(midnight - timedelta(seconds=1))
    make.run("""create function stop_once() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock(77); return new; end $$""")
    make.run("create trigger stop_once before insert on admission_windows for each row"
             " execute function stop_once()")
    with psycopg.connect(fresh_database.url, autocommit=True) as holder:
        holder.execute("select pg_advisory_lock(77)")

        def act(number: int) -> object:
            if number == 0:
                return take(db, endpoint)
            make.wait_until_blocked()
            clock.set(midnight + timedelta(seconds=2))
            return holder.execute("select pg_advisory_unlock(77)")

        claimed, _ = all_returned(together(2, act))

    assert claimed.admission.used == 1
    assert make.rows("select window_start, used from admission_windows") == [(midnight, 1)]
    assert make.rows("select charged_window_start from todo_attempts") == [(midnight,)]
    make.close()


@pytest.mark.rule("R10: Pause while a claim waits for its todo: refused")
def test_a_pause_during_the_wait_for_the_todo_is_obeyed(
    db: Database, make: Make, db_url: str
) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint)
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from todos where id = %s for update", (str(todo),))

        def act(number: int) -> object:
            if number == 0:
                return claiming.claim(db, endpoint, str(todo), PLAIN, gone=lambda: False)
            make.wait_until_blocked()
            make.policy(make.queue_id(endpoint), max_in_flight=0)
            return holder.rollback()

        claimed, _ = together(2, act)

    assert isinstance(claimed, Deferred)
    assert make.value("select state from todos") == "pending"


@pytest.mark.rule("R8: a policy lock not had in 5 s refuses that queue and goes on to the others")
def test_a_held_policy_lock_refuses_its_queue_and_the_call_claims_elsewhere(
    db: Database, make: Make, db_url: str
) -> None:
    endpoint = make.endpoint(queues=("busy", "free"))
    make.policy(make.queue_id(endpoint, "busy"), max_in_flight=5)
    now = make.now()
    make.todo(endpoint, "busy", created_at=now - timedelta(hours=1))
    make.todo(endpoint, "free", created_at=now)
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from admission_policies for update")

        claimed = take(db, endpoint)

    assert claimed.todo.queue == "free"
    assert make.value("select kind from admission_faults") == "lock_timeout"


@pytest.mark.rule("R61: a replay answers today's headroom with nothing charged")
def test_a_replay_charges_nothing(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=5)
    make.todo(endpoint)
    make.todo(endpoint)
    keyed = {"claim_key": "k", "args_hash": b"a" * 32, "require_fence": True}

    first, again = take(db, endpoint, **keyed), take(db, endpoint, **keyed)

    assert (again.todo.id, again.lease_token) == (first.todo.id, first.lease_token)
    assert again.admission == first.admission
    assert used(make) == 1
    settled = Settlement(lease_token=first.lease_token)
    settling.release(db, endpoint, first.todo.id, settled)
    assert take(db, endpoint, **keyed).admission.used == 2


@pytest.mark.rule("R44: the board claim is admitted, charged and refused like any other")
def test_a_board_claim_is_charged_and_obeys_a_pause(db: Database, make: Make) -> None:
    ada = make.human("ada")
    endpoint = make.endpoint(ada)
    policy = make.policy(make.queue_id(endpoint), max_claims_per_window=5)
    first, second = make.todo(endpoint), make.todo(endpoint)

    claimed = claiming.board_claim(db, ada, str(first), gone=lambda: False)
    make.run("update admission_policies set max_claims_per_window = 0 where id = %s", policy)

    assert claimed.admission.used == 1
    with pytest.raises(Deferred):
        claiming.board_claim(db, ada, str(second), gone=lambda: False)


@pytest.mark.req("REQ-4", "Concurrent claimers cannot exceed the limit")
@pytest.mark.rule("A1: 50 callers, limit 10: exactly 10, and nobody is told a bare empty")
@pytest.mark.parametrize("policy", [{"max_claims_per_window": 10}, {"max_in_flight": 10}])
def test_fifty_callers_at_a_limit_of_ten_make_exactly_ten_claims(
    db: Database, make: Make, policy: dict
) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), **policy)
    for _ in range(50):
        make.todo(endpoint)

    answers = all_returned(together(50, lambda _: take(db, endpoint)))

    claims = [answer for answer in answers if isinstance(answer, Claimed)]
    assert len(claims) == 10
    assert all(answer.deferred for answer in answers if isinstance(answer, NothingClaimed))
    assert make.value("select count(*) from todos where state = 'claimed'") == 10
    assert used(make) == (10 if "max_claims_per_window" in policy else 0)


@pytest.mark.rule("R2: the database alone keeps the limit, gates only save connections")
@pytest.mark.parametrize("policy", [{"max_claims_per_window": 10}, {"max_in_flight": 10}])
def test_the_limit_holds_among_callers_that_share_no_gate(
    db: Database, make: Make, policy: dict
) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), **policy)
    for _ in range(40):
        make.todo(endpoint)
    apart = [dataclasses.replace(db, memory=Memory()) for _ in range(12)]

    for _ in range(3):
        answers = all_returned(together(12, lambda n: take(apart[n], endpoint)))
        assert all(isinstance(a, Claimed) or a.deferred for a in answers)

    assert make.value("select count(*) from todos where state = 'claimed'") == 10
    assert make.value("select count(*) from todo_attempts") == 10
    assert marks_differ(make) == []


@pytest.mark.rule("R3: the locked row's cap is counted to, not a remembered one")
def test_a_raised_cap_is_counted_in_full(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_in_flight=5)
    for _ in range(12):
        make.todo(endpoint)
    assert sum(isinstance(take(db, endpoint), Claimed) for _ in range(6)) == 5
    make.run("update admission_policies set max_in_flight = 10, revision = revision + 1")

    assert sum(isinstance(take(db, endpoint), Claimed) for _ in range(7)) == 5


@pytest.mark.rule("R7: a head hidden by another's lock is waited for, never called empty")
def test_a_caller_that_finds_every_row_locked_waits_for_the_head(
    db: Database, make: Make, db_url: str
) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=10)
    todo = make.todo(endpoint)
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from todos for update")

        def act(number: int) -> object:
            if number == 0:
                return take(db, endpoint)
            make.wait_until_blocked()
            return holder.rollback()

        claimed, _ = all_returned(together(2, act))

    assert isinstance(claimed, Claimed)
    assert claimed.todo.id == str(todo)


@pytest.mark.rule("R10: a policy deleted while a claim waits for it: no policy, not charged")
def test_a_policy_deleted_during_the_wait_is_no_policy(
    db: Database, make: Make, db_url: str
) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=1)
    make.todo(endpoint)
    with psycopg.connect(db_url) as holder:
        holder.execute("update admission_policies set deleted_at = clock()")

        def act(number: int) -> object:
            if number == 0:
                return take(db, endpoint)
            make.wait_until_blocked()
            return holder.commit()

        claimed, _ = all_returned(together(2, act))

    assert claimed.admission is None
    assert used(make) == 0
    assert make.value("select charged_policy_id from todo_attempts") is None


@pytest.mark.rule("R12: a client that is gone is neither admitted nor charged")
def test_a_gone_client_is_not_charged(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=5)
    todo = make.todo(endpoint)

    for attempt in (
        lambda: claiming.claim_next(db, endpoint, None, PLAIN, gone=lambda: True),
        lambda: claiming.claim(db, endpoint, str(todo), PLAIN, gone=lambda: True),
    ):
        with pytest.raises(Unavailable):
            attempt()

    assert used(make) == 0
    assert make.value("select count(*) from admission_faults") == 0
    assert make.value("select state from todos") == "pending"


@pytest.mark.rule("R13: the one-statement claim of a queue asks has_policy itself")
def test_the_plain_claim_of_a_queue_that_got_a_policy_finds_nothing(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint()
    queue_id = make.queue_id(endpoint)
    make.policy(queue_id, max_in_flight=0)
    make.todo(endpoint)
    claimer = of_endpoint(endpoint, PLAIN)

    # As if the peek had been read before the policy was set.
    found = picking.take_next(db, claimer, int(queue_id), Kind.PENDING, lambda: False)

    assert found is None
    assert make.value("select state from todos") == "pending"


@pytest.mark.rule("R38: one refusal per call and queue, however often the call looks")
def test_a_refusal_is_counted_once_per_call(db: Database, make: Make) -> None:
    endpoint = make.endpoint(queues=("a", "b", "idle"))
    for name in ("a", "b", "idle"):
        make.policy(make.queue_id(endpoint, name), max_in_flight=0)
    make.todo(endpoint, "a")
    make.todo(endpoint, "b")
    request = ClaimRequest()

    for _ in range(3):
        claiming.claim_next(db, endpoint, None, request, gone=lambda: False)

    counted = {name: db.counters.value("switchboard_admission_refusals_total", queue=name,
                                       reason="paused") for name in ("a", "b", "idle")}
    assert counted == {"a": 1, "b": 1, "idle": 0}


@pytest.mark.rule("R62: every charge is marked on its attempt, and only those")
def test_charges_and_marks_agree_under_changing_policies(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    policy = make.policy(make.queue_id(endpoint), max_claims_per_window=50)
    for _ in range(6):
        make.todo(endpoint)
    first, second = take(db, endpoint), take(db, endpoint)
    settling.release(db, endpoint, first.todo.id, Settlement())
    make.run("update admission_policies set max_claims_per_window = null, max_in_flight = 9")
    uncharged = take(db, endpoint)
    make.run("update admission_policies set max_claims_per_window = 3, window_period = 'hour'")
    take(db, endpoint)
    make.run("update admission_policies set window_period = 'day', deleted_at = clock()")
    take(db, endpoint)

    assert (second.admission.used, uncharged.admission.used) == (2, None)
    assert marks_differ(make) == []
    assert make.value("select count(*) from todo_attempts where charged_policy_id = %s",
                      policy) == 3


@pytest.mark.rule("R13: a queue without a policy touches no admission table")
def test_without_a_policy_no_admission_table_exists_for_the_claim(fresh_database: Fresh) -> None:
    db, make = fresh_database.db, Make(fresh_database.url)
    for table in ("admission_policies", "admission_windows", "admission_faults",
                  "admission_policy_audit", "admission_write_buckets"):
        make.run(f"alter table {table} rename to gone_{table}")
    endpoint = make.endpoint()
    todo = make.todo(endpoint)
    make.todo(endpoint, state="claimed", attempt=1, lease=-5)

    assert claiming.claim(db, endpoint, str(todo), PLAIN, gone=lambda: False).admission is None
    assert settling.release(db, endpoint, str(todo), Settlement()).state == "pending"
    assert take(db, endpoint).todo
    assert take(db, endpoint).todo
    assert take(db, endpoint) == NothingClaimed()
    make.close()


@pytest.mark.rule("R2: the limits hold under another default isolation")
def test_the_cap_holds_when_the_default_isolation_is_repeatable_read(
    fresh_database: Fresh,
) -> None:
    make = Make(fresh_database.url)
    make.run("do $$ begin execute format('alter database %I set default_transaction_isolation"
             " to ''repeatable read''', current_database()); end $$")
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_in_flight=2)
    for _ in range(20):
        make.todo(endpoint)

    with opened(fresh_database.url) as db:
        # Without a shared gate, or the callers would come one after the other anyway.
        apart = [dataclasses.replace(db, memory=Memory()) for _ in range(12)]
        answers = all_returned(together(12, lambda n: take(apart[n], endpoint)))

    assert sum(isinstance(answer, Claimed) for answer in answers) == 2
    make.close()
