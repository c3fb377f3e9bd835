"""GET /agent/v1/stream: its first lines, its ends, its limits (agent-api.md)."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.api import stream as door
from app.domain.callers import Endpoint
from app.domain.errors import Unavailable
from app.edge import deps
from app.edge.deps import EdgeState
from app.transactions import bell_rounds
from tests.support.client import Caller
from tests.support.make import Make
from tests.support.wait import wait_for


@pytest.fixture
def parts(app: Flask) -> Iterator[EdgeState]:
    """The process's shared parts; its streams end with the test."""
    with app.app_context():
        shared = deps.state()
    yield shared
    shared.ringer.close()


@pytest.fixture
def lane(make: Make) -> Endpoint:
    return make.endpoint()


@pytest.fixture
def calls(agent: Callable[[Endpoint], Caller], lane: Endpoint, parts: EdgeState) -> Caller:
    return agent(lane)


def opened(calls: Caller) -> tuple[TestResponse, Iterator[str]]:
    answer = calls.get("/stream")
    assert answer.status_code == 200, answer.get_data()
    return answer, (chunk.decode() if isinstance(chunk, bytes) else chunk
                    for chunk in answer.response)


def told(frame: str) -> dict[str, dict[str, str]]:
    name, data, *rest = frame.split("\n")
    assert (name, rest) == ("event: doorbell", ["", ""])
    found = json.loads(data.removeprefix("data: "))
    assert isinstance(found, dict)
    return found


def test_a_stream_begins_with_its_retry_and_what_waits(
    calls: Caller, make: Make, lane: Endpoint, parts: EdgeState
) -> None:
    todos = [make.todo(lane, title="Ünïcode\nline", rings=True) for _ in range(4)]
    answer, frames = opened(calls)

    assert answer.mimetype == "text/event-stream"
    assert answer.headers["Cache-Control"] == "no-store"
    assert next(frames) == "retry: 3000\n\n"
    rings = [told(next(frames)) for _ in range(3)]
    assert [ring["meta"]["todo_id"] for ring in rings] == todos[:3]
    assert rings[0]["content"] == f"{todos[0]} in inbox: Ünïcode line"
    digest = told(next(frames))
    assert digest["meta"] == {"kind": "digest", "pending": "4", "queues": "inbox",
                              "reason": "reconnect"}
    answer.close()
    assert parts.waiting.taken == 0


def test_retry_is_a_setting_and_nonsense_in_it_is_the_default(calls: Caller, make: Make) -> None:
    for value, said in (("250", "retry: 250\n\n"), ("soon", "retry: 3000\n\n")):
        make.run("update settings set value = %s where key = 'sse_retry_ms'", value)
        answer, frames = opened(calls)
        assert next(frames) == said
        answer.close()


def test_who_is_out_hears_nothing_at_opening_and_spends_nothing(
    calls: Caller, make: Make, lane: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "KEEP_ALIVE_SECONDS", 0.0)
    monkeypatch.setattr(door, "_LOOK", 0.01)
    todo = make.todo(lane, rings=True)
    make.run("update endpoints set presence_override = 'out', override_by = 'agent',"
             " override_set_at = clock()")
    answer, frames = opened(calls)

    assert [next(frames), next(frames)] == ["retry: 3000\n\n", ":\n\n"]
    assert make.row(todo)["ring_attempts"] == 0
    assert make.value("select count(*) from doorbells") == 0
    answer.close()


def test_silence_is_broken_by_a_comment_every_15_seconds(
    calls: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert door.KEEP_ALIVE_SECONDS == 15
    monkeypatch.setattr(door, "KEEP_ALIVE_SECONDS", 0.3)
    monkeypatch.setattr(door, "_LOOK", 0.02)
    answer, frames = opened(calls)
    next(frames)
    at = [time.monotonic()]
    for _ in range(2):
        assert next(frames) == ":\n\n"
        at.append(time.monotonic())
    answer.close()

    assert all(0.25 < later - earlier < 2 for earlier, later in itertools.pairwise(at))


def test_the_ninth_stream_of_an_endpoint_is_asked_to_come_back(
    calls: Caller, make: Make, agent: Callable[[Endpoint], Caller], parts: EdgeState
) -> None:
    streams = [opened(calls)[0] for _ in range(8)]

    refused = calls.get("/stream")

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    assert refused.get_json()["code"] == "rate_limited"
    other, _ = opened(agent(make.endpoint()))
    other.close()
    streams.pop().close()  # before its first frame was asked for
    streams.append(opened(calls)[0])
    for each in streams:
        each.close()
    assert parts.waiting.taken == 0
    assert parts.ringer._streams == {}


def test_a_full_house_is_429_too(calls: Caller, parts: EdgeState) -> None:
    seats = [parts.waiting.enter("other", number, 1) for number in range(192)]

    assert calls.get("/stream").status_code == 429
    for seat in seats:
        assert seat is not None
        seat.leave()


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_any_other_method_is_405(calls: Caller, parts: EdgeState, method: str) -> None:
    answer = calls.open(method, "/stream")

    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET")
    assert parts.waiting.taken == 0


def test_a_stranger_is_401(client: FlaskClient, parts: EdgeState) -> None:
    answer = client.get("/agent/v1/stream")

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="switchboard"')


def test_an_opening_that_fails_gives_everything_back(
    calls: Caller, parts: EdgeState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise Unavailable

    monkeypatch.setattr(bell_rounds, "attach", away)

    assert calls.get("/stream").status_code == 503
    assert parts.waiting.taken == 0
    assert parts.ringer._streams == {}


def test_revoking_ends_the_stream(
    calls: Caller, make: Make, lane: Endpoint, parts: EdgeState
) -> None:
    answer, frames = opened(calls)
    next(frames)
    wait_for(lambda: lane.id in parts.ringer._present)
    make.run("update endpoints set state = 'revoked', revoked_at = clock()")
    parts.database.feed.endpoints(lane.id)

    assert list(frames) == []
    assert parts.waiting.taken == 0
    answer.close()


@pytest.mark.req("REQ-8")
def test_a_delivery_that_nobody_can_judge_is_stored_and_rings_nothing(
    client: FlaskClient, calls: Caller, make: Make, lane: Endpoint, parts: EdgeState,
    caplog: pytest.LogCaptureFixture,
) -> None:
    make.policy(make.queue_id(lane), max_in_flight=5)
    hook = make.webhook(lane, "generic", secret=None, trust_mode="token")
    answer, _ = opened(calls)
    make.run("alter table admission_policies rename to away")
    try:
        delivered = client.post(hook.path, json={"title": "from outside"})
    finally:
        make.run("alter table away rename to admission_policies")

    assert delivered.status_code == 202
    assert make.value("select count(*) from todos where state = 'pending'") == 1
    assert make.value("select count(*) from doorbells") == 0
    assert "admission_unreadable" in caplog.text
    answer.close()
