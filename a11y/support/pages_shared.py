"""The pages of a team's queues, endpoints, webhooks and todos, for a plain member and an admin."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page

from a11y.support.browser import Visit
from a11y.support.cases import Case
from a11y.support.site import Site
from app.domain.callers import Endpoint
from tests.support.make import QueueId, TodoId, Webhook


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What a person of a team works with."""

    triage: QueueId
    spare: QueueId
    own: Endpoint
    shared: Endpoint
    hook: Webhook
    todo: TodoId


_QUEUE = re.compile("team:night/triage")
_STEP = "/endpoints/vend/<any(agent, queues, verbs, webhook, lifetime):step>"


def _shared(visit: Visit, site: Site, role: str) -> Shared:
    """Signs a person of the team `night` in, who owns an endpoint of their own as well."""
    make = site.make
    team, ada, boss = make.team("night"), make.human("Ada"), make.human("Boss")
    make.member(team, ada, role)
    make.member(team, boss, "owner")
    triage, spare = make.team_queue(team, "triage"), make.team_queue(team, "spare")
    make.policy(triage, max_in_flight=1, max_claims_per_window=100, human=boss)
    own, shared = make.endpoint(ada, name="day lane"), make.endpoint(boss, team, name="night lane")
    for lane in (own, shared):
        make.grant(lane, triage)
    make.todo(queue=triage, state="claimed", holder=own, title="Held by the day lane")
    todo = make.todo(queue=triage, title="Look into the night")
    visit.sign_in(make.session(ada))
    return Shared(triage=triage, spare=spare, own=own, shared=shared, todo=todo,
                  hook=make.webhook(own, team_queue=triage))  # fmt: skip


def _case(
    name: str, heading: str | re.Pattern[str], rule: str, path: Callable[[Shared], str],
    role: str = "member",
) -> Case:
    def reach(visit: Visit, site: Site) -> Page:
        return visit.open(path(_shared(visit, site, role)))

    return Case(name=name, heading=heading, rule=rule, reach=reach)


def _not_grantable(visit: Visit, site: Site) -> Page:
    found = _shared(visit, site, "member")
    page = visit.open(f"/endpoints/{found.own.id}")
    site.make.run("delete from queues where id = %s", int(found.spare))  # in the meantime
    page.get_by_role("button", name="Grant the team queue").click()
    return page


def _not_a_target(visit: Visit, site: Site) -> Page:
    found = _shared(visit, site, "member")
    page = visit.open(f"/webhooks/new?endpoint={found.own.id}")
    page.locator("#target_queue").fill("team:night/triage")
    page.get_by_role("button", name="Create the webhook").click()
    return page


def _reviewed(visit: Visit, site: Site) -> Page:
    _shared(visit, site, "admin")
    page = visit.open("/endpoints/vend/agent")
    page.locator("#name").fill("late lane")
    page.get_by_role("radio", name="Team night").check()
    for _ in range(5):
        page.locator("main form button.primary").first.click()
    return page


SHARED = [
    _case("shared, board", "Board", "/", lambda found: "/"),
    _case("shared, board of an admin", "Board", "/", lambda found: "/", "admin"),
    _case("shared, queue", _QUEUE, "/queues/<ref>", lambda found: f"/queues/{int(found.triage)}"),
    _case("shared, todo", "Look into the night", "/todos/<todo_id>",
          lambda found: f"/todos/{found.todo}"),
    _case("shared, endpoint seen", re.compile("Endpoint night-lane-"), "/endpoints/<endpoint_id>",
          lambda found: f"/endpoints/{found.shared.id}"),
    _case("shared, endpoint of one's own", re.compile("Endpoint day-lane-"),
          "/endpoints/<endpoint_id>", lambda found: f"/endpoints/{found.own.id}"),
    Case(name="shared, grant refused", heading=re.compile("Endpoint day-lane-"), status=422,
         reach=_not_grantable, rule="/endpoints/<endpoint_id>/team-queues"),
    _case("shared, take away", re.compile("Take .*team:night/triage.* away from day-lane-"),
          "/endpoints/<endpoint_id>/team-queues/<queue_id>/remove",
          lambda found: f"/endpoints/{found.own.id}/team-queues/{int(found.triage)}/remove"),
    _case("shared, webhook", re.compile("Webhook: github to .*team:night/triage"),
          "/webhooks/<webhook_id>", lambda found: f"/webhooks/{found.hook.id}"),
    Case(name="shared, webhook refused", heading="Create a webhook", status=422,
         reach=_not_a_target, rule="/webhooks/new"),
    _case("shared, vend", "Vend an endpoint: agent (step 1 of 6)", _STEP,
          lambda found: "/endpoints/vend/agent", "admin"),
    Case(name="shared, vend review", heading="Vend an endpoint: confirm (step 6 of 6)",
         reach=_reviewed, rule="/endpoints/vend/confirm"),
]
