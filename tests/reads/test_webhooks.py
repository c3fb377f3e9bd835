"""Lists of webhooks and routes, by what a human may configure."""

from __future__ import annotations

import pytest

from app.db.database import Database
from app.domain.errors import NotFound
from app.reads import webhooks
from tests.support.make import Make


def test_an_endpoint_sees_its_own_webhooks_and_ceiling(db: Database, make: Make) -> None:
    endpoint = make.endpoint(queues=("a", "b"), webhook_max=2, webhook_source_types=("github",))
    made = make.webhook(endpoint, target_queue="a")
    make.webhook(make.endpoint())

    listing = webhooks.list_for_endpoint(db, endpoint)

    assert [row.id for row in listing.webhooks] == [made.id]
    assert listing.ceiling == webhooks.Ceiling(
        max=2, allowed_source_types=["github"], allowed_queues=["a", "b"], used=1
    )


@pytest.mark.parametrize(("role", "count"), [("owner", 1), ("admin", 1), ("member", 0)])
def test_a_teams_webhooks_are_its_admins_to_list(
    db: Database, make: Make, role: str, count: int
) -> None:
    human, team = make.human(), make.team()
    make.member(team, human, role)
    make.webhook(make.endpoint(team=team))

    assert len(webhooks.list_for_human(db, human)) == count


def test_routes_of_anothers_webhook_are_not_found(db: Database, make: Make) -> None:
    webhook, target = make.webhook(make.endpoint()), make.endpoint()
    make.route(webhook, target)

    for webhook_id in (str(webhook.id), "nonsense"):
        with pytest.raises(NotFound):
            webhooks.list_routes(db, make.human(), webhook_id)


@pytest.mark.rule("identity.md: Teams")
def test_a_target_follows_the_teams_name_while_the_owner_is_in_the_team(
    db: Database, make: Make
) -> None:
    team, ana, boss = make.team("night"), make.human(), make.human()
    make.member(team, ana)
    make.member(team, boss, "owner")
    triage = make.team_queue(team, "triage")
    own, shared = make.endpoint(ana, verbs=("list_webhooks",)), make.endpoint(boss, team)
    for lane in (own, shared):
        make.webhook(lane, team_queue=triage)

    def names() -> list[list[str]]:
        lists = (webhooks.list_for_human(db, ana), webhooks.list_for_endpoint(db, own).webhooks,
                 webhooks.list_for_human(db, boss))
        return [[row.target_queue for row in rows] for rows in lists]

    make.run("update teams set slug = 'dusk' where id = %s", team.id)
    inside = names()
    make.remove_member(team, ana)
    outside = names()

    assert inside == [["team:dusk/triage"]] * 3
    assert outside == [["team:night/triage"]] * 2 + [["team:dusk/triage"]]
