"""Endpoints and agents over /api/v1."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from app.domain.callers import Endpoint, Human
from app.domain.verbs import BASICS
from tests.support.client import Caller
from tests.support.make import Make


def test_vending_answers_everything_that_is_shown_once(api: Caller, client: FlaskClient) -> None:
    answer = api.post(
        "/endpoints",
        json={
            "name": "lane m",
            "queues": ["lane-m", "a/b"],
            "verbs": ["claim", "claim_next"],
            "lifetime": "7d",
            "default_lease_ttl_seconds": 600,
            "webhook_source_type": "github",
        },
    )
    body = answer.get_json()

    assert answer.status_code == 201
    assert body["agent_name"] == "lane m"
    assert body["slug"].startswith("lane-m-")
    assert (body["queues"], body["verbs"]) == (["lane-m", "a/b"], ["claim", "claim_next"])
    assert body["agent_url"] == "http://localhost/agent/v1"
    assert body["expires_at"].endswith("Z")
    webhook = body["webhook"]
    assert webhook["ingest_url"].startswith("http://localhost/webhooks/w/")
    assert (webhook["source_type"], webhook["trust_mode"]) == ("github", "signed")
    assert len(webhook["signing_secret"]) == 64
    asked = client.post(
        "/agent/v1/whoami", json={}, headers={"Authorization": f"Bearer {body['token']}"}
    )
    assert asked.get_json()["endpoint_id"] == body["endpoint_id"]


def test_vending_needs_no_more_than_a_name(api: Caller) -> None:
    body = api.post("/endpoints", json={"name": "m"}).get_json()

    assert (body["queues"], body["verbs"]) == (["inbox"], list(BASICS))
    assert "expires_at" not in body
    assert body["webhook"]["source_type"] == "generic"
    assert "signing_secret" not in body["webhook"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": 7}, "name"),
        ({"name": None}, "name"),
        ({"name": "m", "queues": "inbox"}, "queues"),
        ({"name": "m", "queues": []}, "queues"),
        ({"name": "m", "queues": ["a", 7]}, "queues"),
        ({"name": "m", "queues": ["a", "a"]}, "queues"),
        ({"name": "m", "queues": ["quarantine"]}, "queues"),
        ({"name": "m", "verbs": ["fly"]}, "verbs"),
        ({"name": "m", "verbs": []}, "verbs"),
        ({"name": "m", "lifetime": 7}, "lifetime"),
        ({"name": "m", "lifetime": "7y"}, "lifetime"),
        ({"name": "m", "default_lease_ttl_seconds": 59}, "default_lease_ttl_seconds"),
        ({"name": "m", "default_lease_ttl_seconds": True}, "default_lease_ttl_seconds"),
        ({"name": "m", "default_lease_ttl_seconds": 60.5}, "default_lease_ttl_seconds"),
        ({"name": "m", "webhook_source_type": "fax"}, "webhook_source_type"),
        ({"name": "m", "slug": "mine"}, "slug"),
    ],
)
def test_a_bad_vend_names_its_field(api: Caller, body: dict[str, object], field: str) -> None:
    answer = api.post("/endpoints", json=body)

    assert answer.status_code == 400
    assert (answer.get_json()["code"], answer.get_json()["field"]) == ("invalid_argument", field)


def test_a_team_is_named_by_slug_and_needs_a_role(api: Caller, make: Make, ada: Human) -> None:
    mine, joined = make.team("mine"), make.team("joined")
    make.team("theirs")
    make.member(mine, ada, "admin")
    make.member(joined, ada)

    answers = [
        api.post("/endpoints", json={"name": "m", "team": slug})
        for slug in ("mine", "joined", "theirs", "none")
    ]

    assert [answer.status_code for answer in answers] == [201, 403, 404, 404]
    assert answers[1].get_json()["code"] == "role_required"
    assert answers[2].data == answers[3].data


def test_the_list_shows_what_may_be_configured(
    api: Caller, make: Make, ada: Human, lane: Endpoint, revoked: Endpoint, foreign: Endpoint
) -> None:
    team, other = make.team("ops"), make.team("other")
    make.member(team, ada, "owner")
    make.member(other, ada)
    of_team = make.endpoint(team=team)
    make.endpoint(team=other)

    rows = {row["id"]: row for row in api.get("/endpoints").get_json()["endpoints"]}

    assert set(rows) == {str(lane.id), str(revoked.id), str(of_team.id)}
    assert rows[str(revoked.id)]["state"] == "revoked"
    assert rows[str(lane.id)] == {
        "id": str(lane.id),
        "slug": lane.slug,
        "agent_name": "lane",
        "state": "active",
        "queues": ["lane-m", "a/b"],
        "verbs": rows[str(lane.id)]["verbs"],
        "default_lease_ttl_seconds": None,
        "effective_lease_ttl_seconds": 300,
    }
    assert set(rows[str(lane.id)]["verbs"]) == set(BASICS)


def test_agents_are_listed_by_name(api: Caller, lane: Endpoint, make: Make, ada: Human) -> None:
    make.endpoint(ada, name="alpha")
    make.run("update agents set description = 'first' where name = 'alpha'")
    make.endpoint(name="theirs")

    agents = api.get("/agents").get_json()["agents"]

    assert [agent["name"] for agent in agents] == ["alpha", "lane"]
    assert agents[0]["description"] == "first"
    assert agents[1] == {"id": str(lane.agent_id), "name": "lane"}


def test_the_default_lease_is_set_and_cleared(api: Caller, lane: Endpoint) -> None:
    path = f"/endpoints/{lane.slug}"

    row = api.patch(path, json={"default_lease_ttl_seconds": 600}).get_json()
    assert (row["default_lease_ttl_seconds"], row["effective_lease_ttl_seconds"]) == (600, 600)
    row = api.patch(path, json={"default_lease_ttl_seconds": None}).get_json()
    assert (row["default_lease_ttl_seconds"], row["effective_lease_ttl_seconds"]) == (None, 300)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "default_lease_ttl_seconds"),
        ({"default_lease_ttl_seconds": 59}, "default_lease_ttl_seconds"),
        ({"default_lease_ttl_seconds": 86401}, "default_lease_ttl_seconds"),
        ({"default_lease_ttl_seconds": "60"}, "default_lease_ttl_seconds"),
        ({"default_lease_ttl_seconds": 60, "name": "n"}, "name"),
    ],
)
def test_a_bad_change_names_its_field(
    api: Caller, lane: Endpoint, body: dict[str, object], field: str
) -> None:
    answer = api.patch(f"/endpoints/{lane.slug}", json=body)

    assert (answer.status_code, answer.get_json()["field"]) == (400, field)


def test_revoke_then_delete(api: Caller, lane: Endpoint, make: Make) -> None:
    todo = make.todo(lane, "lane-m")
    early = api.delete(f"/endpoints/{lane.slug}")
    assert (early.status_code, early.get_json()["state"]) == (409, "active")

    revoked = api.post(f"/endpoints/{lane.id}/revoke")
    assert (revoked.status_code, revoked.get_json()) == (
        200,
        {"id": str(lane.id), "slug": lane.slug, "agent_name": "lane", "state": "revoked"},
    )
    assert make.row(todo)["state"] == "failed"
    again = api.post(f"/endpoints/{lane.slug}/revoke", json={})
    assert (again.status_code, again.get_json()["code"]) == (409, "conflict")
    assert again.get_json()["state"] == "revoked"

    deleted = api.delete(f"/endpoints/{lane.slug}")
    assert (deleted.status_code, deleted.get_json()) == (
        200,
        {"id": str(lane.id), "deleted": True},
    )
    assert api.get(f"/endpoints/{lane.slug}/webhooks").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/endpoints/{}", {"default_lease_ttl_seconds": 60}),
        ("POST", "/endpoints/{}/revoke", {}),
        ("DELETE", "/endpoints/{}", {}),
        ("POST", "/endpoints/{}/todos", {"title": "t"}),
        ("POST", "/endpoints/{}/webhooks", {"source_type": "github", "target_queue": "a/b"}),
        ("GET", "/endpoints/{}/webhooks", None),
    ],
)
def test_foreign_is_unknown_byte_for_byte(
    api: Caller, foreign: Endpoint, method: str, path: str, body: dict[str, object] | None
) -> None:
    refs = [foreign.slug, foreign.id, "nobody-abcd", uuid.uuid4(), "x" * 300]

    answers = [api.open(method, path.format(ref), json=body) for ref in refs]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.data for answer in answers}) == 1


def test_a_team_member_configures_nothing_of_the_team(
    api: Caller, operator: Callable[[Human], Caller], make: Make, ada: Human
) -> None:
    admin, team = make.human(), make.team()
    make.member(team, ada)
    make.member(team, admin, "admin")
    endpoint = make.endpoint(team=team)

    assert api.post(f"/endpoints/{endpoint.slug}/revoke").status_code == 404
    assert operator(admin).post(f"/endpoints/{endpoint.slug}/revoke").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/endpoints/{}", {"default_lease_ttl_seconds": 60}),
        ("POST", "/endpoints/{}/revoke", {}),
        ("POST", "/endpoints/{}/todos", {"title": "t"}),
        ("POST", "/endpoints/{}/webhooks", {"source_type": "github", "target_queue": "inbox"}),
    ],
)
def test_writes_on_a_revoked_endpoint_conflict_and_reads_work(
    api: Caller, revoked: Endpoint, method: str, path: str, body: dict[str, object]
) -> None:
    answer = api.open(method, path.format(revoked.slug), json=body)

    assert answer.status_code == 409
    assert (answer.get_json()["code"], answer.get_json()["state"]) == ("conflict", "revoked")
    assert api.get(f"/endpoints/{revoked.slug}/webhooks").status_code == 200
