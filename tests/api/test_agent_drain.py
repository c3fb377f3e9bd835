"""The drain verbs: what each answers, what it leaves out, and what every refusal says."""

from __future__ import annotations

import socket
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from flask import Flask

from app import create_app
from app.db.database import Database
from app.db.listener import Listener
from app.domain.callers import Endpoint
from app.edge.deps import EdgeConfig
from tests.api.asking import Agent, agent_of
from tests.support.make import Make

UNKNOWN = "td_" + "0" * 32
ALWAYS = {"id", "queue", "title", "state", "attempt", "max_attempts", "next_retry_at",
          "dead_letter", "created_at"}
ATTEMPT = {"seq", "attempt", "claimer_kind", "claimant", "claimed_at", "last_heartbeat_at",
           "ended_at", "outcome", "disposition", "died", "summary", "summary_truncated", "artifact"}
NOT_FOUND = (404, "not_found", None)
CONFLICT = (409, "conflict", None)
BY_ID = ("get_todo", "claim", "heartbeat", "complete", "fail", "release")


@pytest.fixture
def endpoint(make: Make) -> Endpoint:
    return make.endpoint(queues=("inbox", "lane"))


@pytest.fixture
def agent(app: Flask, make: Make, endpoint: Endpoint) -> Agent:
    return agent_of(app, make, endpoint)


# --- list_todos and get_todo ---------------------------------------------------------------------


def test_a_row_says_nine_things_always_and_others_only_when_they_hold_something(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    bare = make.todo(endpoint, title="bare", source="")
    full = make.todo(endpoint, title="full", source="github", kind="webhook", payload={"n": 41},
                     state="claimed")

    rows = {row["title"]: row for row in agent("list_todos").body["todos"]}

    assert set(rows["bare"]) == ALWAYS
    assert rows["bare"]["id"] == bare
    assert rows["bare"]["next_retry_at"] is None
    assert rows["bare"]["dead_letter"] is False
    assert set(rows["full"]) == ALWAYS | {"source", "kind", "owner", "lease_expires_at", "payload"}
    assert rows["full"]["id"] == full
    assert rows["full"]["payload"] == {"n": 41}
    assert rows["full"]["owner"] == endpoint.owner
    assert rows["full"]["lease_expires_at"].endswith("Z")
    assert len(rows["full"]["created_at"]) == len("2026-09-30T15:04:05Z")


def test_todos_are_listed_newest_first_filtered_and_limited(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    first, second = make.todo(endpoint), make.todo(endpoint, "lane")
    third = make.todo(endpoint, state="done")

    def listed(**asked: object) -> list[str]:
        return [row["id"] for row in agent("list_todos", **asked).body["todos"]]

    assert listed() == [third, second, first]
    assert listed(queue="lane") == [second]
    assert listed(state="pending") == [second, first]
    assert listed(limit=1) == [third]
    assert agent.get("list_todos", "limit=2&state=pending").body["todos"][1]["id"] == first


@pytest.mark.parametrize("limit", [0, 201, 10**30])
def test_a_list_of_no_or_too_many_is_one_of_fifty(
    agent: Agent, make: Make, endpoint: Endpoint, limit: int
) -> None:
    for _ in range(52):
        make.todo(endpoint)

    assert len(agent("list_todos", limit=limit).body["todos"]) == 50
    assert len(agent("list_todos", limit=52).body["todos"]) == 52


def test_only_granted_queues_are_listed(app: Flask, make: Make) -> None:
    mine, other = make.endpoint(), make.endpoint()
    make.todo(other)
    agent = agent_of(app, make, mine)

    assert agent("list_todos").body == {"todos": []}
    assert agent("list_todos", queue="lane").refusal[:2] == (403, "forbidden")
    assert agent("list_todos", queue="team:nobody/inbox").refusal == NOT_FOUND


def test_get_todo_adds_result_and_attempts_newest_first(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint, state="claimed", attempt=3)

    body = agent("get_todo", id=todo).body

    assert body["result"] is None
    assert body["attempts_total"] == 3
    assert body["attempts_pruned"] == 0
    assert [attempt["seq"] for attempt in body["attempts"]] == [3, 2, 1]
    assert all(set(attempt) == ATTEMPT for attempt in body["attempts"])
    assert body["attempts"][0]["ended_at"] is None
    assert agent.get("get_todo", f"id={todo}&attempts_limit=1").body["attempts"] == (
        body["attempts"][:1]
    )


def test_get_todo_of_a_delivery_that_is_not_json_carries_its_first_bytes(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint)
    event = make.value(
        "insert into events (source, family, trust_mode, verified, content_type, payload, "
        "payload_size, endpoint_id) values ('generic', 'webhook', 'token', false, 'text/plain', "
        "%s, 70000, %s) returning id", b"x" * 70_000, endpoint.id)
    make.run("update todos set event_id = %s where id = %s", event, str(todo))

    body = agent("get_todo", id=todo).body

    assert body["body_content_type"] == "text/plain"
    assert body["body_truncated"] is True
    assert len(body["body_base64"]) == (65_536 + 2) // 3 * 4
    assert "body_base64" not in agent("get_todo", id=make.todo(endpoint)).body


# --- foreign is unknown --------------------------------------------------------------------------


@pytest.mark.parametrize("verb", BY_ID)
def test_foreign_unknown_and_misspelt_todos_answer_the_same_bytes(
    agent: Agent, make: Make, verb: str
) -> None:
    foreign = make.todo(make.endpoint(), state="claimed")

    bodies = {
        agent.client.post(f"/agent/v1/{verb}", json={"id": todo}, headers=agent.headers).data
        for todo in (foreign, UNKNOWN, "td_x", "", "x" * 9_000, "null", "td_" + "é" * 32)
    }

    assert len(bodies) == 1
    assert agent(verb, id=foreign).refusal == NOT_FOUND


@pytest.mark.parametrize("verb", BY_ID)
def test_a_foreign_todo_runs_the_same_statements_as_an_unknown_one(
    agent: Agent, make: Make, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = make.todo(make.endpoint(), state="claimed")
    agent("whoami")  # the first call stamps last_seen_at
    ran: list[str] = []
    real = psycopg.Cursor.execute

    def noted(cursor: object, query: object, *args: object, **kwargs: object) -> object:
        ran.append(str(query))
        return real(cursor, query, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(psycopg.Cursor, "execute", noted)
    assert agent(verb, id=foreign).refusal == NOT_FOUND
    of_foreign = ran.copy()
    ran.clear()
    assert agent(verb, id=UNKNOWN).refusal == NOT_FOUND

    assert ran == of_foreign
    assert len(ran) >= 2


def test_own_todo_of_an_ungranted_queue_is_not_found_or_forbidden_to_claim(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    queue = make.value("insert into queues (endpoint_id, name) values (%s, 'private') returning id",
                       endpoint.id)
    todo = make.todo(endpoint, queue="private")

    assert queue is not None
    assert agent("get_todo", id=todo).refusal == NOT_FOUND
    assert agent("claim", id=todo).refusal[:2] == (403, "forbidden")


# --- claim and claim_next ------------------------------------------------------------------------


def test_claim_answers_the_row_and_the_attempt_it_opened(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint, payload=[1])

    body = agent("claim", id=todo, claimant="worker\x07 7", lease_ttl_seconds=90).body

    assert set(body) == ALWAYS | {"source", "owner", "lease_expires_at", "payload", "attempt_seq",
                                  "attempts_total", "prior_attempts"}
    assert body["state"] == "claimed"
    assert body["owner"] == endpoint.owner
    assert (body["attempt"], body["attempt_seq"], body["attempts_total"]) == (1, 1, 1)
    assert body["prior_attempts"] == []
    left = make.row(todo)["lease_expires_at"] - make.now()
    assert timedelta(seconds=80) < left <= timedelta(seconds=90)
    assert agent("get_todo", id=todo).body["attempts"][0]["claimant"] == "worker 7"


def test_claim_shows_at_most_five_closed_attempts_newest_first(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint, attempt=7, max_attempts=9)

    prior = agent("claim", id=todo).body["prior_attempts"]

    assert [attempt["seq"] for attempt in prior] == [7, 6, 5, 4, 3]
    assert all(set(attempt) == ATTEMPT for attempt in prior)


@pytest.mark.parametrize("state", ["claimed", "done", "failed"])
def test_a_todo_that_is_not_claimable_is_a_conflict(
    agent: Agent, make: Make, endpoint: Endpoint, state: str
) -> None:
    assert agent("claim", id=make.todo(endpoint, state=state)).refusal == CONFLICT


def test_claim_next_answers_the_oldest_and_says_when_there_is_none(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    older, newer = make.todo(endpoint, "lane"), make.todo(endpoint)

    first = agent("claim_next").body
    second = agent("claim_next", queue="inbox").body
    third = agent("claim_next")

    assert set(first) == {"todo", "empty", "attempt_seq", "attempts_total", "prior_attempts"}
    assert first["empty"] is False
    assert (first["todo"]["id"], second["todo"]["id"]) == (older, newer)
    assert first["todo"]["state"] == "claimed"
    assert (third.status, third.body) == (200, {"empty": True})


def test_claim_next_in_a_queue_outside_the_grant(agent: Agent) -> None:
    assert agent("claim_next", queue="private").refusal[:2] == (403, "forbidden")
    assert agent("claim_next", queue="team:nobody/inbox").refusal == NOT_FOUND


def test_a_team_todo_names_its_team_and_reads_as_a_team_queue(app: Flask, make: Make) -> None:
    human, team = make.human(), make.team("crew")
    make.member(team, human)
    endpoint = make.endpoint(human)
    queue = make.team_queue(team, "shared")
    make.grant(endpoint, queue)
    todo = make.todo(queue=queue)
    agent = agent_of(app, make, endpoint)

    body = agent("claim_next", queue="team:crew/shared").body["todo"]

    assert (body["id"], body["queue"], body["team"]) == (todo, "team:crew/shared", "crew")
    assert agent("complete", id=todo).body["team"] == "crew"


@pytest.mark.parametrize("seconds", [-1, 31, 10**30, 1.5, "3", None, True])
def test_a_wait_outside_0_to_30_is_refused(agent: Agent, seconds: object) -> None:
    assert agent("claim_next", wait_seconds=seconds).refusal == (
        400, "invalid_argument", "wait_seconds"
    )


@pytest.mark.parametrize(("asked", "given"), [
    (None, 300), (0, 300), (-5, 300), (-(10**30), 300), (1, 1), (86_401, 86_400), (10**30, 86_400),
])
def test_a_lease_is_what_was_asked_within_bounds(
    agent: Agent, make: Make, endpoint: Endpoint, asked: int | None, given: int
) -> None:
    todo = make.todo(endpoint)

    agent("claim", id=todo, lease_ttl_seconds=asked)

    row = make.row(todo)
    assert row["lease_expires_at"] - row["claimed_at"] == timedelta(seconds=given)


# --- settling ------------------------------------------------------------------------------------


def test_complete_keeps_result_summary_and_artifact(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint)
    agent("claim", id=todo)

    done = agent("complete", id=todo, result={"ok": [1, None]}, summary="s" * 3_000,
                 artifact="https://example.org/log").body

    assert set(done) >= ALWAYS
    assert (done["state"], done["dead_letter"]) == ("done", False)
    assert "lease_expires_at" not in done
    detail = agent("get_todo", id=todo).body
    assert detail["result"] == {"ok": [1, None]}
    attempt = detail["attempts"][0]
    assert (attempt["outcome"], attempt["disposition"]) == ("completed", "done")
    assert (len(attempt["summary"]), attempt["summary_truncated"]) == (2_048, True)
    assert attempt["artifact"] == "https://example.org/log"


def test_fail_says_which_way_it_went(agent: Agent, make: Make, endpoint: Endpoint) -> None:
    early, last = make.todo(endpoint), make.todo(endpoint, attempt=4)
    agent("claim", id=early)
    agent("claim", id=last)

    retried, dead = agent("fail", id=early).body, agent("fail", id=last, result=None).body

    assert (retried["state"], retried["dead_letter"]) == ("failed", False)
    assert retried["next_retry_at"].endswith("Z")
    assert (dead["next_retry_at"], dead["dead_letter"]) == (None, True)


def test_release_hands_back_without_the_owner(agent: Agent, make: Make, endpoint: Endpoint) -> None:
    todo = make.todo(endpoint)
    agent("claim", id=todo)

    row = agent("release", id=todo, summary="not mine").body

    assert (row["state"], row["attempt"]) == ("pending", 1)
    assert "owner" not in row
    assert agent("release", id=todo, result=1).refusal == (400, "invalid_argument", "result")


def test_heartbeat_moves_the_lease_and_nothing_else(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint)
    agent("claim", id=todo)

    row = agent("heartbeat", id=todo, lease_ttl_seconds=30).body

    assert (row["state"], row["attempt"]) == ("claimed", 1)
    assert make.row(todo)["lease_expires_at"] - make.now() <= timedelta(seconds=30)


@pytest.mark.parametrize("verb", ["heartbeat", "complete", "fail", "release"])
def test_settling_what_one_does_not_hold_is_a_conflict(
    agent: Agent, make: Make, endpoint: Endpoint, verb: str
) -> None:
    on_the_board = make.todo(endpoint, state="claimed", holder=make.human())

    assert agent(verb, id=make.todo(endpoint)).refusal == CONFLICT
    assert agent(verb, id=on_the_board).refusal == CONFLICT


@pytest.mark.parametrize("artifact", [
    "http://example.org", "/x", "", "https://", "https://e.org/ x", "https://e.org/" + "x" * 512,
    "javascript:alert(1)",
])
@pytest.mark.parametrize("verb", ["complete", "fail", "release"])
def test_a_bad_artifact_is_invalid_and_the_todo_stays_claimed(
    agent: Agent, make: Make, endpoint: Endpoint, verb: str, artifact: str
) -> None:
    todo = make.todo(endpoint)
    agent("claim", id=todo)

    assert agent(verb, id=todo, artifact=artifact).refusal == (400, "invalid", "artifact")
    assert make.row(todo)["state"] == "claimed"


@pytest.mark.parametrize("verb", ["heartbeat", "complete", "fail", "release"])
def test_a_fenced_lease_needs_its_token(
    agent: Agent, make: Make, endpoint: Endpoint, verb: str
) -> None:
    fenced, free = make.todo(endpoint), make.todo(endpoint)
    token = agent("claim", id=fenced, require_fence=True).body["lease_token"]
    assert "lease_token" not in agent("claim", id=free).body

    assert agent(verb, id=fenced).refusal == CONFLICT
    assert agent(verb, id=fenced, lease_token="wrong").refusal == CONFLICT
    assert agent(verb, id=free, lease_token=token).refusal == CONFLICT
    assert agent(verb, id=fenced, lease_token=token).status == 200


@pytest.mark.parametrize(("verb", "other"), [("complete", "fail"), ("fail", "complete")])
def test_settling_twice_answers_200_once_more_and_no_other_outcome(
    agent: Agent, make: Make, endpoint: Endpoint, verb: str, other: str
) -> None:
    todo = make.todo(endpoint)
    agent("claim", id=todo)

    first = agent(verb, id=todo, result="first")
    again = agent(verb, id=todo, result="second")

    assert (first.status, again.status) == (200, 200)
    assert first.body == again.body
    assert agent("get_todo", id=todo).body["result"] == "first"
    assert agent(other, id=todo).refusal == CONFLICT
    assert len(make.attempts(todo)) == 1


def test_settling_again_after_another_claim_is_a_conflict(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint)
    agent("claim", id=todo)
    agent("fail", id=todo)
    make.run("update todos set next_retry_at = clock() where id = %s", str(todo))
    agent("claim", id=todo)
    agent("release", id=todo)

    assert agent("fail", id=todo).refusal == CONFLICT


@pytest.mark.parametrize(("result", "summary"), [
    ("all well", "all well"), ({"ok": True}, '{"ok":true}'), (None, None),
    ("x" * 3_000, "x" * 2_048),
])
def test_a_missing_summary_is_taken_from_the_result_by_setting_only(
    edge_config: EdgeConfig, db: Database, listener: Listener, make: Make, endpoint: Endpoint,
    result: object, summary: str | None,
) -> None:
    for is_on in (True, False):
        config = replace(edge_config, attempt_summary_from_result=is_on)
        agent = agent_of(create_app(config, db, listener), make, endpoint)
        silent, said = make.todo(endpoint), make.todo(endpoint)
        for todo, words in ((silent, {}), (said, {"summary": "mine"})):
            agent("claim", id=todo)
            agent("complete", id=todo, result=result, **words)

        assert make.attempts(silent)[0]["summary"] == (summary if is_on else None)
        assert make.attempts(said)[0]["summary"] == "mine"


# --- a client that has gone, a queue that cannot be judged ---------------------------------------


@pytest.mark.parametrize("verb", ["claim", "claim_next"])
@pytest.mark.parametrize("more", [{}, {"require_fence": True}])
def test_a_client_that_has_gone_claims_nothing(
    agent: Agent, make: Make, endpoint: Endpoint, verb: str, more: dict[str, object]
) -> None:
    todo = make.todo(endpoint)
    before = make.row(todo)
    near, far = socket.socketpair()
    far.close()

    with near:
        agent.client.post(
            f"/agent/v1/{verb}", headers=agent.headers, environ_overrides={"gunicorn.socket": near},
            json=more | ({"id": todo} if verb == "claim" else {}),
        )

    assert make.row(todo) == before
    assert make.attempts(todo) == []


def test_work_behind_a_policy_that_cannot_be_judged_is_never_waved_through(
    agent: Agent, make: Make, endpoint: Endpoint
) -> None:
    todo = make.todo(endpoint, "lane")
    make.policy(todo.queue_id, max_claims_per_window=5, tz="Mars/Olympus")

    one, whichever = agent("claim", id=todo), agent("claim_next")

    assert one.refusal[:2] == (409, "deferred")
    assert {key: one.body[key] for key in ("queue", "reason", "next_eligible_at", "exact")} == {
        "queue": "lane", "reason": "admission_unavailable", "next_eligible_at": None,
        "exact": False,
    }
    assert "Retry-After" not in one.headers
    assert whichever.body == {"empty": True, "deferred": [{
        "queue": "lane", "reason": "admission_unavailable", "pending": 1,
        "next_eligible_at": None, "exact": False,
    }]}
    assert make.row(todo)["state"] == "pending"
