"""A member is removed while everybody works: the leases go back once, and nobody deadlocks."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from app.domain.callers import Human
from tests.support.ears import listening
from tests.support.make import QueueId, Team
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.servers import Fleet, agent, operator
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]
CLAIMERS = 50
LEAVERS = 20  # sessions of the member who is removed


def team_of(pair: Fleet, owner: Human, *members: Human) -> tuple[Team, QueueId]:
    """A team with a queue of its own."""
    team = pair.make.team()
    pair.make.member(team, owner, "owner")
    for member in members:
        pair.make.member(team, member)
    return team, pair.make.team_queue(team)


@pytest.mark.rule("issue F: no deadlock beside 50 claimers; the next call is not_found")
def test_a_member_removed_beside_fifty_claimers_holds_nothing_afterwards(pair: Fleet) -> None:
    make = pair.make
    owner, leaver, others = make.human(), make.human(), [make.human() for _ in range(3)]
    admin = operator(pair[0].url, make.operator_token(owner))
    for turn in range(rounds(5, 50)):
        team, queue = team_of(pair, owner, leaver, *others)
        if turn % 2:
            make.policy(queue, max_in_flight=1000)
        lanes = [make.endpoint(human) for human in (leaver, *others)]
        for lane in lanes:
            make.grant(lane, queue)
        for _ in range(150):
            make.todo(queue=queue)
        tokens = [make.credential(lane) for lane in lanes]

        def work(n: int, tokens=tokens, queue=queue, team=team) -> set[int]:
            if n == CLAIMERS:
                path = f"/teams/{team.slug}/members/{leaver.id}"
                return {admin.delete(path).status}
            token = tokens[0 if n < LEAVERS else 1 + n % 3]
            caller, seen = agent(pair[n % 2].url, token), set()
            for _ in range(4):
                answer = caller.call("claim_next", queue=queue.name)
                seen.add(answer.status)
            return seen

        answers = all_returned(together(CLAIMERS + 1, work))

        assert answers[CLAIMERS] == {200}
        assert set().union(*answers[:LEAVERS]) <= {200, 404}
        assert set().union(*answers[LEAVERS:]) == {200}
        assert agent(pair[1].url, tokens[0]).call("claim_next", queue=queue.name).status == 404
        assert make.value("select count(*) from todos where claimed_by_endpoint_id = %s",
                          lanes[0].id) == 0
        # What is claimed has one open attempt, by its holder; what is not has none.
        assert make.value(
            "select count(*) from todos t where t.queue_id = %s and (t.state = 'claimed')::int <>"
            " (select count(*) from todo_attempts a where a.todo_id = t.id and a.ended_at is null"
            "     and a.claimer_endpoint_id = t.claimed_by_endpoint_id)", int(queue)) == 0
        assert make.value("select count(*) from todo_attempts a join todos t on t.id = a.todo_id"
                          " where t.queue_id = %s and a.ended_at is null"
                          " and a.claimer_endpoint_id = %s", int(queue), lanes[0].id) == 0


@pytest.mark.rule("issue F: removing a member while they hold a lease rings one bell")
def test_what_a_removed_member_held_rings_one_stream_once(pair: Fleet) -> None:
    make = pair.make
    owner, leaver = make.human(), make.human()
    team, queue = team_of(pair, owner, leaver)
    worker, lanes = make.endpoint(leaver), [make.endpoint(owner), make.endpoint(team=team)]
    for lane in (worker, *lanes):
        make.grant(lane, queue)
    admin = operator(pair[1].url, make.operator_token(owner))
    held = make.todo(queue=queue, state="claimed", holder=worker, rings=True)
    with ExitStack() as stack:
        ears = [stack.enter_context(listening(server.url, make.credential(lane)))
                for server, lane in zip(pair, lanes, strict=True)]
        left = stack.enter_context(listening(pair[0].url, make.credential(worker)))

        assert admin.delete(f"/teams/{team.slug}/members/{leaver.id}").status == 200
        wait_for(lambda: any(held in each.todo_ids for each in ears), 5, what="the bell")
        later = admin.post(f"/teams/{team.slug}/queues/inbox/todos", {"title": "t"}).json["id"]
        wait_for(lambda: any(later in each.todo_ids for each in ears), 5, what="a later bell")

        rung = [todo for each in ears for todo in each.todo_ids]
        assert sorted(rung) == sorted([str(held), str(later)])
        assert left.todo_ids == []  # a stream ends up with no bell of a queue it lost
    assert make.row(held)["state"] == "pending"
    assert agent(pair[0].url, make.credential(worker)).call(
        "claim", id=str(held)).status == 404
