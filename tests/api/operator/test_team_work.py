"""Four ways to put a todo in a team queue, and how an endpoint that was granted it drains it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.serving import make_server

from app.domain.callers import Endpoint, Human
from tests.support.client import Browser, Caller
from tests.support.make import Make
from tests.support.servers import ROOT

QUEUE = "team:crew/builds/fast"
NOT_FOUND = b'{"error":"Not found.","code":"not_found"}'


@dataclass(frozen=True, slots=True)
class Crew:
    """A team with a queue, made by its admin, and the endpoint of a member that drains it."""

    queue_id: int
    admin: Human
    member: Human
    lane: Endpoint


@pytest.fixture
def crew(make: Make, operator: Callable[[Human], Caller], ada: Human) -> Crew:
    """Everything through the door a person uses, but the membership and the endpoint."""
    bea = make.human("Bea")
    api = operator(ada)
    assert api.post("/teams", json={"slug": "crew"}).status_code == 201
    made = api.post("/teams/crew/queues", json={"name": "builds/fast"})
    assert made.status_code == 201
    make.run("insert into team_members (team_id, human_id, role) select id, %s, 'member'"
             " from teams", bea.id)
    lane = make.endpoint(bea)
    granted = operator(bea).put(f"/endpoints/{lane.slug}/team-queues/crew/builds%2Ffast")
    assert granted.status_code == 200
    return Crew(made.get_json()["id"], ada, bea, lane)


@pytest.fixture
def address(app: Flask) -> Iterator[str]:
    """The application, answering on a port of this machine."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def drained(agent: Callable[[Endpoint], Caller], make: Make, crew: Crew, todo: str) -> None:
    """The granted endpoint claims the todo and finishes it; to every other it is not there."""
    other = make.endpoint(crew.member)
    worker = agent(crew.lane)
    seen = worker.call("get_todo", id=todo).get_json()
    claimed = worker.call("claim_next", queue=QUEUE).get_json()["todo"]
    assert (claimed["id"], claimed["queue"], claimed["team"]) == (todo, QUEUE, "crew")
    assert (seen["queue"], seen["team"], seen["state"]) == (QUEUE, "crew", "pending")
    make.grant(other, crew.queue_id)
    for verb in ("heartbeat", "complete", "fail", "release"):
        refused = agent(other).call(verb, id=todo)
        assert (refused.status_code, refused.data) == (404, NOT_FOUND)
    assert worker.call("heartbeat", id=todo).status_code == 200
    done = worker.call("complete", id=todo, result={"ok": True}).get_json()
    assert (done["state"], done["queue"], done["team"]) == ("done", QUEUE, "crew")


def only_todo(make: Make) -> str:
    """The id of the one todo there is, which is the team's."""
    ((todo, team),) = make.rows("select d.id, t.slug from todos d"
                                " left join teams t on t.id = d.team_id")
    assert team == "crew"
    return str(todo)


def test_a_delivery_puts_a_todo_in_the_teams_queue(
    client: FlaskClient, operator: Callable[[Human], Caller], agent: Callable[[Endpoint], Caller],
    make: Make, crew: Crew,
) -> None:
    owner = make.endpoint(crew.admin)
    path = f"/endpoints/{owner.slug}/webhooks"
    hook = operator(crew.admin).post(
        path, json={"source_type": "generic", "target_queue": QUEUE}).get_json()

    answer = client.post(hook["ingest_url"].removeprefix("http://localhost"), json={"n": 1})

    todo = only_todo(make)
    assert (answer.status_code, answer.get_json()["todos"]) == (
        202, [{"id": todo, "team": "crew", "queue": QUEUE, "created": True}])
    drained(agent, make, crew, todo)


def test_a_member_makes_a_webhook_for_the_team_once_the_team_lets_members(
    operator: Callable[[Human], Caller], agent: Callable[[Endpoint], Caller], make: Make,
    crew: Crew,
) -> None:
    path, wanted = f"/endpoints/{crew.lane.slug}/webhooks", {"source_type": "generic",
                                                             "target_queue": QUEUE}
    member = operator(crew.member)

    refused = member.post(path, json=wanted)
    assert operator(crew.admin).patch(
        "/teams/crew", json={"members_create_webhooks": True}).status_code == 200
    allowed = member.post(path, json=wanted)
    by_agent = agent(make.endpoint(crew.member, verbs=("create_webhook",))).call(
        "create_webhook", **wanted)

    assert (refused.status_code, refused.get_json()["code"]) == (403, "role_required")
    assert (allowed.status_code, allowed.get_json()["target_queue"]) == (201, QUEUE)
    assert (by_agent.status_code, by_agent.get_json()["field"]) == (400, "target_queue")


def test_a_member_puts_a_todo_in_the_teams_queue_by_api(
    operator: Callable[[Human], Caller], agent: Callable[[Endpoint], Caller], make: Make,
    crew: Crew,
) -> None:
    answer = operator(crew.member).post(
        "/teams/crew/queues/builds%2Ffast/todos", json={"title": "By API", "payload": {"n": 2}})

    body = answer.get_json()
    assert (answer.status_code, body["team"], body["queue"]) == (201, "crew", QUEUE)
    drained(agent, make, crew, only_todo(make))
    (event,) = operator(crew.member).get("/events").get_json()["events"]
    assert (event["id"], event["team"], event["family"]) == (body["event_id"], "crew", "operator")


def test_a_member_puts_a_todo_in_the_teams_queue_by_form(
    browser: Callable[[Human], Browser], agent: Callable[[Endpoint], Caller], make: Make,
    crew: Crew,
) -> None:
    seat = browser(crew.member)
    path = f"/queues/{crew.queue_id}/todos"

    page = seat.get(path)
    answer = seat.post(path, {"title": "By form"})

    assert QUEUE in page.text
    assert answer.status_code == 303
    drained(agent, make, crew, only_todo(make))


def test_a_member_puts_a_todo_in_the_teams_queue_by_command(
    agent: Callable[[Endpoint], Caller], make: Make, crew: Crew, address: str, tmp_path: Path
) -> None:
    saved = tmp_path / "credentials.json"
    saved.write_text(json.dumps({"url": address, "token": make.operator_token(crew.member)}))
    words = ("todo", "push", "team:crew", "By command", "--queue", "builds/fast", "--json")

    done = subprocess.run(
        [sys.executable, "-m", "app", *words], cwd=ROOT, capture_output=True, text=True,
        timeout=60, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SWITCHBOARD_URL": address,
             "SWITCHBOARD_CREDENTIALS": str(saved)},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert (body["id"], body["queue"]) == (only_todo(make), QUEUE)
    drained(agent, make, crew, body["id"])
