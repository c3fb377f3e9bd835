"""The webhook verbs: order of checks, what is shown once, and the ceiling under contention."""

from __future__ import annotations

import re
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from tests.api.asking import Agent, Answer, agent_of
from tests.support.make import Make

NOT_FOUND = (404, "not_found", None)


@pytest.fixture
def agent(app: Flask, make: Make) -> Agent:
    return agent_of(app, make, make.endpoint(queues=("inbox", "lane"), webhook_queues=("inbox",)))


def create(agent: Agent, source_type: object = "github", target_queue: object = "inbox") -> Answer:
    return agent("create_webhook", source_type=source_type, target_queue=target_queue)


@pytest.mark.parametrize("source_type", ["github", "gitea", "stripe", "slack"])
def test_a_signed_webhook_shows_its_url_and_secret_once(agent: Agent, source_type: str) -> None:
    made = create(agent, source_type).body
    listed = agent("list_webhooks").body["webhooks"]

    assert set(made) == {"webhook_id", "ingest_url", "source_type", "target_queue", "trust_mode",
                         "signing_secret"}
    assert re.fullmatch(r"http://localhost/webhooks/w/[0-9a-f]{32}", made["ingest_url"])
    assert (made["source_type"], made["trust_mode"]) == (source_type, "signed")
    assert set(listed[0]) == {"webhook_id", "ingest_url", "source_type", "target_queue",
                              "trust_mode", "created_at"}
    assert made["signing_secret"] not in str(listed)


def test_a_generic_webhook_has_no_secret(agent: Agent) -> None:
    made = create(agent, "generic").body

    assert made["trust_mode"] == "token"
    assert "signing_secret" not in made


@pytest.mark.parametrize(("source_type", "target_queue", "refusal"), [
    ("", "inbox", (400, "invalid_argument", "source_type")),
    ("  ", "", (400, "invalid_argument", "source_type")),
    ("github", "", (400, "invalid_argument", "target_queue")),
    ("github", " ", (400, "invalid_argument", "target_queue")),
    ("nonsense", "quarantine", (400, "invalid_argument", "target_queue")),
    ("nonsense", "team:crew/inbox", (400, "invalid_argument", "target_queue")),
    ("github", "team:crew/inbox", (400, "invalid_argument", "target_queue")),
    ("nonsense", "private", (403, "forbidden_source_type", None)),
    ("github", "lane", (403, "forbidden", None)),
    ("github", "private", (403, "forbidden", None)),
    ("git\x00hub", "inbox", (400, "invalid_argument", "source_type")),
    ("github", "in\x00box", (400, "invalid_argument", "target_queue")),
    (7, "inbox", (400, "invalid_argument", "source_type")),
    ("github", None, (400, "invalid_argument", "target_queue")),
])
def test_the_checks_come_in_their_order(
    agent: Agent, source_type: object, target_queue: object, refusal: tuple[int, str, str | None]
) -> None:
    refused = create(agent, source_type, target_queue)

    assert (refused.status, refused.body["code"]) == refusal[:2]
    if refusal[0] == 400:
        assert "\x00" in f"{source_type}{target_queue}" or refused.body["field"] == refusal[2]
    assert agent("list_webhooks").body["webhooks"] == []


def test_a_type_in_the_ceiling_that_we_do_not_know_is_invalid(app: Flask, make: Make) -> None:
    agent = agent_of(app, make, make.endpoint(webhook_source_types=("carrier_pigeon",)))

    assert create(agent, "carrier_pigeon").refusal == (400, "invalid_argument", "source_type")


def test_the_ceiling_holds_when_many_ask_at_once(app: Flask, make: Make) -> None:
    endpoint = make.endpoint(webhook_max=3)
    agents = [agent_of(app, make, endpoint) for _ in range(10)]
    gate = threading.Barrier(len(agents))

    def ask(agent: Agent) -> Answer:
        gate.wait(timeout=20)
        return create(agent)

    with ThreadPoolExecutor(len(agents)) as pool:
        answers = list(pool.map(ask, agents))

    assert sorted(answer.status for answer in answers) == [200] * 3 + [409] * 7
    assert {a.body["code"] for a in answers if a.status == 409} == {"ceiling_exceeded"}
    assert agents[0]("list_webhooks").body["ceiling"] == {
        "max": 3, "used": 3, "allowed_source_types": ["github", "gitea", "stripe", "slack",
                                                      "generic"],
        "allowed_queues": ["inbox"],
    }


def test_rotating_gives_a_new_url_and_secret_and_stops_the_old(agent: Agent, make: Make) -> None:
    before = create(agent).body

    after = agent("rotate_webhook", webhook_id=before["webhook_id"]).body

    assert set(after) == set(before)
    assert after["webhook_id"] == before["webhook_id"]
    assert after["ingest_url"] != before["ingest_url"]
    assert after["signing_secret"] != before["signing_secret"]
    old = before["ingest_url"].rsplit("/", 1)[1]
    assert make.value("select count(*) from endpoint_webhooks where ingest_token = %s", old) == 0
    assert "rotated_at" in agent("list_webhooks").body["webhooks"][0]


def test_deleting_frees_a_place(app: Flask, make: Make) -> None:
    agent = agent_of(app, make, make.endpoint(webhook_max=1))
    webhook_id = create(agent).body["webhook_id"]

    assert create(agent).refusal == (409, "ceiling_exceeded", None)
    assert agent("delete_webhook", webhook_id=webhook_id).body == {
        "webhook_id": webhook_id, "deleted": True,
    }
    assert create(agent).status == 200


@pytest.mark.parametrize("verb", ["rotate_webhook", "delete_webhook"])
def test_anothers_unknown_and_misspelt_webhooks_answer_the_same_bytes(
    agent: Agent, make: Make, verb: str
) -> None:
    foreign = make.webhook(make.endpoint())
    asked = (str(foreign.id), str(uuid.uuid4()), "", "not a uuid", "x" * 9_000)

    bodies = {
        agent.client.post(f"/agent/v1/{verb}", json={"webhook_id": webhook_id},
                          headers=agent.headers).data
        for webhook_id in asked
    }

    assert len(bodies) == 1
    assert agent(verb, webhook_id=str(foreign.id)).refusal == NOT_FOUND
    assert make.value("select count(*) from endpoint_webhooks where id = %s", foreign.id) == 1
