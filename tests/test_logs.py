"""What the log says: one line per state change, for machines and for people, and never a secret."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator

import pytest
import structlog
from flask import Flask
from flask.testing import FlaskClient

from app import create_app, logs, redacting
from app.db.database import Database
from app.db.listener import Listener
from app.domain.callers import Endpoint, Human
from app.edge.deps import EdgeConfig
from app.transactions import sweeps
from tests.support.client import Browser, Caller
from tests.support.make import Make

PAYLOAD = "the payload nobody else may read"
ID = re.compile(r"[0-9a-f]{32}")


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


@pytest.fixture
def put_back() -> Iterator[None]:
    """Puts the logging of the test run back after the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, put_back: None) -> io.StringIO:
    """What is logged, piped, from debug on."""
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    logs.configure("debug")
    return written


def lines(said: io.StringIO, event: str | None = None) -> list[dict[str, object]]:
    """The lines of the log, or those of one event."""
    found = [json.loads(line) for line in said.getvalue().splitlines()]
    return [line for line in found if event in (None, line["event"])]


# --- one line per change -------------------------------------------------------------------------


def test_a_claim_is_one_line_with_who_what_and_how_long(
    said: io.StringIO, make: Make, agent: Callable[[Endpoint], Caller]
) -> None:
    endpoint = make.endpoint(queues=("lane-m",))
    todo = make.todo(endpoint, "lane-m")

    answer = agent(endpoint).call("claim_next")

    (line,) = lines(said, "todo_claimed")
    assert {name: line[name] for name in ("level", "endpoint", "queue", "todo", "outcome",
                                          "attempt", "request_id")} == {
        "level": "info", "endpoint": endpoint.slug, "queue": "lane-m", "todo": todo.id,
        "outcome": "claimed", "attempt": "1", "request_id": answer.headers["X-Request-Id"]}
    assert 0 < float(str(line["duration_ms"])) < 60_000
    assert [each["event"] for each in lines(said) if each["level"] == "info"] == ["todo_claimed"]


def test_a_life_of_todos_is_a_line_for_each_step_and_none_for_a_look(
    said: io.StringIO, db: Database, make: Make, agent: Callable[[Endpoint], Caller],
    operator: Callable[[Human], Caller],
) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    worker, api = agent(endpoint), operator(human)
    for number in range(4):
        api.post(f"/endpoints/{endpoint.slug}/todos", json={"title": f"{number}"})
    ids = [worker.call("claim_next").json["todo"]["id"] for _ in range(4)]  # type: ignore[index]
    worker.call("complete", id=ids[0])
    worker.call("fail", id=ids[1])
    worker.call("release", id=ids[2])
    make.run("update todos set lease_expires_at = clock() - interval '1 s' where id = %s", ids[3])
    sweeps.reap(db)
    api.post(f"/todos/{ids[1]}/retry")
    api.post(f"/todos/{ids[2]}/discard")
    worker.call("claim_next", lease_ttl_seconds="an hour")  # refused
    worker.call("heartbeat", id=ids[0])
    worker.get("/my_todos")
    api.get("/endpoints")

    steps = [(each["event"], each.get("outcome")) for each in lines(said)
             if each["level"] == "info"]
    assert steps == [
        *[("todo_created", "pending")] * 4, *[("todo_claimed", "claimed")] * 4,
        ("todo_completed", "done"), ("todo_failed", "retry_scheduled"),
        ("todo_released", "pending"), ("todo_reaped", "pending"),
        ("todo_retried", "pending"), ("todo_discarded", "dead_lettered"),
    ]


def test_a_change_of_settings_is_a_line_by_the_name_of_its_view(
    said: io.StringIO, make: Make, operator: Callable[[Human], Caller]
) -> None:
    human = make.human()
    endpoint = make.endpoint(human, queues=("a/b",))
    daily = {"max_claims_per_window": 5,
             "window": {"period": "day", "tz": "UTC", "start": "00:00"}}

    answer = operator(human).put(f"/admission/endpoint:{endpoint.slug}/a%2Fb", json=daily)
    operator(human).put(f"/admission/endpoint:{endpoint.slug}/a%2Fb", json={"nonsense": 1})

    changes = [each for each in lines(said) if "duration_ms" in each]
    assert answer.status_code == 200
    assert [(each["event"], each["human"], each["queue"], each["scope"], each["outcome"])
            for each in changes] == [
        ("operator.put_policy", str(human.id), "a/b", f"endpoint:{endpoint.slug}", "200")]


def test_nothing_of_a_request_is_in_the_next_ones_lines(
    said: io.StringIO, make: Make, agent: Callable[[Endpoint], Caller], client: FlaskClient
) -> None:
    endpoint = make.endpoint()
    agent(endpoint).call("claim_next")
    first = client.get("/healthz").headers["X-Request-Id"]
    logging.getLogger("between").info("between two requests")
    second = client.get("/healthz").headers["X-Request-Id"]

    assert first != second
    assert ID.fullmatch(first)
    assert set(lines(said, "between two requests")[0]) == {"event", "level", "timestamp"}


@pytest.mark.parametrize(("peer", "given", "is_kept"), [
    ("10.0.0.1", "abc-1.2_3", True), ("10.0.0.1", "x" * 65, False), ("10.0.0.1", "a b", False),
    ("10.0.0.1", "a\xe9", False), ("192.0.2.1", "abc-1.2_3", False),
])
def test_only_a_trusted_proxy_may_name_a_request(
    db: Database, listener: Listener, peer: str, given: str, *, is_kept: bool
) -> None:
    config = EdgeConfig(base_url="http://localhost", trusted_proxies=("10.0.0.0/8",))
    client = create_app(config, db, listener).test_client()

    answer = client.get("/healthz", headers={"X-Request-Id": given},
                        environ_base={"REMOTE_ADDR": peer})

    assert (answer.headers["X-Request-Id"] == given) == is_kept


def test_an_accident_carries_the_request_it_happened_in(
    said: io.StringIO, app: Flask, client: FlaskClient
) -> None:
    def break_down() -> str:
        raise RuntimeError("broken")

    app.view_functions["health.healthz"] = break_down

    answer = client.get("/healthz")

    (line,) = [each for each in lines(said) if "request_failed" in str(each["event"])]
    assert answer.status_code == 500
    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert "RuntimeError: broken" in str(line["exception"])


# --- for machines and for people -----------------------------------------------------------------


def test_a_terminal_gets_words_and_a_pipe_json(
    monkeypatch: pytest.MonkeyPatch, put_back: None
) -> None:
    for stderr, is_json in ((Terminal(), False), (io.StringIO(), True)):
        monkeypatch.setattr(sys, "stderr", stderr)
        logs.configure("info")
        extra = {"facts": {"queue": "lane m", "outcome": "claimed"}}
        logging.getLogger("switchboard.changes").info("todo_claimed", extra=extra)
        logging.getLogger("switchboard.changes").debug("too fine")

        (line,) = stderr.getvalue().splitlines()
        if is_json:
            assert json.loads(line)["queue"] == "lane m"
        else:
            assert re.search(r"\[info\] todo_claimed .*outcome=claimed.* queue='lane m'|"
                             r"\[info\] todo_claimed .*queue='lane m'.* outcome=claimed", line)


# --- never a secret ------------------------------------------------------------------------------


def test_a_whole_tour_leaves_no_secret_and_no_payload_in_the_log(
    said: io.StringIO, db: Database, make: Make, client: FlaskClient,
    agent: Callable[[Endpoint], Caller], operator: Callable[[Human], Caller],
    browser: Callable[[Human], Browser], monkeypatch: pytest.MonkeyPatch,
) -> None:
    human = make.human()
    api, link = operator(human), make.login_link(human)
    vended = api.post("/endpoints", json={
        "name": "lane m", "queues": ["lane-m"], "webhook_source_type": "github"}).get_json()
    hook = vended["webhook"]
    path = re.sub(r"https?://[^/]+", "", hook["ingest_url"])
    title = "a title that is nobody's business"
    body = json.dumps({"action": "opened", "issue": {"number": 1, "title": title,
                                                     "body": PAYLOAD}}).encode()
    signature = hmac.new(hook["signing_secret"].encode(), body, hashlib.sha256).hexdigest()
    for sign in (signature, "0" * 64):
        client.post(path, data=body, headers={
            "Content-Type": "application/json", "X-GitHub-Event": "issues",
            "X-GitHub-Delivery": sign[:16], "X-Hub-Signature-256": f"sha256={sign}"})
    worker = Caller(client, vended["token"], "/agent/v1")
    claimed = worker.call("claim_next", require_fence=True,
                          headers={"Idempotency-Key": "a-key-of-the-worker"}).get_json()
    worker.call("complete", id=claimed["todo"]["id"], lease_token="wrong" * 9)
    worker.call("complete", id=claimed["todo"]["id"], result={"r": PAYLOAD},
                summary=f"summary: {PAYLOAD}", lease_token=claimed["lease_token"])
    rotated = api.post(f"/webhooks/{hook['webhook_id']}/rotate").get_json()
    page = client.get(f"/auth/link/{link}")
    client.post(f"/auth/link/{link}")
    seat = browser(human)
    seat.get("/")
    seat.post("/settings", {"zone": "Nowhere", "theme": PAYLOAD})
    client.get(f"/{vended['token']}/nowhere")
    make.run("alter table todos add constraint todos_no_payload check (payload is null)"
             " not valid")
    try:
        api.post(f"/endpoints/{vended['slug']}/todos", json={
            "title": title, "queue": "lane-m", "payload": {"p": PAYLOAD}})
    finally:
        make.run("alter table todos drop constraint todos_no_payload")
    api.post(f"/endpoints/{vended['slug']}/revoke")

    text = said.getvalue()
    assert page.status_code == 200
    for event in ("operator.vend", "todo_created", "todo_claimed", "todo_completed",
                  "request_failed"):
        assert event in text, event
    for secret in (vended["token"], hook["signing_secret"], path.rsplit("/", 1)[1], link,
                   rotated["signing_secret"], rotated["ingest_url"].rsplit("/", 1)[1],
                   api.token, seat.session, seat.csrf, claimed["lease_token"], signature,
                   "a-key-of-the-worker", PAYLOAD, title):
        assert secret, "the tour did not get this far"
        assert secret not in text, (secret, [line for line in text.split("\n") if secret in line])


@pytest.mark.parametrize(("text", "clean"), [
    ("token sbk_AbC-d_9 was used", "token «redacted» was used"),
    ("sba_AbC-d_9 and sbr_AbC-d_9 for sbc_AbC-d_9", "«redacted» and «redacted» for «redacted»"),
    ("GET /webhooks/w/abc HTTP", "GET /webhooks/w/«redacted» HTTP"),
    ("at /auth/link/abc-d?x=1", "at /auth/link/«redacted»?x=1"),
    ("at /invites/abc-d?x=1", "at /invites/«redacted»?x=1"),
    ("postgresql://sam:pass@db/x", "postgresql://«redacted»@db/x"),
    ("Authorization: Bearer abc.def", "Authorization: Bearer «redacted»"),
    ("host=db password=hunter2 user=x", "host=db password=«redacted» user=x"),
    ("it was Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6 then", "it was «redacted» then"),
    ("todo td_0198c0de0198c0de0198c0de0198c0de stays", None),
    ("human 0198c0de-0198-c0de-0198-c0de0198c0de stays", None),
    ("in test_that_has_a_name_of_more_than_forty_three_characters_too", None),
    ("/home/a/switchboard/app/transactions/claiming_and_some_more_of_it2.py", None),
    ("bad\nDETAIL:  Failing row contains (a, b\nc).", "bad\nDETAIL: «redacted»"),
    ("bad\nDETAIL:  row (a)\n\nThe above exception was the direct cause of the following"
     " exception:\n\nTraceback (most recent call last):\n  more",
     "bad\nDETAIL: «redacted»\n\nThe above exception was the direct cause of the following"
     " exception:\n\nTraceback (most recent call last):\n  more"),
    ("x [type=int, input_value='mine', input_type=str]",
     "x [type=int, input_value=«redacted», input_type=str]"),
])
def test_what_looks_like_a_secret_is_cut_out(text: str, clean: str | None) -> None:
    assert redacting.clean(text) == (text if clean is None else clean)


@pytest.mark.parametrize("name", ["token", "lease_token", "signing_secret", "Authorization",
                                  "payload", "cookie", "api_key", "password"])
def test_a_fact_with_the_name_of_a_secret_is_never_shown(name: str) -> None:
    assert redacting.redact(None, "info", {"event": "x", name: "abc"})[name] == "«redacted»"
