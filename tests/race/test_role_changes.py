"""A role that changes on one server is what the next call on the other server goes by, anywhere."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest
import urllib3

from app.domain.callers import Endpoint, Human
from app.domain.tokens import hash_token
from tests.support.client import COOKIE
from tests.support.ears import listening
from tests.support.events import Events
from tests.support.make import QueueId, Team, TodoId
from tests.support.servers import Answer, Fleet, HttpCaller, agent, operator
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]

_http = urllib3.PoolManager(retries=False, timeout=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A team with an owner who acts on one server, and a member who asks on the other."""

    pair: Fleet
    team: Team
    queue: QueueId
    member: Human
    lane: Endpoint
    owner_api: HttpCaller
    api: HttpCaller
    drain: HttpCaller
    app: HttpCaller
    session: str

    def set_role(self, role: str) -> None:
        """The owner gives the member a role, on the first server."""
        path = f"/teams/{self.team.slug}/members/{self.member.id}"
        assert self.owner_api.patch(path, {"role": role}).status == 200

    def remove(self) -> None:
        """The owner removes the member, on the first server."""
        path = f"/teams/{self.team.slug}/members/{self.member.id}"
        assert self.owner_api.delete(path).status == 200

    def page(self, path: str) -> int:
        """What the member's browser is answered by the second server."""
        return _http.request("GET", self.pair[1].url + path, redirect=False,
                             headers={"Cookie": f"{COOKIE}={self.session}"}).status


@pytest.fixture
def scene(pair: Fleet) -> Scene:
    """Built anew; a role nobody has asked about yet."""
    make = pair.make
    owner, member, team = make.human("Olga"), make.human("Mia"), make.team()
    make.member(team, owner, "owner")
    make.member(team, member)
    queue, lane = make.team_queue(team, "shared"), make.endpoint(member)
    make.policy(queue, max_in_flight=5)
    make.policy(make.queue_id(lane), max_in_flight=4)
    make.grant(lane, queue)
    ours, token = make.endpoint(owner, team), f"sba_{uuid.uuid4()}"
    make.run("insert into oauth_tokens (token_hash, endpoint_id, scope_verbs, granted_by_human_id)"
             " values (%s, %s, '{claim}', %s)", hash_token(token), ours.id, member.id)
    return Scene(
        pair=pair, team=team, queue=queue, member=member, lane=lane,
        owner_api=operator(pair[0].url, make.operator_token(owner)),
        api=operator(pair[1].url, make.operator_token(member)),
        drain=agent(pair[1].url, make.credential(lane)), session=make.session(member),
        app=agent(pair[1].url, token),
    )  # fmt: skip


def outcome(answer: Answer) -> str:
    """The status, and the code of a refusal."""
    return f"{answer.status} {answer.json.get('code', '')}".strip()


@pytest.mark.rule("identity.md: Teams, effective reach per call")
def test_api_page_and_verb_follow_each_change_of_role(scene: Scene) -> None:
    slug, queue = scene.team.slug, f"/queues/{int(scene.queue)}"
    budget = f"/admission/team:{slug}/shared"
    seen = []

    for change in ("member", "admin", "member", "owner", "admin", "removed"):
        if change == "removed":
            scene.remove()
        else:
            scene.set_role(change)
        seen.append((
            change,
            outcome(scene.api.get(f"/teams/{slug}")),
            outcome(scene.api.get(f"/teams/{slug}/invites")),
            outcome(scene.api.get(budget)),
            outcome(scene.api.request("PUT", budget, {"max_in_flight": len(seen) + 5})),
            scene.page(queue), scene.page(f"{queue}/budget"), scene.page(f"/teams/{slug}/edit"),
            outcome(scene.drain.call("admission_status", queue=scene.queue.name)),
            outcome(scene.app.call("whoami")),
        ))  # fmt: skip

    # The last is an app that the member let work as the team's endpoint, when they were an admin.
    hidden, gone = "404 not_found", "401 unauthenticated"
    works = ("200", "403 role_required", hidden, hidden, 200, 404, 403, "200", gone)
    assert seen == [
        ("member", *works),
        ("admin", "200", "200", "200", "200", 200, 200, 200, "200", "200"),
        ("member", *works),
        ("owner", "200", "200", "200", "200", 200, 200, 200, "200", "200"),
        ("admin", "200", "200", "200", "200", 200, 200, 200, "200", "200"),
        ("removed", hidden, hidden, hidden, hidden, 404, 404, 404, hidden, gone),
    ]


@pytest.mark.rule("R47: the next call on that team's queue is not_found")
def test_a_removal_on_one_server_ends_claims_and_streams_on_the_other(scene: Scene) -> None:
    make, told = scene.pair.make, f"counts-{int(scene.queue)}"
    held = make.todo(queue=scene.queue)
    assert scene.drain.call("claim", id=held).status == 200
    url, credential = scene.pair[1].url, make.credential(scene.lane)

    with Events(url, scene.session) as page, listening(url, credential) as ears:
        page.named(told)
        scene.remove()
        assert make.row(held)["state"] == "pending"
        for verb in ("complete", "heartbeat", "release", "get_todo", "claim"):
            assert outcome(scene.drain.call(verb, id=held)) == "404 not_found", verb
        assert outcome(scene.drain.call("claim_next", queue=scene.queue.name)) == "404 not_found"
        assert scene.drain.call("claim_next").json == {"empty": True}
        read, fresh = len(page.seen), _pushed(scene)
        # What is the member's own is told after it, and so ends the waiting.
        own = scene.api.post(f"/endpoints/{scene.lane.slug}/todos", {"title": "own"}).json["id"]
        wait_for(lambda: own in ears.todo_ids)
        assert scene.drain.call("claim", id=own).status == 200
        page.named(f"counts-{int(make.queue_id(scene.lane))}", "1 of 4")

    assert told not in [frame.event for frame in page.seen[read:]]
    assert fresh not in ears.todo_ids


def _pushed(scene: Scene) -> TodoId:
    """A todo that the owner writes into the queue, as the streams would tell."""
    answer = scene.owner_api.post(f"/teams/{scene.team.slug}/queues/shared/todos",
                                  {"title": "for members only"})
    assert answer.status == 201, answer.body
    return TodoId(str(answer.json["id"]), int(scene.queue))
