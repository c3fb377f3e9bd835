"""Events over /api/v1: what arrived in the human's own scope."""

from __future__ import annotations

import base64

import pytest
from flask.testing import FlaskClient

from app.domain.callers import Endpoint, Human
from tests.support.client import Caller
from tests.support.make import Make


def _deliver(client: FlaskClient, make: Make, endpoint: Endpoint, body: bytes) -> str:
    webhook = make.webhook(
        endpoint, "generic", endpoint.queues[0], secret=None, trust_mode="token"
    )
    headers = {"Content-Type": "application/json", "Authorization": "hidden"}
    answer = client.post(webhook.path, data=body, headers=headers)
    assert answer.status_code == 202
    return str(answer.get_json()["id"])


def test_a_delivery_is_listed_and_read_with_its_body(
    api: Caller, client: FlaskClient, make: Make, lane: Endpoint
) -> None:
    todo_id = _deliver(client, make, lane, b'{"n": 1}')

    row = api.get("/events").get_json()["events"][0]
    detail = api.get(f"/events/{row['id']}").get_json()

    assert (row["source"], row["family"], row["trust_mode"]) == ("generic", "webhook", "token")
    assert (row["verified"], row["payload_size"]) == (False, 8)
    assert (row["endpoint_id"], row["slug"]) == (str(lane.id), lane.slug)
    assert row["received_at"].endswith("Z")
    assert "payload" not in row
    assert row.items() <= detail.items()
    assert (detail["payload"], detail["todos"]) == ({"n": 1}, [todo_id])
    assert detail["headers"]["Authorization"] == "«redacted»"


def test_a_body_that_is_not_json_comes_as_bytes(
    api: Caller, client: FlaskClient, make: Make, lane: Endpoint
) -> None:
    _deliver(client, make, lane, b"\xff" * 70_000)
    event_id = api.get("/events").get_json()["events"][0]["id"]

    detail = api.get(f"/events/{event_id}").get_json()

    assert base64.b64decode(detail["body_base64"]) == b"\xff" * 65_536
    assert detail["body_truncated"] is True
    assert "payload" not in detail


def test_a_written_todo_is_an_event_without_a_body(api: Caller, lane: Endpoint) -> None:
    made = api.post(f"/endpoints/{lane.slug}/todos", json={"title": "t"}).get_json()

    detail = api.get(f"/events/{made['event_id']}").get_json()

    assert (detail["source"], detail["verified"], detail["todos"]) == (
        "operator",
        True,
        [made["id"]],
    )
    assert "payload" not in detail


def test_pages_go_on_until_the_end(api: Caller, lane: Endpoint) -> None:
    made = [
        api.post(f"/endpoints/{lane.slug}/todos", json={"title": "t"}).get_json()["event_id"]
        for _ in range(5)
    ]

    pages, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/events?limit=2{cursor and '&cursor=' + cursor}").get_json()
        pages.append([event["id"] for event in page["events"]])
        cursor = page["next_cursor"]

    assert [len(page) for page in pages] == [2, 2, 1]
    assert [event for page in pages for event in page] == made[::-1]


def test_a_foreign_event_is_an_unknown_event_byte_for_byte(
    api: Caller, client: FlaskClient, make: Make, foreign: Endpoint
) -> None:
    _deliver(client, make, foreign, b"{}")
    theirs = make.value("select id from events")

    answers = [
        api.get(f"/events/{event_id}")
        for event_id in (theirs, 10**6, 0, -1, "nonsense", "9" * 30, "%00", "1.0", "%C2%B9")
    ]

    assert api.get("/events").get_json() == {"events": [], "next_cursor": None}
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.data for answer in answers}) == 1


@pytest.mark.parametrize("role", ["owner", "admin", "member"])
def test_a_team_reads_its_events(api: Caller, make: Make, ada: Human, role: str) -> None:
    team = make.team("ops")
    make.member(team, ada, role)
    make.run(
        "insert into events (source, family, trust_mode, verified, team_id)"
        " values ('generic', 'webhook', 'token', false, %s)",
        team.id,
    )

    row = api.get("/events").get_json()["events"][0]

    assert row["team"] == "ops"
    assert "endpoint_id" not in row
