"""Budgets of team queues over two servers: one for all who drain it, and no other's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest

from app.domain.callers import Endpoint, Human
from tests.race.bells import Canaries, canaries, rung
from tests.support.ears import listening
from tests.support.make import Make, QueueId, Team
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.servers import Answer, Fleet, HttpCaller, agent, operator
from tests.support.verify import Verify, away_from_boundaries
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(600)]
CALLERS = 50


@dataclass(frozen=True, slots=True)
class Crew:
    """A team of two humans and its queue, which three of their endpoints drain."""

    team: Team
    admin: Human
    queue: QueueId
    drainers: tuple[Endpoint, ...]


@pytest.fixture
def verify(pair: Fleet) -> Iterator[Verify]:
    """Every test of this module ends with all invariants."""
    made = Verify(pair.make)
    yield made
    made.all_well()


@pytest.fixture(scope="module")
def birds(pair: Fleet) -> Iterator[Canaries]:
    """Proof that nothing else is on its way."""
    with canaries(pair) as singing:
        yield singing


def crew(make: Make, *, name: str = "builds") -> Crew:
    """Two endpoints of an admin and one of a member, each granted the queue."""
    team, admin, member = make.team(), make.human(), make.human()
    make.member(team, admin, "admin")
    make.member(team, member)
    drainers = (make.endpoint(admin), make.endpoint(admin), make.endpoint(member))
    queue = make.team_queue(team, name)
    for each in drainers:
        make.grant(each, queue)
    return Crew(team, admin, queue, drainers)


def limited(make: Make, queue: int, limit: int) -> UUID:
    """A budget of so many claims, in a window that does not end while a test runs."""
    return make.policy(queue, max_claims_per_window=limit, **away_from_boundaries(make.now()))


def workers(pair: Fleet, *endpoints: Endpoint, number: int = CALLERS) -> list[HttpCaller]:
    """So many callers of the endpoints in turn, spread over both servers."""
    tokens = [pair.make.credential(each) for each in endpoints]
    return [agent(pair[n % 2].url, tokens[n // 2 % len(tokens)]) for n in range(number)]


def race(callers: list[HttpCaller], queue: str) -> list[Answer]:
    """What each of them got when all asked for the queue at once."""
    return all_returned(together(
        len(callers), lambda n: callers[n].call("claim_next", queue=queue)))


def claims(answers: list[Answer]) -> list[str]:
    """The ids that were claimed, each once; the others must say what their work waits for."""
    assert {answer.status for answer in answers} == {200}, [a.body for a in answers][:5]
    taken = [str(answer.json["todo"]["id"]) for answer in answers if not answer.json["empty"]]
    assert len(set(taken)) == len(taken)
    return taken


def reasons(answers: list[Answer], queue: str) -> list[str]:
    """Why each of those that got nothing of the queue did."""
    refused = [answer.json["deferred"][0] for answer in answers if answer.json["empty"]]
    assert {each["queue"] for each in refused} <= {queue}
    return [each["reason"] for each in refused]


@pytest.mark.req("REQ-2", "A pool shares one budget")
@pytest.mark.rule("REQ-2: three endpoints of two humans, 50 callers: one budget, exactly")
def test_three_endpoints_of_two_humans_share_the_teams_budget_exactly(
    pair: Fleet, verify: Verify
) -> None:
    for _ in range(rounds(5, 100)):
        ours = crew(pair.make)
        policy = limited(pair.make, ours.queue, 20)
        for _ in range(60):
            pair.make.todo(queue=ours.queue)

        answers = race(workers(pair, *ours.drainers), ours.queue.name)

        assert len(claims(answers)) == 20
        assert reasons(answers, ours.queue.name) == ["window_exhausted"] * 30
        assert verify.used(policy) == verify.in_flight(policy) == 20
        taken = {answer.json["todo"]["team"] for answer in answers if not answer.json["empty"]}
        assert taken == {ours.team.slug}
        assert pair.make.value("select count(*) from todos where queue_id = %s"
                               " and state = 'pending'", int(ours.queue)) == 40


@pytest.mark.req("REQ-2", "A pool shares one budget")
@pytest.mark.rule("REQ-2: one cap over everybody who drains the team's queue")
def test_the_teams_cap_counts_what_any_of_its_drainers_holds(
    pair: Fleet, verify: Verify
) -> None:
    for _ in range(rounds(5, 100)):
        ours = crew(pair.make)
        policy = pair.make.policy(ours.queue, max_in_flight=7)
        for _ in range(30):
            pair.make.todo(queue=ours.queue)
        pool = workers(pair, *ours.drainers, number=24)

        answers = race(pool, ours.queue.name)

        assert len(claims(answers)) == verify.in_flight(policy) == 7
        assert reasons(answers, ours.queue.name) == ["in_flight_full"] * 17
        held = next((worker, answer.json["todo"]["id"])
                    for worker, answer in zip(pool, answers, strict=True)
                    if not answer.json["empty"])
        assert held[0].call("complete", id=held[1]).status == 200
        assert len(claims(race(pool, ours.queue.name))) == 1
        assert verify.in_flight(policy) == 7


@pytest.mark.req("REQ-2", "Same name, different owners")
@pytest.mark.rule("R50: an own queue and two teams' queues of one name are three budgets")
def test_a_policy_of_one_owner_never_touches_a_queue_of_the_same_name(
    pair: Fleet, verify: Verify
) -> None:
    for _ in range(rounds(5, 100)):
        ours, theirs = crew(pair.make, name="inbox"), crew(pair.make, name="inbox")
        lane = ours.drainers[0]
        policies = [limited(pair.make, queue, limit)
                    for queue, limit in ((ours.queue, 2), (pair.make.queue_id(lane), 4))]
        for _ in range(10):
            pair.make.todo(queue=ours.queue)
            pair.make.todo(queue=theirs.queue)
            pair.make.todo(lane)
        pools = [(workers(pair, *ours.drainers, number=10), ours.queue.name),
                 (workers(pair, *theirs.drainers, number=10), theirs.queue.name),
                 (workers(pair, lane, number=10), "inbox")]
        callers = [(worker, queue) for pool, queue in pools for worker in pool]

        answers = all_returned(together(
            30, lambda n, c=callers: c[n][0].call("claim_next", queue=c[n][1])))

        assert [len(claims(answers[n:n + 10])) for n in (0, 10, 20)] == [2, 10, 4]
        assert all("admission" not in answer.json for answer in answers[10:20])
        assert [verify.used(policy) for policy in policies] == [2, 4]
        assert pair.make.value(
            "select count(*) from todo_attempts a join todos t on t.id = a.todo_id"
            " where t.queue_id = %s and a.charged_policy_id is not null", int(theirs.queue)) == 0


@pytest.mark.req("REQ-2", "A fan-out copy is governed by its own endpoint")
def test_a_delivery_to_a_team_is_governed_by_the_teams_queue_alone(
    pair: Fleet, verify: Verify
) -> None:
    ours, friend = crew(pair.make, name="inbox"), pair.make.endpoint()
    owner = ours.drainers[0]
    plain = pair.make.webhook(owner, "generic", secret=None, trust_mode="token")
    to_team = pair.make.webhook(owner, "generic", secret=None, trust_mode="token",
                                team_queue=ours.queue)
    for hook in (plain, to_team):
        pair.make.route(hook, friend)  # of no effect on what a team gets
    policies = [limited(pair.make, queue, limit) for queue, limit in (
        (ours.queue, 3), (pair.make.queue_id(owner), 1), (pair.make.queue_id(friend), 2))]
    sender = HttpCaller(pair[0].url, "none")

    for turn in range(5):
        for hook in (plain, to_team):
            answer = sender.request("POST", hook.path, {"n": turn},
                                    headers={"X-Delivery-Id": f"delivery {turn}"})
            assert (answer.status, answer.json["created"]) == (202, 2 if hook is plain else 1)

    asked = [(ours.drainers, ours.queue.name), ((owner,), "inbox"), ((friend,), "inbox")]
    answers = [race(workers(pair, *who, number=8), queue) for who, queue in asked]
    assert [len(claims(each)) for each in answers] == [3, 1, 2]
    assert [verify.used(policy) for policy in policies] == [3, 1, 2]


@pytest.mark.req("REQ-10", "Lowering mid-window")
@pytest.mark.rule("identity.md: an admin configures the team's queue, a member may not")
def test_an_admin_moves_the_teams_budget_for_everybody_who_drains_it(
    pair: Fleet, verify: Verify
) -> None:
    ours = crew(pair.make)
    owner = operator(pair[1].url, pair.make.operator_token(ours.admin))
    path = f"/admission/team:{ours.team.slug}/{ours.queue.name.partition('/')[2]}"
    window = {"period": "day", "tz": "UTC",
              "start": away_from_boundaries(pair.make.now())["start"]}
    for _ in range(30):
        pair.make.todo(queue=ours.queue)

    taken = []
    for limit in (5, 3, 8):
        said = {"max_claims_per_window": limit, "window": window}
        assert owner.request("PUT", path, said).status == 200
        taken.append(len(claims(race(workers(pair, *ours.drainers, number=12),
                                     ours.queue.name))))

    status = owner.get(path).json
    assert taken == [5, 0, 3]  # below what is used nothing more, above it the rest
    assert status["usage"]["used"] == verify.in_flight(policy_of(pair, ours)) == 8
    assert [each["action"] for each in status["audit"]] == ["update", "update", "create"]


@pytest.mark.req("REQ-8")
@pytest.mark.rule("push.md, Reopen: one bell per draining endpoint")
def test_a_raised_team_budget_rings_once_at_each_endpoint_that_drains_it(
    pair: Fleet, verify: Verify, birds: Canaries
) -> None:
    ours = crew(pair.make)
    stranger = pair.make.endpoint()
    owner = operator(pair[0].url, pair.make.operator_token(ours.admin))
    path = f"/admission/team:{ours.team.slug}/{ours.queue.name.partition('/')[2]}"
    assert owner.request("PUT", path, {"max_in_flight": 0}).status == 200
    for _ in range(3):
        pair.make.todo(queue=ours.queue, rings=True)
    assert reasons(race(workers(pair, *ours.drainers, number=6), ours.queue.name),
                   ours.queue.name) == ["paused"] * 6
    ears = [listening(pair[number % 2].url, pair.make.credential(each))
            for number, each in enumerate((*ours.drainers, stranger))]
    with ears[0] as a, ears[1] as b, ears[2] as c, ears[3] as d:
        assert owner.request("PUT", path, {"max_in_flight": 2}).status == 200
        wait_for(lambda: rung(a, b, c) >= 3)
        birds.sing()

        assert [rung(each) for each in (a, b, c, d)] == [1, 1, 1, 0]


def policy_of(pair: Fleet, ours: Crew) -> UUID:
    """The id of the team queue's policy."""
    found = pair.make.value("select id from admission_policies where queue_id = %s",
                            int(ours.queue))
    assert isinstance(found, UUID)
    return found
