"""Races for a budget over two servers: never one claim too many, never one too few, never a lie."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from app.domain.callers import Endpoint
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.servers import Answer, Fleet, HttpCaller, agent, operator
from tests.support.verify import Verify, away_from_boundaries
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(600)]
CALLERS = 50


@pytest.fixture
def verify(pair: Fleet) -> Iterator[Verify]:
    """Every test of this module ends with all invariants."""
    made = Verify(pair.make)
    yield made
    made.all_well()


def callers(pair: Fleet, endpoint: Endpoint, number: int = CALLERS) -> list[HttpCaller]:
    """So many workers of one endpoint, spread over both servers."""
    token = pair.make.credential(endpoint)
    return [agent(pair[n % 2].url, token) for n in range(number)]


def limited(pair: Fleet, endpoint: Endpoint, limit: int) -> UUID:
    """A budget of so many claims, in a window that does not end while a test runs."""
    window = away_from_boundaries(pair.make.now())
    queue = pair.make.queue_id(endpoint)
    return pair.make.policy(queue, max_claims_per_window=limit, **window)


def claims(answers: list[Answer]) -> set[str]:
    """The ids that were claimed; every other answer must say what its work waits for."""
    assert {answer.status for answer in answers} == {200}, [a.body for a in answers][:5]
    taken = [answer.json["todo"]["id"] for answer in answers if not answer.json["empty"]]
    assert len(set(taken)) == len(taken)
    return set(taken)


def reasons(answers: list[Answer]) -> list[str]:
    """Why each of those that got nothing did; a bare empty counts as one."""
    return [
        answer.json["deferred"][0]["reason"] if answer.json.get("deferred") else "bare empty"
        for answer in answers if answer.json["empty"]
    ]


@pytest.mark.req("REQ-4", "A race for the last unit")
@pytest.mark.rule("A1: 50 callers, limit 10: exactly 10 claims and 40 deferred")
def test_fifty_callers_at_a_budget_of_ten_make_ten_claims_and_forty_deferrals(
    pair: Fleet, verify: Verify
) -> None:
    for _ in range(rounds(5, 100)):
        endpoint = pair.make.endpoint()
        policy = limited(pair, endpoint, 10)
        for _ in range(50):
            pair.make.todo(endpoint)
        workers = callers(pair, endpoint)

        answers = all_returned(together(CALLERS, lambda n, w=workers: w[n].call("claim_next")))

        assert len(claims(answers)) == 10
        assert reasons(answers) == ["window_exhausted"] * 40
        assert verify.used(policy) == 10


@pytest.mark.rule("A2: cap 10, 200 pending: exactly 10 in flight, never 9, no plain empty")
def test_fifty_callers_at_a_cap_of_ten_fill_every_seat(pair: Fleet, verify: Verify) -> None:
    for _ in range(rounds(5, 100)):
        endpoint = pair.make.endpoint()
        policy = pair.make.policy(pair.make.queue_id(endpoint), max_in_flight=10)
        for _ in range(200):
            pair.make.todo(endpoint)
        workers = callers(pair, endpoint)

        answers = all_returned(together(CALLERS, lambda n, w=workers: w[n].call("claim_next")))

        assert len(claims(answers)) == 10
        assert reasons(answers) == ["in_flight_full"] * 40
        assert verify.in_flight(policy) == 10
        assert verify.used(policy) == 0


@pytest.mark.rule("R3: a cap raised from 5 to 10 under load never lets an 11th in")
def test_a_cap_raised_under_load_is_filled_and_never_passed(pair: Fleet, verify: Verify) -> None:
    for turn in range(rounds(5, 100)):
        ada = pair.make.human()
        endpoint = pair.make.endpoint(ada)
        policy = pair.make.policy(pair.make.queue_id(endpoint), max_in_flight=5)
        for _ in range(40):
            pair.make.todo(endpoint)
        owner = operator(pair[turn % 2].url, pair.make.operator_token(ada))
        stop, answers = threading.Event(), []

        def ask(worker: HttpCaller, stop=stop, answers=answers) -> None:
            while not stop.is_set():
                answers.append(worker.call("claim_next"))

        threads = [threading.Thread(target=ask, args=(worker,), daemon=True)
                   for worker in callers(pair, endpoint, 12)]
        for thread in threads:
            thread.start()
        wait_for(lambda a=answers: len(a) > 30)
        assert verify.in_flight(policy) == 5
        raised = owner.request("PUT", f"/admission/endpoint:{endpoint.slug}/inbox",
                               {"max_in_flight": 10})
        wait_for(lambda p=policy: verify.in_flight(p) >= 10)
        so_far = len(answers)
        wait_for(lambda a=answers, n=so_far: len(a) > n + 50)
        stop.set()
        for thread in threads:
            thread.join(30)

        assert raised.status == 200
        assert verify.in_flight(policy) == 10
        assert len(claims(answers)) == 10
        assert set(reasons(answers)) == {"in_flight_full"}


@pytest.mark.rule("R10: Pause while a claim waits for its todo: refused, with or without a policy")
def test_a_pause_that_answered_before_the_claim_had_its_todo_is_obeyed(
    pair: Fleet, verify: Verify
) -> None:
    for turn in range(rounds(5, 100)):
        ada = pair.make.human()
        endpoint = pair.make.endpoint(ada)
        todo = str(pair.make.todo(endpoint))
        if turn % 2:
            pair.make.policy(pair.make.queue_id(endpoint), max_in_flight=5)
        worker = callers(pair, endpoint, 1)[0]
        owner = operator(pair[1].url, pair.make.operator_token(ada))
        path = f"/admission/endpoint:{endpoint.slug}/inbox"
        with psycopg.connect(pair.database_url) as holder:
            holder.execute("select 1 from todos where id = %s for update", (todo,))

            def act(number: int, worker=worker, todo=todo, owner=owner, path=path,
                    holder=holder) -> Answer:
                if number == 0:
                    return worker.call("claim", id=todo)
                pair.make.wait_until_blocked()
                paused = owner.request("PUT", path, {"max_in_flight": 0})
                holder.rollback()
                return paused

            claimed, paused = all_returned(together(2, act))

        assert paused.status == 200
        assert (claimed.status, claimed.json["code"]) == (409, "deferred")
        assert claimed.json["reason"] == "paused"
        assert pair.make.row(todo)["state"] == "pending"


@pytest.mark.req("REQ-4", "In-flight cap")
@pytest.mark.rule("must-have 2: cap 2 with three workers; after one completes the next succeeds")
def test_three_workers_at_a_cap_of_two_finish_everything_two_at_a_time(
    pair: Fleet, verify: Verify
) -> None:
    for _ in range(rounds(5, 100)):
        endpoint = pair.make.endpoint()
        policy = pair.make.policy(pair.make.queue_id(endpoint), max_in_flight=2)
        todos = {str(pair.make.todo(endpoint)) for _ in range(15)}
        workers = callers(pair, endpoint, 3)
        first, second, refused = [worker.call("claim_next") for worker in workers]
        assert reasons([first, second, refused]) == ["in_flight_full"]
        workers[0].call("complete", id=first.json["todo"]["id"])
        third = workers[2].call("claim_next")
        assert not third.json["empty"]
        for held in (second, third):
            workers[1].call("complete", id=held.json["todo"]["id"])

        def drain(number: int, workers=workers, policy=policy) -> list[Answer]:
            answers = []
            while True:
                answer = workers[number].call("claim_next")
                assert verify.in_flight(policy) <= 2
                answers.append(answer)
                if not answer.json["empty"]:
                    workers[number].call("complete", id=answer.json["todo"]["id"])
                elif not answer.json.get("deferred"):
                    return answers

        answers = [answer for each in all_returned(together(3, drain)) for answer in each]
        assert len(claims(answers)) == len(todos) - 3
        assert pair.make.value("select count(*) from todos where queue_id = %s and state = 'done'",
                               pair.make.queue_id(endpoint)) == len(todos)


@pytest.mark.req("REQ-2", "A pool shares one budget")
def test_a_pool_of_three_sessions_shares_one_budget(pair: Fleet, verify: Verify) -> None:
    for _ in range(rounds(5, 100)):
        endpoint = pair.make.endpoint()
        policy = limited(pair, endpoint, 20)
        for _ in range(30):
            pair.make.todo(endpoint)
        sessions = callers(pair, endpoint, 3)

        def work(number: int, sessions=sessions) -> list[Answer]:
            answers = [sessions[number].call("claim_next", claimant=f"session {number}")]
            while not answers[-1].json["empty"]:
                answers.append(sessions[number].call("claim_next", claimant=f"session {number}"))
            return answers

        answers = [answer for each in all_returned(together(3, work)) for answer in each]
        assert len(claims(answers)) == 20
        assert reasons(answers) == ["window_exhausted"] * 3
        assert verify.used(policy) == 20


@pytest.mark.req("REQ-2", "Same name, different owners")
def test_a_policy_never_touches_a_queue_of_the_same_name_elsewhere(
    pair: Fleet, verify: Verify
) -> None:
    for _ in range(rounds(5, 100)):
        mine, theirs = pair.make.endpoint(), pair.make.endpoint()
        policy = limited(pair, mine, 3)
        for _ in range(10):
            pair.make.todo(mine)
            pair.make.todo(theirs)
        workers = [*callers(pair, mine, 10), *callers(pair, theirs, 10)]

        answers = all_returned(together(20, lambda n, w=workers: w[n].call("claim_next")))

        assert (len(claims(answers[:10])), len(claims(answers[10:]))) == (3, 10)
        assert all("admission" not in answer.json for answer in answers[10:])
        assert verify.used(policy) == 3
        assert pair.make.value(
            "select count(*) from todo_attempts a join todos t on t.id = a.todo_id"
            " where t.endpoint_id = %s and a.charged_policy_id is not null", theirs.id) == 0


@pytest.mark.req("REQ-2", "A fan-out copy is governed by its own endpoint")
@pytest.mark.req("REQ-3", "A redelivery is free")
def test_fan_out_copies_are_charged_to_their_own_queues(pair: Fleet, verify: Verify) -> None:
    mine, friend, third = (pair.make.endpoint() for _ in range(3))
    hook = pair.make.webhook(mine, "generic", secret=None, trust_mode="token")
    pair.make.route(hook, friend)
    pair.make.route(hook, third)
    policies = {each.id: limited(pair, each, limit) for each, limit in ((mine, 2), (friend, 4))}
    sender = HttpCaller(pair[0].url, "none")
    for turn in [*range(6), *range(6)]:
        answer = sender.request("POST", hook.path, {"n": turn},
                                headers={"X-Delivery-Id": f"delivery {turn}"})
        assert answer.status == 202
    workers = [*callers(pair, mine, 8), *callers(pair, friend, 8), *callers(pair, third, 8)]

    answers = all_returned(together(24, lambda n: workers[n].call("claim_next")))

    taken = [len(claims(answers[n:n + 8])) for n in (0, 8, 16)]
    assert taken == [2, 4, 6]
    assert [verify.used(policies[each.id]) for each in (mine, friend)] == [2, 4]
