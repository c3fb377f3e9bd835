"""What a claim answers when budgets change under it, and what must agree afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from app.db.database import Database
from app.db.memory import Counted
from app.domain.callers import Endpoint
from app.reads import admission
from app.transactions import claiming, settling
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from app.transactions.settling import Settlement
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.pg import Fresh

MIDNIGHT = datetime(2026, 10, 2, tzinfo=UTC)


def take(db: Database, endpoint: Endpoint) -> Claimed | NothingClaimed:
    return claiming.claim_next(db, endpoint, None, ClaimRequest(), gone=lambda: False)


@pytest.mark.rule("R6: a window that rolls over between refusal and answer is looked at again")
def test_a_boundary_between_the_refusal_and_the_answer_is_not_missed(
    db: Database, make: Make, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = make.endpoint()
    clock.set(MIDNIGHT - timedelta(seconds=1))
    policy = make.policy(make.queue_id(endpoint), max_claims_per_window=1)
    make.window(policy, MIDNIGHT - timedelta(days=1), 1)
    make.todo(endpoint)
    honest = admission.statuses

    def after_midnight(conn, queue_ids, **options):
        clock.set(MIDNIGHT)
        return honest(conn, queue_ids, **options)

    monkeypatch.setattr(admission, "statuses", after_midnight)

    claimed = take(db, endpoint)

    assert isinstance(claimed, Claimed)
    assert claimed.admission.used == 1


@pytest.mark.rule("R6: a cap that flaps is never answered with a plain empty")
def test_a_cap_that_looks_free_and_is_not_is_listed_with_its_last_refusal(
    db: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_in_flight=1)
    make.todo(endpoint, state="claimed", attempt=1)
    make.todo(endpoint)
    # Whenever it is looked at without the lock, the slot has just become free.
    monkeypatch.setattr(admission, "statuses", lambda *_args, **_options: {})

    answer = take(db, endpoint)

    assert isinstance(answer, NothingClaimed)
    assert [(w.queue, str(w.reason)) for w in answer.deferred] == [("inbox", "in_flight_full")]


@pytest.mark.rule("R69: pending is counted once a second, but who is listed is asked afresh")
def test_refused_callers_share_a_count_and_a_new_todo_is_listed_at_once(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint()
    queue_id = make.queue_id(endpoint)
    make.policy(queue_id, max_in_flight=0)
    assert take(db, endpoint) == NothingClaimed()
    db.memory.pending.put(int(queue_id), Counted.now(0))
    make.todo(endpoint)

    listed = take(db, endpoint)
    db.memory.pending.put(int(queue_id), Counted.now(7))
    shared = take(db, endpoint)

    assert [w.pending for w in listed.deferred] == [1]
    assert [w.pending for w in shared.deferred] == [7]


@pytest.mark.rule("R40: claimed is entered by the claim paths alone, each with an open attempt")
def test_nothing_enters_claimed_without_an_open_attempt(fresh_database: Fresh) -> None:
    db, make = fresh_database.db, Make(fresh_database.url)
    make.run("""
        create function demand_attempt() returns trigger language plpgsql as $$
        begin
          if not exists (select 1 from todo_attempts
                          where todo_id = new.id and ended_at is null) then
            raise 'claimed without an attempt';
          end if;
          return null;
        end $$""")
    make.run("create constraint trigger demand_attempt after update on todos"
             " deferrable initially deferred for each row"
             " when (new.state = 'claimed' and old.state <> 'claimed')"
             " execute function demand_attempt()")
    ada = make.human("ada")
    endpoint = make.endpoint(ada)
    make.policy(make.queue_id(endpoint), max_claims_per_window=50, max_in_flight=5)
    todos = [str(make.todo(endpoint)) for _ in range(3)]

    assert isinstance(take(db, endpoint), Claimed)
    for todo in todos[1:]:
        claimed = claiming.board_claim(db, ada, todo, gone=lambda: False)
        settling.release_as(db, ada, claimed.todo.id, Settlement())
        request = ClaimRequest(require_fence=True, claim_key=todo[-8:], args_hash=b"a" * 32)
        assert claiming.claim(db, endpoint, todo, request, gone=lambda: False)
    with pytest.raises(psycopg.errors.RaiseException):
        make.run("insert into todos (id, queue_id, endpoint_id, title)"
                 " select 'td_' || repeat('0', 32), queue_id, endpoint_id, 'x' from todos limit 1;"
                 " update todos set state = 'claimed', lease_expires_at = clock()"
                 " where state = 'pending'")
    make.close()


@pytest.mark.rule("R41: todo states are exactly four, and no status word is ever stored")
def test_no_todo_can_be_stored_as_deferred(db: Database, make: Make) -> None:
    make.todo(make.endpoint())

    for word in ("deferred", "admitted", "paused"):
        with pytest.raises(psycopg.errors.CheckViolation):
            make.run(f"update todos set state = '{word}'")


@pytest.mark.rule("must-have 15: charged rises as claimed does, and marked attempts equal used")
def test_charges_and_claims_rise_alike(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=40)
    for _ in range(45):
        make.todo(endpoint)

    answers = [take(db, endpoint) for _ in range(45)]

    assert sum(isinstance(answer, Claimed) for answer in answers) == 40
    claimed = db.counters.value("switchboard_todos_claimed_total", queue="inbox")
    charged = db.counters.value("switchboard_admission_charged_total", queue="inbox")
    marked = make.value("select count(*) from todo_attempts where charged_policy_id is not null")
    assert (claimed, charged, marked) == (40, 40, 40)
    assert make.value("select used from admission_windows") == 40
    assert db.counters.value("switchboard_admission_refusals_total", queue="inbox",
                             reason="window_exhausted") == 5
