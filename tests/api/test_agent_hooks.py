"""The notify verbs at the agent door: shapes, codes, and what is never shown."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timedelta

import pytest
from flask import Flask

from app.domain.verbs import BASICS, NOTIFY
from tests.api.asking import Agent, Answer, agent_of
from tests.support.make import Make

URL = "https://8.8.8.8/wake?token=hush"


@pytest.fixture
def agent(app: Flask, make: Make) -> Agent:
    """An agent that may have hooks."""
    return agent_of(app, make, make.endpoint(queues=("inbox", "lane"), verbs=(*BASICS, *NOTIFY)))


def create(agent: Agent, **arguments: object) -> Answer:
    return agent("create_notify_hook", **({"url": URL} | arguments))


def test_a_hook_is_made_and_listed_and_its_secret_shown_once(agent: Agent) -> None:
    made = create(agent, queues=["lane"], ignore_presence=True)
    listed = agent("list_notify_hooks").body

    assert made.status == 200
    hook_id, secret = made.body.pop("hook_id"), made.body.pop("signing_secret")
    assert made.body == {"url": "https://8.8.8.8/wake?«redacted»", "queues": ["lane"],
                         "ignore_presence": True, "enabled": True}
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
    created = listed["hooks"][0].pop("created_at")
    assert re.fullmatch(r"[0-9-]{10}T[0-9:]{8}Z", created)
    assert listed == {
        "hooks": [{"hook_id": hook_id, "url": "https://8.8.8.8/wake?«redacted»",
                   "queues": ["lane"], "ignore_presence": True, "enabled": True,
                   "disabled_reason": None, "consecutive_failures": 0, "last_status": None,
                   "last_error": None, "last_attempt_at": None, "rotated_at": None}],
        "ceiling": {"max": 5, "used": 1},
    }
    assert agent.get("list_notify_hooks").status == 200


def test_without_more_a_hook_hears_of_every_queue_and_heeds_presence(agent: Agent) -> None:
    made = create(agent).body

    assert (made["queues"], made["ignore_presence"]) == ([], False)


def test_rotating_answers_a_new_secret_and_until_when_the_old_one_signs(agent: Agent) -> None:
    made = create(agent).body

    rotated = agent("rotate_notify_hook", hook_id=made["hook_id"]).body

    assert set(rotated) == {"hook_id", "signing_secret", "previous_secret_valid_until", "enabled"}
    assert rotated["enabled"] is True
    assert rotated["signing_secret"] != made["signing_secret"]
    row = agent("list_notify_hooks").body["hooks"][0]
    until, at = (datetime.fromisoformat(text) for text in (
        rotated["previous_secret_valid_until"], row["rotated_at"]))
    assert until - at == timedelta(hours=24)


def test_deleting_says_so_once(agent: Agent) -> None:
    hook_id = create(agent).body["hook_id"]

    assert agent("delete_notify_hook", hook_id=hook_id).body == {"hook_id": hook_id,
                                                                 "deleted": True}
    assert agent("delete_notify_hook", hook_id=hook_id).refusal == (404, "not_found", None)


@pytest.mark.parametrize(("arguments", "refusal"), [
    ({"url": "http://8.8.8.8/"}, (400, "invalid_argument", "url")),
    ({"url": "https://127.0.0.1/"}, (400, "invalid_argument", "url")),
    ({"url": "https://ana:hush@8.8.8.8/"}, (400, "invalid_argument", "url")),
    ({"url": ""}, (400, "invalid_argument", "url")),
    ({"url": None}, (400, "invalid_argument", "url")),
    ({"url": 7}, (400, "invalid_argument", "url")),
    ({"url": "https://8.8.8.8/" + "x" * 2048}, (400, "invalid_argument", "url")),
    ({"url": "https://8.8.8.8/\x00"}, (400, "invalid_argument", "url")),
    ({"queues": "inbox"}, (400, "invalid_argument", "queues")),
    ({"queues": [7]}, (400, "invalid_argument", "queues")),
    ({"queues": ["inbox", "inbox"]}, (400, "invalid_argument", "queues")),
    ({"queues": ["private"]}, (403, "forbidden", "queues")),
    ({"queues": ["team:night/triage"]}, (403, "forbidden", "queues")),
    ({"ignore_presence": "yes"}, (400, "invalid_argument", "ignore_presence")),
    ({"secret": "x"}, (400, "invalid_argument", "secret")),
])
def test_what_cannot_be_used_is_refused_by_its_field_and_nothing_is_stored(
    agent: Agent, arguments: dict[str, object], refusal: tuple[int, str, str]
) -> None:
    refused = create(agent, **arguments)

    assert refused.refusal == refusal
    assert "hush" not in str(refused.body)
    assert agent("list_notify_hooks").body["ceiling"]["used"] == 0


def test_a_sixth_hook_exceeds_the_ceiling(agent: Agent) -> None:
    for _ in range(5):
        assert create(agent).status == 200

    assert create(agent).refusal == (409, "ceiling_exceeded", None)


@pytest.mark.parametrize("verb", ["rotate_notify_hook", "delete_notify_hook"])
def test_anothers_unknown_and_misspelt_hooks_answer_the_same_bytes(
    app: Flask, make: Make, agent: Agent, verb: str
) -> None:
    other = agent_of(app, make, make.endpoint(verbs=(*BASICS, *NOTIFY)))
    foreign = create(other).body["hook_id"]

    bodies = {
        agent.client.post(f"/agent/v1/{verb}", json={"hook_id": hook_id},
                          headers=agent.headers).data
        for hook_id in (foreign, str(uuid.uuid4()), "", "not a uuid", "x" * 9_000)
    }

    assert len(bodies) == 1
    assert agent(verb, hook_id=foreign).refusal == (404, "not_found", None)
    assert other("list_notify_hooks").body["ceiling"]["used"] == 1


def test_the_verbs_are_in_no_basic_grant(app: Flask, make: Make) -> None:
    plain = agent_of(app, make, make.endpoint())

    assert create(plain).refusal == (403, "forbidden", None)
    for verb in NOTIFY:
        assert verb not in {each["name"] for each in plain.get("verbs").body["verbs"]}
