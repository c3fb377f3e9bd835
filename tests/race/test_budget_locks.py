"""Races where rows stand locked: takeovers, a late caller behind everybody, and a revoke beside."""

from __future__ import annotations

import threading
from datetime import timedelta

import psycopg
import pytest

from app.domain.callers import Endpoint
from app.transactions import claiming
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from tests.support.make import Make
from tests.support.pg import Fresh, opened
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.servers import Answer, Fleet, agent, operator
from tests.support.verify import Verify, away_from_boundaries

pytestmark = [pytest.mark.race, pytest.mark.timeout(600)]
KINDS = [{"max_in_flight": 10}, {"max_claims_per_window": 10}]


@pytest.mark.req("REQ-4", "Takeover at the in-flight cap")
@pytest.mark.rule("R4: at cap 1 many callers make one takeover and nothing else")
def test_twenty_callers_at_a_cap_of_one_make_one_takeover(fresh_database: Fresh) -> None:
    make = Make(fresh_database.url)
    verify = Verify(make)
    with opened(fresh_database.url) as second:
        processes = [fresh_database.db, second]
        for _ in range(rounds(5, 100)):
            endpoint = make.endpoint()
            policy = make.policy(make.queue_id(endpoint), max_in_flight=1)
            make.todo(endpoint, created_at=make.now() - timedelta(hours=1))
            lapsed = make.todo(endpoint, state="claimed", attempt=1, lease=-5)

            answers = all_returned(together(20, lambda n, e=endpoint: claiming.claim_next(
                processes[n % 2], e, None, ClaimRequest(), gone=lambda: False)))

            taken = [each.todo.id for each in answers if isinstance(each, Claimed)]
            refused = [each for each in answers if isinstance(each, NothingClaimed)]
            assert taken == [str(lapsed)]
            assert {str(each.deferred[0].reason) for each in refused} == {"in_flight_full"}
            verify.all_well({policy: 1})
    make.close()


@pytest.mark.parametrize("policy", KINDS, ids=lambda kind: next(iter(kind)))
@pytest.mark.rule("R7: a late caller while all rows are locked waits for the head and claims it")
def test_a_late_caller_while_every_row_is_locked_is_not_told_empty(
    pair: Fleet, policy: dict[str, int]
) -> None:
    make, verify = pair.make, Verify(pair.make)
    for turn in range(rounds(5, 100)):
        endpoint = _endpoint(make, policy, 3)
        late = agent(pair[turn % 2].url, make.credential(endpoint))
        with psycopg.connect(pair.database_url) as holder:
            holder.execute("select 1 from todos where endpoint_id = %s for update", (endpoint.id,))

            def act(number: int, late=late, holder=holder) -> Answer | None:
                if number == 0:
                    return late.call("claim_next")
                make.wait_until_blocked()
                return holder.rollback()

            answer, _ = all_returned(together(2, act))

        assert answer is not None
        assert answer.status == 200
        assert not answer.json["empty"]
        verify.all_well()


@pytest.mark.parametrize("policy", KINDS, ids=lambda kind: next(iter(kind)))
@pytest.mark.rule("must-have 5: late callers beside a revoke: no deadlock, nothing left open")
def test_callers_that_wait_for_rows_beside_a_revoke_never_deadlock(
    pair: Fleet, policy: dict[str, int]
) -> None:
    make, verify = pair.make, Verify(pair.make)
    for turn in range(rounds(5, 100)):
        ada = make.human()
        endpoint = _endpoint(make, policy, 25, ada)
        token = make.credential(endpoint)
        workers = [agent(pair[n % 2].url, token) for n in range(24)]
        owner = operator(pair[turn % 2].url, make.operator_token(ada))
        revoking = threading.Event()
        with psycopg.connect(pair.database_url) as holder:
            holder.execute("select 1 from todos where endpoint_id = %s for update", (endpoint.id,))

            def act(number: int, workers=workers, owner=owner, holder=holder,
                    slug=endpoint.slug, revoking=revoking) -> Answer | None:
                if number == 24:
                    assert revoking.wait(30)
                    make.wait_until_blocked(2)
                    return holder.rollback()
                if number == 25:
                    make.wait_until_blocked()
                    revoking.set()
                    return owner.post(f"/endpoints/{slug}/revoke")
                return workers[number].call("claim_next")

            answers = all_returned(together(26, act))

        assert answers[25].status == 200
        assert {answer.status for answer in answers[:24]} <= {200, 401, 429}
        assert make.value("select count(*) from todos where endpoint_id = %s"
                          " and state in ('pending', 'claimed')", endpoint.id) == 0
        verify.all_well()


def _endpoint(make: Make, policy: dict[str, int], todos: int, human=None) -> Endpoint:
    endpoint = make.endpoint(human)
    window = away_from_boundaries(make.now()) if "max_claims_per_window" in policy else {}
    make.policy(make.queue_id(endpoint), **policy, **window)
    for _ in range(todos):
        make.todo(endpoint)
    return endpoint
