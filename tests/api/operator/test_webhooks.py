"""Webhooks and routes over /api/v1."""

from __future__ import annotations

import uuid

import pytest
from flask.testing import FlaskClient

from app.domain.callers import Endpoint, Human
from tests.support.client import Caller
from tests.support.make import Make


def test_a_created_webhook_takes_deliveries_for_its_queue(
    api: Caller, client: FlaskClient, lane: Endpoint
) -> None:
    answer = api.post(
        f"/endpoints/{lane.slug}/webhooks", json={"source_type": "generic", "target_queue": "a/b"}
    )
    body = answer.get_json()

    assert answer.status_code == 201
    assert (body["source_type"], body["target_queue"], body["trust_mode"]) == (
        "generic",
        "a/b",
        "token",
    )
    assert "signing_secret" not in body
    path = body["ingest_url"].removeprefix("http://localhost")
    delivered = client.post(path, json={"n": 1})
    assert delivered.status_code == 202
    assert delivered.get_json()["queue"] == "a/b"


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"target_queue": "a/b"}, 400, "invalid_argument", "source_type"),
        ({"source_type": "github"}, 400, "invalid_argument", "target_queue"),
        ({"source_type": "", "target_queue": "a/b"}, 400, "invalid_argument", "source_type"),
        (
            {"source_type": "github", "target_queue": "quarantine"},
            400,
            "invalid_argument",
            "target_queue",
        ),
        (
            {"source_type": "github", "target_queue": "team:/"},
            400,
            "invalid_argument",
            "target_queue",
        ),
        ({"source_type": "fax", "target_queue": "a/b"}, 403, "forbidden_source_type", None),
        ({"source_type": "github", "target_queue": "elsewhere"}, 403, "forbidden", None),
        ({"source_type": "github", "target_queue": "team:no/q"}, 404, "not_found", None),
    ],
)
def test_a_bad_webhook_is_refused_by_name(
    api: Caller,
    lane: Endpoint,
    body: dict[str, object],
    status: int,
    code: str,
    field: str | None,
) -> None:
    answer = api.post(f"/endpoints/{lane.slug}/webhooks", json=body)

    refusal = answer.get_json()
    assert (answer.status_code, refusal["code"], refusal.get("field")) == (status, code, field)


def test_over_the_ceiling_is_a_code_of_its_own(api: Caller) -> None:
    vended = api.post("/endpoints", json={"name": "m"}).get_json()

    answer = api.post(
        f"/endpoints/{vended['slug']}/webhooks",
        json={"source_type": "generic", "target_queue": "inbox"},
    )

    assert (answer.status_code, answer.get_json()["code"]) == (409, "ceiling_exceeded")


def test_the_lists_show_webhooks_without_secrets(
    api: Caller, lane: Endpoint, make: Make, foreign: Endpoint
) -> None:
    webhook = make.webhook(lane, target_queue="a/b")
    make.webhook(foreign, target_queue="a/b")

    everything = api.get("/webhooks").get_json()
    one = api.get(f"/endpoints/{lane.id}/webhooks").get_json()

    row = everything["webhooks"][0]
    assert len(everything["webhooks"]) == len(one["webhooks"]) == 1
    assert (row["webhook_id"], row["endpoint_id"], row["slug"]) == (
        str(webhook.id),
        str(lane.id),
        lane.slug,
    )
    assert row["ingest_url"] == f"http://localhost{webhook.path}"
    assert "rotated_at" not in row
    assert "secret" not in str(everything)
    assert one["ceiling"]["used"] == 1
    assert one["ceiling"]["max"] == 10
    assert one["ceiling"]["allowed_queues"] == ["lane-m", "a/b"]


def test_rotating_stops_the_old_url_at_once(
    api: Caller, client: FlaskClient, lane: Endpoint
) -> None:
    made = api.post(
        f"/endpoints/{lane.slug}/webhooks", json={"source_type": "generic", "target_queue": "a/b"}
    ).get_json()

    rotated = api.post(f"/webhooks/{made['webhook_id']}/rotate")
    fresh = rotated.get_json()

    old_path, new_path = (
        url.removeprefix("http://localhost") for url in (made["ingest_url"], fresh["ingest_url"])
    )
    assert rotated.status_code == 200
    assert client.post(old_path, json={}).status_code == 404
    assert client.post(new_path, json={}).status_code == 202


def test_deleting_answers_once(api: Caller, lane: Endpoint, make: Make) -> None:
    webhook = make.webhook(lane, target_queue="a/b")

    answer = api.delete(f"/webhooks/{webhook.id}")

    assert (answer.status_code, answer.get_json()) == (
        200,
        {"webhook_id": str(webhook.id), "deleted": True},
    )
    assert api.delete(f"/webhooks/{webhook.id}").status_code == 404


@pytest.mark.parametrize(
    ("method", "suffix", "body"),
    [
        ("POST", "/rotate", {}),
        ("DELETE", "", {}),
        ("GET", "/routes", None),
        ("POST", "/routes", {"endpoint": "any"}),
        ("DELETE", "/routes/00000000-0000-4000-8000-000000000000", {}),
    ],
)
def test_a_foreign_webhook_is_an_unknown_webhook_byte_for_byte(
    api: Caller,
    make: Make,
    foreign: Endpoint,
    method: str,
    suffix: str,
    body: dict[str, object] | None,
) -> None:
    theirs = make.webhook(foreign)

    answers = [
        api.open(method, f"/webhooks/{webhook_id}{suffix}", json=body)
        for webhook_id in (theirs.id, uuid.uuid4(), "nonsense", "%00", "x" * 36)
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.data for answer in answers}) == 1


def test_routes_are_added_listed_and_removed(
    api: Caller, lane: Endpoint, make: Make, ada: Human
) -> None:
    webhook, target = make.webhook(lane, target_queue="a/b"), make.endpoint(ada)
    path = f"/webhooks/{webhook.id}/routes"
    assert api.get(path).get_json() == {"routes": []}

    added = api.post(path, json={"endpoint": target.slug})
    again = api.post(path, json={"endpoint": str(target.id)})

    routes = added.get_json()["routes"]
    assert (added.status_code, again.status_code) == (200, 200)
    assert again.get_json() == added.get_json() == api.get(path).get_json()
    assert [(route["endpoint_id"], route["slug"]) for route in routes] == [
        (str(target.id), target.slug)
    ]
    assert routes[0]["granted_at"].endswith("Z")
    for _ in range(2):
        removed = api.delete(f"{path}/{target.id}")
        assert (removed.status_code, removed.get_json()) == (200, {"routes": []})


def test_a_route_to_anything_else_is_the_same_forbidden(
    api: Caller, lane: Endpoint, make: Make, foreign: Endpoint, revoked: Endpoint
) -> None:
    path = f"/webhooks/{make.webhook(lane, target_queue='a/b').id}/routes"

    answers = [
        api.post(path, json={"endpoint": str(ref)})
        for ref in (foreign.slug, foreign.id, revoked.slug, "nobody", "", uuid.uuid4())
    ]

    assert {answer.status_code for answer in answers} == {403}
    assert len({answer.data for answer in answers}) == 1
    assert answers[0].get_json()["code"] == "forbidden"


def test_the_owning_endpoint_cannot_be_removed(api: Caller, lane: Endpoint, make: Make) -> None:
    webhook = make.webhook(lane, target_queue="a/b")

    answer = api.delete(f"/webhooks/{webhook.id}/routes/{lane.id}")

    assert (answer.status_code, answer.get_json()["code"]) == (409, "conflict")


def test_a_routed_delivery_reaches_both(
    api: Caller, client: FlaskClient, make: Make, ada: Human
) -> None:
    owner, target = make.endpoint(ada), make.endpoint(ada)
    webhook = make.webhook(owner, "generic", secret=None, trust_mode="token")
    api.post(f"/webhooks/{webhook.id}/routes", json={"endpoint": target.slug})

    delivered = client.post(webhook.path, json={}).get_json()

    assert [todo["endpoint_id"] for todo in delivered["todos"]] == [str(owner.id), str(target.id)]


def test_webhooks_of_a_revoked_endpoint_are_read_only(
    api: Caller, revoked: Endpoint, make: Make, lane: Endpoint
) -> None:
    webhook = make.webhook(revoked)
    writes = [
        api.post(f"/webhooks/{webhook.id}/rotate"),
        api.delete(f"/webhooks/{webhook.id}"),
        api.post(f"/webhooks/{webhook.id}/routes", json={"endpoint": lane.slug}),
        api.delete(f"/webhooks/{webhook.id}/routes/{lane.id}"),
    ]

    assert {answer.status_code for answer in writes} == {409}
    assert {answer.get_json()["state"] for answer in writes} == {"revoked"}
    assert api.get(f"/webhooks/{webhook.id}/routes").status_code == 200
    assert len(api.get("/webhooks").get_json()["webhooks"]) == 1
