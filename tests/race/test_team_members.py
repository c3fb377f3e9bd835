"""What a removed member held rings at once, over two servers, and at one stream."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.support.ears import listening
from tests.support.servers import Fleet, agent, operator
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]


@pytest.mark.rule("issue F: removing a member while they hold a lease rings one bell")
def test_what_a_removed_member_held_rings_one_stream_once(pair: Fleet) -> None:
    make = pair.make
    owner, leaver = make.human(), make.human()
    team = make.team()
    make.member(team, owner, "owner")
    make.member(team, leaver)
    queue = make.team_queue(team)
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
        wait_for(lambda: any(held in each.todo_ids for each in ears), 20, what="the bell")
        later = admin.post(f"/teams/{team.slug}/queues/inbox/todos", {"title": "t"}).json["id"]
        wait_for(lambda: any(later in each.todo_ids for each in ears), 20, what="a later bell")

        rung = [todo for each in ears for todo in each.todo_ids]
        assert sorted(rung) == sorted([str(held), str(later)])
        assert left.todo_ids == []  # a stream ends up with no bell of a queue it lost
    assert make.row(held)["state"] == "pending"
    assert agent(pair[0].url, make.credential(worker)).call(
        "claim", id=str(held)).status == 404
