"""Who loses reach of a team's queue while they claim from it holds nothing of it afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.domain.callers import Human
from tests.support.make import Team
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.servers import Answer, Fleet, agent, operator
from tests.support.verify import Verify, away_from_boundaries

pytestmark = [pytest.mark.race, pytest.mark.timeout(600)]
CLAIMERS = 50


@pytest.fixture
def verify(pair: Fleet) -> Iterator[Verify]:
    """Every test of this module ends with all invariants, no deadlock among them."""
    made = Verify(pair.make)
    yield made
    made.all_well()


def team_of(pair: Fleet) -> tuple[Team, Human, Human]:
    """A team, who administers it, and a member."""
    team, admin, member = pair.make.team(), pair.make.human(), pair.make.human()
    pair.make.member(team, admin, "admin")
    pair.make.member(team, member)
    return team, admin, member


@pytest.mark.rule("R47")
@pytest.mark.parametrize("way", ["removed", "ungranted", "revoked"])
@pytest.mark.parametrize("budget", ["without a policy", "under a budget"])
def test_fifty_claimers_hold_nothing_once_reach_is_lost(
    pair: Fleet, verify: Verify, way: str, budget: str
) -> None:
    for turn in range(rounds(2, 50)):
        team, admin, member = team_of(pair)
        queue, lane = pair.make.team_queue(team), pair.make.endpoint(member)
        stayer = pair.make.endpoint(admin)
        for each in (lane, stayer):
            pair.make.grant(each, queue)
        if budget == "under a budget":
            pair.make.policy(queue, max_claims_per_window=500, max_in_flight=400,
                             **away_from_boundaries(pair.make.now()))
        for _ in range(5):
            pair.make.todo(queue=queue, state="claimed", holder=lane)
        for _ in range(115):
            pair.make.todo(queue=queue)
        token, left = pair.make.credential(lane), pair.make.credential(stayer)
        who = admin if way == "removed" else member
        owner = operator(pair[turn % 2].url, pair.make.operator_token(who))

        method, path = {
            "removed": ("DELETE", f"/teams/{team.slug}/members/{member.id}"),
            "ungranted": ("DELETE", f"/endpoints/{lane.slug}/team-queues/{team.slug}/inbox"),
            "revoked": ("POST", f"/endpoints/{lane.slug}/revoke"),
        }[way]

        def act(number: int, owner=owner, token=token, left=left, method=method, path=path,
                team=team) -> Answer:
            if number == CLAIMERS:
                return owner.request(method, path, {})
            worker = agent(pair[number % 2].url, left if number % 5 == 0 else token)
            return worker.call("claim_next", queue=f"team:{team.slug}/inbox")

        answers = all_returned(together(CLAIMERS + 1, act))

        assert answers[-1].status == 200
        # 429: many rounds of refused credentials come from one address (agent-api.md, "Rules").
        assert {answer.status for answer in answers[:-1]} <= {200, 401, 404, 429}
        assert all(answer.status == 200 for answer in answers[:-1:5])
        held = pair.make.value("select count(*) from todos where state = 'claimed'"
                               " and claimed_by_endpoint_id = %s", lane.id)
        kept = pair.make.value("select count(*) from todos where state = 'claimed'"
                               " and claimed_by_endpoint_id = %s", stayer.id)
        assert (held, kept) == (0, 10)
