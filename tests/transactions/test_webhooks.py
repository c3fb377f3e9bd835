"""Webhooks and routes: the order of refusals, the ceiling, secrets, and whose they are."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint
from app.domain.errors import (
    CeilingExceeded,
    Conflict,
    DomainError,
    Forbidden,
    ForbiddenSourceType,
    InvalidArgument,
    NotFound,
    ReferenceOutOfScope,
    RoleRequired,
    RouteOutOfScope,
)
from app.reads import webhooks as lists
from app.transactions import endpoints, routes, webhooks
from app.transactions.webhook_secrets import MintedWebhook
from tests.support.make import Make
from tests.support.race import together


def test_a_signed_webhook_shows_its_secret_once_and_stores_it_sealed(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint()

    made = webhooks.create(db, endpoint, "github", "inbox")

    assert made.signing_secret is not None
    assert len(bytes.fromhex(made.signing_secret)) == 32
    assert len(bytes.fromhex(made.ingest_token)) == 16
    sealed = str(make.value("select secret from endpoint_webhooks where id = %s", made.id))
    assert made.signing_secret not in sealed
    assert db.sealer.open(sealed, str(made.id)) == made.signing_secret
    assert lists.list_for_endpoint(db, endpoint).ceiling.used == 1


@pytest.mark.parametrize(
    ("source_type", "queue", "refusal", "field"),
    [
        # Each call is wrong in every later way too: the earlier check answers.
        (" ", "other", InvalidArgument, "source_type"),
        ("fax", "", InvalidArgument, "target_queue"),
        ("fax", "quarantine", InvalidArgument, "target_queue"),
        ("fax", "team:ops/inbox", InvalidArgument, "target_queue"),
        ("slack", "other", ForbiddenSourceType, None),
        ("fax", "other", InvalidArgument, "source_type"),
        ("github", "other", Forbidden, None),
        ("github", "inbox", CeilingExceeded, None),
    ],
)
def test_refusals_come_in_the_contracts_order(
    db: Database,
    make: Make,
    source_type: str,
    queue: str,
    refusal: type[DomainError],
    field: str | None,
) -> None:
    endpoint = make.endpoint(webhook_max=0, webhook_source_types=("github", "fax"))

    with pytest.raises(refusal) as refused:
        webhooks.create(db, endpoint, source_type, queue)

    assert refused.value.field == field


def test_the_last_place_under_the_ceiling_is_taken_once(db: Database, make: Make) -> None:
    endpoint = make.endpoint(webhook_max=3)

    outcomes = together(8, lambda _: webhooks.create(db, endpoint, "generic", "inbox"))

    assert sum(isinstance(outcome, MintedWebhook) for outcome in outcomes) == 3
    assert sum(isinstance(outcome, CeilingExceeded) for outcome in outcomes) == 5


def test_rotating_replaces_url_and_secret(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    first = webhooks.create(db, endpoint, "stripe", "inbox")

    second = webhooks.rotate(db, endpoint, str(first.id))

    assert second.id == first.id
    assert second.ingest_token != first.ingest_token
    assert second.signing_secret not in (None, first.signing_secret)
    listed = lists.list_for_endpoint(db, endpoint).webhooks
    assert [row.ingest_token for row in listed] == [second.ingest_token]
    assert listed[0].rotated_at is not None


def test_deleting_frees_the_place(db: Database, make: Make) -> None:
    endpoint = make.endpoint(webhook_max=1)
    made = webhooks.create(db, endpoint, "generic", "inbox")

    assert webhooks.delete(db, endpoint, str(made.id)) == made.id

    assert webhooks.create(db, endpoint, "generic", "inbox").id != made.id
    with pytest.raises(NotFound):
        webhooks.delete(db, endpoint, str(made.id))


@pytest.mark.parametrize("name", ["create", "rotate", "delete", "list"])
def test_each_verb_needs_its_grant(db: Database, make: Make, name: str) -> None:
    endpoint = make.endpoint(verbs=("claim",))
    webhook_id = str(make.webhook(endpoint).id)
    calls: dict[str, Callable[[], object]] = {
        "create": lambda: webhooks.create(db, endpoint, "generic", "inbox"),
        "rotate": lambda: webhooks.rotate(db, endpoint, webhook_id),
        "delete": lambda: webhooks.delete(db, endpoint, webhook_id),
        "list": lambda: lists.list_for_endpoint(db, endpoint),
    }

    with pytest.raises(Forbidden):
        calls[name]()


def _wrong_ids(make: Make, other: Endpoint) -> list[str]:
    return [str(make.webhook(other).id), str(uuid.uuid4()), "", "nonsense", "\x00"]


def test_another_endpoints_webhook_is_not_found(db: Database, make: Make) -> None:
    endpoint = make.endpoint()

    for webhook_id in _wrong_ids(make, make.endpoint()):
        with pytest.raises(NotFound):
            webhooks.rotate(db, endpoint, webhook_id)
        with pytest.raises(NotFound):
            webhooks.delete(db, endpoint, webhook_id)


def test_another_humans_webhook_is_not_found(db: Database, make: Make) -> None:
    human = make.human()

    for webhook_id in _wrong_ids(make, make.endpoint()):
        with pytest.raises(NotFound):
            webhooks.rotate_as(db, human, webhook_id)
        with pytest.raises(NotFound):
            webhooks.delete_as(db, human, webhook_id)
        with pytest.raises(NotFound):
            lists.list_routes(db, human, webhook_id)
        with pytest.raises(NotFound):
            routes.add_route(db, human, webhook_id, "any")


def test_the_owner_creates_rotates_and_deletes_too(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)

    made = webhooks.create_as(db, human, endpoint.slug, "gitea", "inbox")

    assert webhooks.rotate_as(db, human, str(made.id)).signing_secret != made.signing_secret
    assert [row.id for row in lists.list_for_human(db, human)] == [made.id]
    assert webhooks.delete_as(db, human, str(made.id)) == made.id


def test_nothing_is_written_on_a_revoked_endpoint_but_it_reads(db: Database, make: Make) -> None:
    human = make.human()
    endpoint, other = make.endpoint(human), make.endpoint(human)
    webhook_id = str(make.webhook(endpoint).id)
    endpoints.revoke(db, human, endpoint.slug)
    writes: list[Callable[[], object]] = [
        lambda: webhooks.create(db, endpoint, "github", "inbox"),
        lambda: webhooks.create_as(db, human, endpoint.slug, "github", "inbox"),
        lambda: webhooks.rotate_as(db, human, webhook_id),
        lambda: webhooks.delete_as(db, human, webhook_id),
        lambda: routes.add_route(db, human, webhook_id, other.slug),
        lambda: routes.remove_route(db, human, webhook_id, str(other.id)),
    ]

    for write in writes:
        with pytest.raises(Conflict) as refused:
            write()
        assert refused.value.extras == {"state": "revoked"}

    assert len(lists.list_of_endpoint(db, human, endpoint.slug).webhooks) == 1
    assert lists.list_routes(db, human, webhook_id) == []


# --- team targets --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "members_may"), [("owner", False), ("admin", False), ("member", True)]
)
def test_a_webhook_may_target_a_team_queue(
    db: Database, make: Make, role: str, *, members_may: bool
) -> None:
    human, team = make.human(), make.team("ops")
    make.member(team, human, role)
    make.run("update teams set members_create_webhooks = %s", members_may)
    queue = make.team_queue(team, "in/box")
    endpoint = make.endpoint(human)

    made = webhooks.create_as(db, human, endpoint.slug, "github", "team:ops/in/box")

    stored = make.value("select target_team_queue_id from endpoint_webhooks where id = %s", made.id)
    assert (made.target_queue, stored) == ("team:ops/in/box", int(queue))


def test_a_plain_member_needs_the_teams_leave(db: Database, make: Make) -> None:
    human, team = make.human(), make.team("ops")
    make.member(team, human)
    make.team_queue(team)

    with pytest.raises(RoleRequired):
        webhooks.create_as(db, human, make.endpoint(human).slug, "github", "team:ops/inbox")


@pytest.mark.parametrize("target", ["team:ops/inbox", "team:ops/none", "team:none/inbox"])
def test_outside_the_team_its_queues_do_not_exist(db: Database, make: Make, target: str) -> None:
    make.team_queue(make.team("ops"))
    human = make.human()

    with pytest.raises(NotFound):
        webhooks.create_as(db, human, make.endpoint(human).slug, "github", target)


def test_a_teams_queue_is_asked_for_as_it_is_written_and_by_a_person_alone(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint(human := make.human())

    with pytest.raises(InvalidArgument, match="only a person can make a webhook"):
        webhooks.create(db, endpoint, "github", "team:ops/inbox")
    for half in ("team:", "team:ops/", "team:/inbox"):
        with pytest.raises(InvalidArgument, match="write a team's queue as team:SLUG/NAME"):
            webhooks.create_as(db, human, endpoint.slug, "github", half)


def test_one_teams_endpoint_does_not_reach_another_teams_queue(db: Database, make: Make) -> None:
    human, ours, theirs = make.human(), make.team("ours"), make.team("theirs")
    for team in (ours, theirs):
        make.member(team, human, "admin")
    make.team_queue(theirs)
    endpoint = make.endpoint(human, ours)

    with pytest.raises(ReferenceOutOfScope):
        webhooks.create_as(db, human, endpoint.slug, "github", "team:theirs/inbox")


def test_a_team_targets_name_follows_the_teams_slug(db: Database, make: Make) -> None:
    human, team = make.human(), make.team("ops")
    make.member(team, human, "owner")
    make.team_queue(team)
    endpoint = make.endpoint(human)
    webhooks.create_as(db, human, endpoint.slug, "github", "team:ops/inbox")

    make.run("update teams set slug = 'platform'")

    listed = lists.list_of_endpoint(db, human, endpoint.slug).webhooks
    assert [row.target_queue for row in listed] == ["team:platform/inbox"]


@pytest.mark.rule("identity.md: Teams, effective reach per call")
def test_rotating_names_a_target_as_the_lists_do_also_to_who_has_left_the_team(
    db: Database, make: Make
) -> None:
    team, ana, boss = make.team("night"), make.human(), make.human()
    make.member(team, ana)
    make.member(team, boss, "owner")
    triage = make.team_queue(team, "triage")
    own = make.endpoint(ana, verbs=("list_webhooks", "rotate_webhook"))
    shared = make.endpoint(boss, team, verbs=("list_webhooks", "rotate_webhook"))
    ids = {each.id: str(make.webhook(each, team_queue=triage).id) for each in (own, shared)}

    def names() -> list[str]:
        said = [
            (webhooks.rotate_as(db, human, ids[lane.id]).target_queue,
             webhooks.rotate(db, lane, ids[lane.id]).target_queue,
             lists.list_for_human(db, human)[0].target_queue,
             lists.list_for_endpoint(db, lane).webhooks[0].target_queue)
            for human, lane in ((ana, own), (boss, shared))
        ]  # fmt: skip
        assert [len(set(each)) for each in said] == [1, 1], said
        return [each[0] for each in said]

    make.run("update teams set slug = 'dusk' where id = %s", team.id)
    inside = names()
    make.remove_member(team, ana)

    assert inside == ["team:dusk/triage"] * 2
    assert names() == ["team:night/triage", "team:dusk/triage"]


# --- routes --------------------------------------------------------------------------------------


def test_a_route_is_added_and_removed_however_often(db: Database, make: Make) -> None:
    human = make.human()
    webhook_id = str(make.webhook(make.endpoint(human)).id)
    target = make.endpoint(human)

    for ref in (target.slug, str(target.id)):
        routes.add_route(db, human, webhook_id, ref)
    assert [row.slug for row in lists.list_routes(db, human, webhook_id)] == [target.slug]

    for _ in range(2):
        routes.remove_route(db, human, webhook_id, str(target.id))
    assert lists.list_routes(db, human, webhook_id) == []


def test_the_owning_endpoint_is_a_target_without_a_route(db: Database, make: Make) -> None:
    human = make.human()
    owner = make.endpoint(human)
    webhook_id = str(make.webhook(owner).id)

    routes.add_route(db, human, webhook_id, owner.slug)

    assert lists.list_routes(db, human, webhook_id) == []
    with pytest.raises(Conflict):
        routes.remove_route(db, human, webhook_id, str(owner.id))


def test_every_other_target_is_the_same_refusal(db: Database, make: Make) -> None:
    human, team = make.human(), make.team()
    make.member(team, human)
    webhook_id = str(make.webhook(make.endpoint(human)).id)
    revoked = make.endpoint(human)
    endpoints.revoke(db, human, revoked.slug)
    foreign, of_a_team = make.endpoint(), make.endpoint(team=team)

    sentences = set()
    for ref in (foreign.slug, str(foreign.id), of_a_team.slug, revoked.slug, "nobody", "\x00"):
        with pytest.raises(Forbidden) as refused:
            routes.add_route(db, human, webhook_id, ref)
        sentences.add(refused.value.sentence)

    assert len(sentences) == 1


def test_a_teams_webhook_does_not_reach_its_admins_own_endpoint(db: Database, make: Make) -> None:
    human, team = make.human(), make.team()
    make.member(team, human, "admin")
    team_webhook = make.webhook(make.endpoint(human, team))
    own_webhook = make.webhook(make.endpoint(human))
    own, of_team = make.endpoint(human), make.endpoint(human, team)

    with pytest.raises(RouteOutOfScope):
        routes.add_route(db, human, str(team_webhook.id), own.slug)
    routes.add_route(db, human, str(team_webhook.id), of_team.slug)
    routes.add_route(db, human, str(own_webhook.id), of_team.slug)
