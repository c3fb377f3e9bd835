"""Todos over /api/v1: written, listed, read, and moved by their owner."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from tests.support.client import Caller
from tests.support.make import Make

ACTS = ("retry", "discard", "release", "complete", "fail")


# --- writing -------------------------------------------------------------------------------------


def test_a_written_todo_goes_to_the_first_queue_as_a_verified_event(
    api: Caller, lane: Endpoint, make: Make
) -> None:
    answer = api.post(f"/endpoints/{lane.slug}/todos", json={"title": " fix it ", "payload": [1]})
    body = answer.get_json()

    assert answer.status_code == 201
    assert body == {
        "id": body["id"],
        "endpoint_id": str(lane.id),
        "slug": lane.slug,
        "queue": "lane-m",
        "state": "pending",
        "created": True,
        "event_id": body["event_id"],
    }
    todo = make.row(body["id"])
    assert (todo["title"], todo["source"], todo["kind"], todo["payload"]) == (
        "fix it",
        "operator",
        "operator",
        [1],
    )
    event = make.rows(
        "select source, family, trust_mode, verified, payload from events where id = %s",
        body["event_id"],
    )
    assert event == [("operator", "operator", "operator", True, b"[1]")]


def test_an_agent_claims_what_was_written(
    api: Caller, agent: Callable[[Endpoint], Caller], lane: Endpoint
) -> None:
    made = api.post(
        f"/endpoints/{lane.slug}/todos",
        json={"title": "t", "queue": "a/b", "kind": "chore", "payload": {"n": 1}},
    ).get_json()

    claimed = agent(lane).call("claim_next", queue="a/b").get_json()

    assert claimed["todo"]["id"] == made["id"]
    assert (claimed["todo"]["kind"], claimed["todo"]["payload"]) == ("chore", {"n": 1})


def test_a_key_finds_the_live_todo_and_leaves_no_orphan_event(
    api: Caller, lane: Endpoint, make: Make, db: Database
) -> None:
    path, body = f"/endpoints/{lane.slug}/todos", {"title": "t", "key": "k1"}
    first = api.post(path, json=body)

    again = api.post(path, json={**body, "title": "other"})

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.get_json() == first.get_json() | {"created": False}
    assert make.value("select count(*) from events") == 1
    created = "switchboard_todos_created_total"
    assert db.counters.value(created, queue="lane-m", source="operator") == 1


def test_a_finished_todo_frees_its_key(api: Caller, lane: Endpoint, make: Make) -> None:
    path, body = f"/endpoints/{lane.slug}/todos", {"title": "t", "key": "k1"}
    first = api.post(path, json=body).get_json()
    api.post(f"/todos/{first['id']}/discard")

    second = api.post(path, json=body)

    assert second.status_code == 201
    assert second.get_json()["event_id"] != first["event_id"]


def test_no_key_and_an_empty_key_never_dedup(api: Caller, lane: Endpoint, make: Make) -> None:
    for body in [{"title": "t"}] * 2 + [{"title": "t", "key": ""}] * 2:
        assert api.post(f"/endpoints/{lane.slug}/todos", json=body).status_code == 201

    assert make.value("select count(*) from todos") == 4


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "title"),
        ({"title": ""}, "title"),
        ({"title": " \t "}, "title"),
        ({"title": "a\nb"}, "title"),
        ({"title": "é" * 101}, "title"),
        ({"title": "t", "queue": "elsewhere"}, "queue"),
        ({"title": "t", "queue": "quarantine"}, "queue"),
        ({"title": "t", "queue": ""}, "queue"),
        ({"title": "t", "kind": ""}, "kind"),
        ({"title": "t", "kind": 3}, "kind"),
        ({"title": "t", "key": "k" * 257}, "key"),
        ({"title": "t", "state": "done"}, "state"),
    ],
)
def test_a_bad_todo_names_its_field(
    api: Caller, lane: Endpoint, make: Make, body: dict[str, object], field: str
) -> None:
    answer = api.post(f"/endpoints/{lane.slug}/todos", json=body)

    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_argument")
    assert answer.get_json()["field"] == field
    assert make.value("select count(*) from events") == 0


def test_the_longest_title_is_two_hundred_bytes(api: Caller, lane: Endpoint) -> None:
    body = {"title": "é" * 100, "key": "k" * 256}

    assert api.post(f"/endpoints/{lane.slug}/todos", json=body).status_code == 201


# --- listing -------------------------------------------------------------------------------------


def _ids(answer_json: dict[str, list[dict[str, str]]]) -> list[str]:
    return [row["id"] for row in answer_json["todos"]]


def test_the_list_is_newest_first_by_page_until_the_end(
    api: Caller, lane: Endpoint, make: Make, foreign: Endpoint
) -> None:
    at = make.now() - timedelta(hours=1)
    # Three share an instant: the id decides, and a page may end between them.
    made = [make.todo(lane, "lane-m", created_at=at) for _ in range(3)]
    made += [make.todo(lane, "a/b", created_at=at + timedelta(seconds=n)) for n in (1, 2)]
    make.todo(foreign, "lane-m")

    pages, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/todos?limit=2{cursor and '&cursor=' + cursor}").get_json()
        pages.append(_ids(page))
        cursor = page["next_cursor"]

    assert [len(page) for page in pages] == [2, 2, 1]
    assert [todo for page in pages for todo in page] == [todo.id for todo in reversed(made)]


def test_a_listed_row_names_its_endpoint_and_hides_its_payload(
    api: Caller, lane: Endpoint, make: Make
) -> None:
    todo = make.todo(lane, "lane-m", payload={"secret": 1}, title="t")

    row = api.get("/todos").get_json()["todos"][0]

    assert (row["id"], row["endpoint_id"], row["queue"]) == (todo.id, str(lane.id), "lane-m")
    assert "payload" not in row
    assert (row["state"], row["attempt"], row["next_retry_at"]) == ("pending", 0, None)
    assert row["dead_letter"] is False


def test_filters_narrow_the_list(api: Caller, lane: Endpoint, make: Make, ada: Human) -> None:
    team = make.team("ops")
    make.member(team, ada)
    one = make.todo(lane, "lane-m")
    two = make.todo(lane, "a/b", state="claimed")
    other = make.todo(make.endpoint(ada))
    of_team = make.todo(queue=make.team_queue(team))

    found = {
        query: set(_ids(api.get(f"/todos?{query}").get_json()))
        for query in (
            "",
            "queue=lane-m",
            "queue=a%2Fb",
            "queue=team:ops/inbox",
            "state=claimed",
            f"endpoint={lane.slug}",
            f"endpoint={lane.id}",
            "team=ops",
            "endpoint=nobody",
        )
    }

    assert found == {
        "": {one, two, other, of_team},
        "queue=lane-m": {one},
        "queue=a%2Fb": {two},
        "queue=team:ops/inbox": {of_team},
        "state=claimed": {two},
        f"endpoint={lane.slug}": {one, two},
        f"endpoint={lane.id}": {one, two},
        "team=ops": {of_team},
        "endpoint=nobody": set(),
    }


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=many", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=", "cursor"),
        ("cursor=nonsense", "cursor"),
        ("cursor=%C3%A9", "cursor"),
        ("cursor=ZXZlbnQ6MQ", "cursor"),
        ("state=broken", "state"),
        ("queue=%00", "queue"),
        ("surprise=1", "surprise"),
    ],
)
@pytest.mark.parametrize("path", ["/todos", "/events"])
def test_a_bad_query_names_its_parameter(api: Caller, path: str, query: str, field: str) -> None:
    answer = api.get(f"{path}?{query}")
    if path == "/events" and query == "cursor=ZXZlbnQ6MQ":
        assert answer.status_code == 200  # this one is an event's cursor
        return

    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_argument")
    assert answer.get_json()["field"] == field


# --- one todo ------------------------------------------------------------------------------------


def test_one_todo_shows_payload_result_and_attempts(
    api: Caller, lane: Endpoint, make: Make
) -> None:
    todo = make.todo(lane, "lane-m", state="failed", attempt=3, payload={"n": 41})

    body = api.get(f"/todos/{todo}?attempts_limit=2").get_json()

    assert (body["payload"], body["result"], body["attempts_total"]) == ({"n": 41}, None, 3)
    assert [attempt["seq"] for attempt in body["attempts"]] == [3, 2]
    assert body["endpoint_id"] == str(lane.id)


@pytest.mark.parametrize(
    ("method", "suffix"), [("GET", ""), *(("POST", f"/{act}") for act in ACTS)]
)
def test_a_foreign_todo_is_an_unknown_todo_byte_for_byte(
    api: Caller, make: Make, foreign: Endpoint, method: str, suffix: str
) -> None:
    theirs = make.todo(foreign, "lane-m")
    of_team = make.todo(queue=make.team_queue(make.team()))
    unknown = f"td_{uuid.uuid4().hex}"

    answers = [
        api.open(method, f"/todos/{todo}{suffix}", json=None if method == "GET" else {})
        for todo in (theirs, of_team, unknown, "nonsense", "td_" + "x" * 5000, "%00")
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.data for answer in answers}) == 1
    assert make.row(theirs)["state"] == "pending"


# --- moving --------------------------------------------------------------------------------------


def test_retry_makes_a_dead_letter_pending(api: Caller, lane: Endpoint, make: Make) -> None:
    todo = make.todo(lane, "lane-m", state="failed", attempt=5)

    row = api.post(f"/todos/{todo}/retry").get_json()

    assert (row["state"], row["attempt"], row["dead_letter"]) == ("pending", 0, False)
    assert row["endpoint_id"] == str(lane.id)


def test_discard_dead_letters_what_is_pending_or_parked(
    api: Caller, lane: Endpoint, make: Make
) -> None:
    parked = make.now() + timedelta(hours=1)
    for todo in (
        make.todo(lane, "lane-m"),
        make.todo(lane, "lane-m", state="failed", next_retry_at=parked),
    ):
        row = api.post(f"/todos/{todo}/discard", json={}).get_json()
        assert (row["state"], row["dead_letter"], row["next_retry_at"]) == ("failed", True, None)


@pytest.mark.parametrize("act", ["release", "complete", "fail"])
def test_a_lease_taken_on_the_board_is_settled_here(
    api: Caller, lane: Endpoint, make: Make, ada: Human, act: str
) -> None:
    todo = make.todo(lane, "lane-m", state="claimed", holder=ada)
    said: dict[str, object] = {"summary": "done by hand", "artifact": "https://example.org/1"}
    if act != "release":
        said["result"] = {"ok": True}

    answer = api.post(f"/todos/{todo}/{act}", json=said)

    states = {"release": "pending", "complete": "done", "fail": "failed"}
    assert (answer.status_code, answer.get_json()["state"]) == (200, states[act])
    attempt = make.attempts(todo)[-1]
    assert (attempt["summary"], attempt["artifact"]) == ("done by hand", "https://example.org/1")
    assert make.row(todo)["result"] == said.get("result")


@pytest.mark.parametrize("act", ["release", "complete", "fail"])
def test_an_agents_lease_is_not_the_humans_to_settle(
    api: Caller, lane: Endpoint, make: Make, act: str
) -> None:
    todo = make.todo(lane, "lane-m", state="claimed")

    answer = api.post(f"/todos/{todo}/{act}")

    assert (answer.status_code, answer.get_json()["code"]) == (409, "conflict")
    assert make.row(todo)["state"] == "claimed"


@pytest.mark.parametrize(
    ("act", "state"),
    [
        ("retry", "pending"),
        ("retry", "claimed"),
        ("retry", "done"),
        ("discard", "claimed"),
        ("discard", "done"),
        ("discard", "failed"),
        ("release", "pending"),
        ("complete", "pending"),
        ("fail", "failed"),
    ],
)
def test_a_move_out_of_the_wrong_state_conflicts(
    api: Caller, lane: Endpoint, make: Make, act: str, state: str
) -> None:
    todo = make.todo(lane, "lane-m", state=state)

    answer = api.post(f"/todos/{todo}/{act}")

    assert (answer.status_code, answer.get_json()["code"]) == (409, "conflict")
    assert make.row(todo)["state"] == state


def test_nothing_is_retried_on_a_revoked_endpoint(
    api: Caller, revoked: Endpoint, make: Make
) -> None:
    todo = make.todo(revoked, state="failed")

    assert api.post(f"/todos/{todo}/retry").status_code == 409
    assert api.get(f"/todos/{todo}").status_code == 200


def test_a_bad_artifact_leaves_the_todo_claimed(
    api: Caller, lane: Endpoint, make: Make, ada: Human
) -> None:
    todo = make.todo(lane, "lane-m", state="claimed", holder=ada)

    answer = api.post(f"/todos/{todo}/complete", json={"artifact": "ftp://example.org"})

    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid")
    assert answer.get_json()["field"] == "artifact"
    assert make.row(todo)["state"] == "claimed"
