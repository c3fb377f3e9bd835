"""Deliveries through the real door: what is stored, what is answered, what is refused."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from app.db.database import Database
from app.db.listener import Listener
from app.domain.callers import Endpoint
from app.domain.errors import OutcomeUnknown
from app.edge.deps import EdgeConfig
from app.embedded import Cluster
from app.transactions import deliveries
from tests.support.clock import Clock
from tests.support.make import Make, Webhook
from tests.support.pg import Fresh
from tests.support.race import all_returned, together

EXAMPLES = Path(__file__).parents[1] / "domain"
SECRET = "the shared secret"
BODY = b'{"action":"opened","issue":{"number":41,"title":"Fix the thing"}}'


@pytest.fixture
def endpoint(make: Make) -> Endpoint:
    """An endpoint with one queue, `inbox`."""
    return make.endpoint()


@pytest.fixture
def hook(make: Make, endpoint: Endpoint) -> Webhook:
    """Its GitHub webhook."""
    return make.webhook(endpoint, "github", secret=SECRET)


@pytest.fixture
def generic(make: Make, endpoint: Endpoint) -> Webhook:
    """Its generic webhook."""
    return make.webhook(endpoint, "generic", secret=None, trust_mode="token")


def digest(message: bytes) -> str:
    """The hex HMAC-SHA256 under this file's secret."""
    return hmac.new(SECRET.encode(), message, hashlib.sha256).hexdigest()


def github(body: bytes, event: str = "issues", delivery: str | None = None) -> dict[str, str]:
    """Headers as GitHub sends them."""
    return {
        "User-Agent": "GitHub-Hookshot/044aadd", "Content-Type": "application/json",
        "X-GitHub-Delivery": delivery or str(uuid4()), "X-GitHub-Event": event,
        "X-GitHub-Hook-ID": "292430182", "X-Hub-Signature-256": f"sha256={digest(body)}",
    }


def gitea(body: bytes, event: str = "issues", delivery: str | None = None) -> dict[str, str]:
    """Headers as Gitea sends them: its own beside GitHub's."""
    delivery = delivery or str(uuid4())
    return {
        "Content-Type": "application/json", "X-Gitea-Delivery": delivery, "X-Gitea-Event": event,
        "X-Gitea-Event-Type": event, "X-Gitea-Signature": digest(body),
        "X-GitHub-Delivery": delivery, "X-GitHub-Event": event,
        "X-Hub-Signature-256": f"sha256={digest(body)}",
    }


def stripe(body: bytes, at: int) -> dict[str, str]:
    """Headers as Stripe sends them, an old secret's signature first."""
    right = digest(f"{at}.".encode() + body)
    return {"Content-Type": "application/json; charset=utf-8",
            "Stripe-Signature": f"t={at},v1={'0' * 64},v1={right},v0={'1' * 64}"}


def slack(body: bytes, at: int) -> dict[str, str]:
    """Headers as Slack sends them."""
    return {"Content-Type": "application/json", "X-Slack-Request-Timestamp": str(at),
            "X-Slack-Signature": "v0=" + digest(f"v0:{at}:".encode() + body)}


def post(client: FlaskClient, hook: Webhook, body: bytes = BODY,
         headers: dict[str, str] | None = None) -> TestResponse:
    """One delivery, by default a rightly signed GitHub one."""
    return client.post(hook.path, data=body, headers=github(body) if headers is None else headers)


def stored(make: Make) -> tuple[object, object]:
    """How many events and todos there are."""
    return make.value("select count(*) from events"), make.value("select count(*) from todos")


def verdicts(db: Database, verdict: str, provider: str = "github", mode: str = "signed") -> int:
    """Deliveries counted under one verdict."""
    return db.counters.value("switchboard_webhook_deliveries_total", provider=provider,
                             trust_mode=mode, verdict=verdict)


def reasons(db: Database) -> dict[str, int]:
    """Every reason counted so far."""
    return {
        dict(series.labels)["reason"]: count for series, count in db.counters.snapshot().items()
        if series.name == "switchboard_webhook_verify_failures_total"
    }


# --- accepted -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "headers"), [("github", github), ("gitea", gitea)])
def test_documented_forge_events_verify_dedupe_and_get_their_titles(
    client: FlaskClient, make: Make, endpoint: Endpoint, source: str,
    headers: Callable[[bytes, str, str], dict[str, str]],
) -> None:
    hook = make.webhook(endpoint, source, secret=SECRET)
    cases = [json.loads(path.read_text(encoding="utf-8"))
             for path in sorted((EXAMPLES / f"{source}_events").glob("*.json"))]
    assert len(cases) >= 20

    for number, case in enumerate(cases):
        body = json.dumps(case["body"]).encode()
        answers = [post(client, hook, body, headers(body, case["event"], f"id-{number}"))
                   for _ in range(2)]
        first, again = (answer.get_json() for answer in answers)
        assert [answer.status_code for answer in answers] == [202, 202], case["title"]
        assert (first["created"], again["created"], again["id"]) == (1, 0, first["id"])
        row = make.row(first["id"])
        assert (row["title"], row["payload"]) == (case["title"], case["body"])

    assert stored(make) == (len(cases), len(cases))
    assert make.value("select bool_and(verified) from events")


def test_a_delivery_answers_its_todos(
    client: FlaskClient, make: Make, db: Database, endpoint: Endpoint, hook: Webhook
) -> None:
    friend = make.endpoint()
    make.route(hook, friend)

    answer = post(client, hook)

    body = answer.get_json()
    ids = [todo["id"] for todo in body["todos"]]
    assert answer.status_code == 202
    assert body == {
        "todos": [
            {"id": ids[0], "endpoint_id": str(endpoint.id), "queue": "inbox", "created": True},
            {"id": ids[1], "endpoint_id": str(friend.id), "queue": "inbox", "created": True},
        ],
        "created": 2, "id": ids[0], "queue": "inbox", "verified": True, "trust_mode": "signed",
    }
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in answer.headers
    assert verdicts(db, "accepted") == 1
    assert reasons(db) == {}


def test_a_redelivery_is_202_with_nothing_created(
    client: FlaskClient, make: Make, db: Database, hook: Webhook
) -> None:
    headers = github(BODY, delivery="72d3162e")
    first = post(client, hook, BODY, headers).get_json()

    again = post(client, hook, BODY, headers)

    assert again.status_code == 202
    assert again.get_json() == {
        **first, "created": 0, "todos": [{**first["todos"][0], "created": False}]}
    assert verdicts(db, "accepted") == 2


def test_twenty_parallel_deliveries_with_one_id_are_twenty_202s_and_one_todo(
    app: Flask, make: Make, db: Database, hook: Webhook
) -> None:
    headers = github(BODY, delivery="72d3162e")

    answers = all_returned(together(20, lambda _: post(app.test_client(), hook, BODY, headers)))

    assert [answer.status_code for answer in answers] == [202] * 20
    assert sum(answer.get_json()["created"] for answer in answers) == 1
    assert len({answer.get_json()["id"] for answer in answers}) == 1
    assert stored(make) == (1, 1)
    assert verdicts(db, "accepted") == 20


def test_a_team_target_answers_its_team(client: FlaskClient, make: Make) -> None:
    human, team = make.human(), make.team("dockers")
    make.member(team, human)
    queue = make.team_queue(team, "crates")
    hook = make.webhook(make.endpoint(human), "github", secret=SECRET, team_queue=queue)

    body = post(client, hook).get_json()

    assert body["todos"] == [
        {"id": body["id"], "team": "dockers", "queue": "team:dockers/crates", "created": True}]
    assert body["queue"] == "team:dockers/crates"


@pytest.mark.parametrize(("source", "headers"), [("stripe", stripe), ("slack", slack)])
def test_stripe_and_slack_verify_within_300_seconds_of_the_databases_clock(
    client: FlaskClient, make: Make, clock: Clock, endpoint: Endpoint, source: str,
    headers: Callable[[bytes, int], dict[str, str]],
) -> None:
    at = 1_531_420_618
    clock.set("2018-07-12T18:36:58Z")
    hook = make.webhook(endpoint, source, secret=SECRET)
    body = b'{"id":"evt_1","type":"charge.succeeded","data":{"object":{"id":"ch_1"}}}'

    answers = [post(client, hook, body, headers(body, at + drift))
               for drift in (-301, -300, 300, 301)]

    assert [answer.status_code for answer in answers] == [401, 202, 202, 401]
    assert make.rows("select title, source from todos") == [(f"{source} charge.succeeded", source)]
    assert make.value("select event_type from events") == "charge.succeeded"
    assert "«redacted»" in str(make.value("select headers from events"))


def test_slacks_envelope_is_titled_by_what_it_holds(
    client: FlaskClient, make: Make, endpoint: Endpoint
) -> None:
    hook = make.webhook(endpoint, "slack", secret=SECRET)
    body = json.dumps({"type": "event_callback", "event_id": "Ev1", "event": {
        "type": "app_mention", "user": "U1", "text": "<@U2> hello"}}).encode()

    answer = post(client, hook, body, slack(body, int(make.now().timestamp())))

    assert make.row(answer.get_json()["id"])["title"] == "slack app_mention"


@pytest.mark.parametrize("body", [b"", b"just text", b"\x00\xff\xfe", b'{"a":"\\u0000"}'])
def test_what_is_not_storable_json_stays_as_bytes(
    client: FlaskClient, make: Make, generic: Webhook, body: bytes
) -> None:
    answer = post(client, generic, body, {})

    assert answer.status_code == 202
    assert (answer.get_json()["verified"], answer.get_json()["trust_mode"]) == (False, "token")
    row = make.row(answer.get_json()["id"])
    assert (row["title"], row["payload"]) == ("generic delivery", None)
    assert make.rows("select payload, payload_size from events") == [(body, len(body))]


def test_a_body_that_says_it_is_compressed_is_taken_as_it_came(
    client: FlaskClient, make: Make, generic: Webhook
) -> None:
    assert post(client, generic, b"\x1f\x8b\x08", {"Content-Encoding": "gzip"}).status_code == 202
    assert make.value("select payload from events") == b"\x1f\x8b\x08"


def test_headers_are_stored_without_what_proves_the_sender(
    client: FlaskClient, make: Make, hook: Webhook
) -> None:
    headers = github(BODY) | {
        "X-Hub-Signature": "sha1=hush", "Authorization": "Bearer hush", "Cookie": "sb_session=hush",
        "X-Api-Key": "hush", "X-Webhook-Token": "hush", "Referer": "https://x.example/?token=hush",
        "X-Name": "K\xf6ln", "X-Original-Uri": hook.path,
    }

    assert post(client, hook, BODY, headers).status_code == 202

    kept = make.value("select headers from events")
    assert isinstance(kept, dict)
    text = json.dumps(kept)
    assert "hush" not in text
    assert hook.token not in text
    assert digest(BODY) not in text
    assert kept["X-Hub-Signature-256"] == "«redacted»"
    assert kept["X-Name"] == "K\xf6ln"


# --- handshakes and forms -----------------------------------------------------------------------


def test_slacks_challenge_is_echoed_after_its_signature_held(
    client: FlaskClient, make: Make, db: Database, endpoint: Endpoint
) -> None:
    hook = make.webhook(endpoint, "slack", secret=SECRET)
    at = int(make.now().timestamp())
    body = json.dumps({"token": "x", "challenge": "3eZbrw1aB\n<b>", "type": "url_verification"})

    answer = post(client, hook, body.encode(), slack(body.encode(), at))
    forged = post(client, hook, body.encode(), slack(b"{}", at))

    assert (answer.status_code, answer.get_json()) == (200, {"challenge": "3eZbrw1aB\n<b>"})
    assert answer.mimetype == "application/json"
    assert forged.status_code == 401
    assert stored(make) == (0, 0)
    assert verdicts(db, "accepted", "slack") == 1


@pytest.mark.parametrize("body", [
    {"type": "other", "challenge": "x"}, {"challenge": "x"}, {"type": "url_verification"},
    {"type": "url_verification", "challenge": 7}, {"type": ["url_verification"], "challenge": "x"},
])
def test_nothing_else_is_echoed(
    client: FlaskClient, make: Make, endpoint: Endpoint, body: dict[str, object]
) -> None:
    hook = make.webhook(endpoint, "slack", secret=SECRET)
    sent = json.dumps(body).encode()

    answer = post(client, hook, sent, slack(sent, int(make.now().timestamp())))

    assert answer.status_code == 202
    assert "challenge" not in answer.get_json()


@pytest.mark.parametrize(("source", "headers"), [("github", github), ("gitea", gitea)])
def test_a_ping_makes_no_event_and_no_todo(
    client: FlaskClient, make: Make, db: Database, endpoint: Endpoint, source: str,
    headers: Callable[[bytes, str], dict[str, str]],
) -> None:
    hook = make.webhook(endpoint, source, secret=SECRET)
    body = b'{"zen":"Design for failure.","hook_id":109948940,"hook":{"type":"Repository"}}'

    answer = post(client, hook, body, headers(body, "ping"))

    assert (answer.status_code, answer.get_json()) == (202, {"ping": True})
    assert stored(make) == (0, 0)
    assert verdicts(db, "accepted", source) == 1
    assert post(client, hook, body, headers(b"x", "ping")).status_code == 401


def test_a_form_encoded_payload_is_the_json_body(
    client: FlaskClient, make: Make, hook: Webhook
) -> None:
    body = urlencode({"payload": BODY.decode()}).encode()
    headers = github(body) | {"Content-Type": "application/x-www-form-urlencoded"}
    del headers["X-GitHub-Delivery"]

    answer = post(client, hook, body, headers)

    row = make.row(answer.get_json()["id"])
    assert (row["title"], row["payload"]) == ("issue #41 opened: Fix the thing", json.loads(BODY))
    assert row["idempotency_key"] == f"{hook.id}:sha256:{hashlib.sha256(body).hexdigest()}"
    assert make.value("select payload from events") == body


# --- refused ------------------------------------------------------------------------------------


def refusals(make: Make, endpoint: Endpoint) -> Iterator[tuple[str, Webhook, bytes, dict[str, str],
                                                               int, str]]:
    """One delivery for each row of the table that a request alone can hit."""
    hook = make.webhook(endpoint, "github", secret=SECRET)
    bare = make.webhook(endpoint, "github", secret=None, trust_mode="signed")
    odd = make.webhook(endpoint, "gitlab", secret=SECRET)
    timed = make.webhook(endpoint, "stripe", secret=SECRET)
    gone = Webhook(id=uuid4(), endpoint_id=endpoint.id, source_type="github", token="0" * 32,
                   secret=None)
    old = int(make.now().timestamp()) - 1000
    big = b" " * (5 * 1024 * 1024 + 1)
    yield "unknown_webhook", gone, BODY, github(BODY), 404, "not_found"
    yield "too_large", hook, big, github(big), 413, "invalid_argument"
    yield "missing_signature", hook, BODY, {}, 401, "unauthenticated"
    yield ("malformed_signature", hook, BODY, {"X-Hub-Signature-256": "sha256=zz"}, 401,
           "unauthenticated")
    yield "stale_timestamp", timed, BODY, stripe(BODY, old), 401, "unauthenticated"
    yield "bad_signature", hook, BODY, github(b"other"), 401, "unauthenticated"
    yield "malformed", hook, b"[]", github(b"[]"), 400, "invalid_argument"
    yield "not_configured", bare, BODY, github(BODY), 503, "unavailable"
    yield "unsupported_source", odd, BODY, github(BODY), 503, "unavailable"


def test_each_refusal_answers_its_code_counts_its_reason_and_stores_nothing(
    client: FlaskClient, make: Make, db: Database, endpoint: Endpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: dict[str, int] = {}
    for reason, hook, body, headers, status, code in refusals(make, endpoint):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            answer = post(client, hook, body, headers)
        seen[reason] = 1

        assert (answer.status_code, answer.get_json()["code"]) == (status, code), reason
        assert set(answer.get_json()) == {"error", "code"}
        assert reasons(db) == seen
        assert stored(make) == (0, 0)
        lines = [record.getMessage() for record in caplog.records]
        assert sum(f"reason={reason} " in line for line in lines) == 1
        assert not [line for line in lines if hook.token in line or digest(body) in line
                    or SECRET in line or "Fix the thing" in line]

    rejected = sum(count for series, count in db.counters.snapshot().items()
                   if series.name == "switchboard_webhook_deliveries_total")
    assert rejected == len(seen)
    assert verdicts(db, "rejected", "__other__", "__other__") == 2
    assert db.feed.told == []


def test_an_unknown_token_is_the_same_404_as_any_unknown_address(client: FlaskClient) -> None:
    known_shape = client.post("/webhooks/w/" + "0" * 32, data=BODY)
    odd_shape = client.post("/webhooks/w/%00%ff", data=BODY)

    assert known_shape.status_code == odd_shape.status_code == 404
    assert known_shape.get_data() == odd_shape.get_data()


def test_a_chunked_body_without_a_length_is_cut_off_too(
    client: FlaskClient, make: Make, generic: Webhook
) -> None:
    def chunked(size: int) -> int:
        return client.post(generic.path, input_stream=BytesIO(b"x" * size),
                           environ_overrides={"wsgi.input_terminated": True}).status_code

    assert chunked(5 * 1024 * 1024) == 202
    assert chunked(5 * 1024 * 1024 + 1) == 413
    assert chunked(20 * 1024 * 1024) == 413
    assert stored(make) == (1, 1)


def test_a_declared_oversize_is_refused_before_anything_is_read(
    client: FlaskClient, hook: Webhook
) -> None:
    class Untouchable(BytesIO):
        def read(self, *_: object) -> bytes:
            raise AssertionError("the body was read")

    answer = client.post(hook.path, input_stream=Untouchable(),
                         environ_overrides={"CONTENT_LENGTH": str(5 * 1024 * 1024 + 1)})

    assert answer.status_code == 413


def test_a_body_that_breaks_off_is_unreadable(
    client: FlaskClient, make: Make, db: Database, generic: Webhook
) -> None:
    class Broken(BytesIO):
        def read(self, *_: object) -> bytes:
            raise ConnectionResetError

    answers = [
        client.post(generic.path, input_stream=Broken(),
                    environ_overrides={"CONTENT_LENGTH": "10"}),
        client.post(generic.path, input_stream=BytesIO(b"half"),
                    environ_overrides={"CONTENT_LENGTH": "10"}),
        # As the real server says it: the stream just ends.
        client.post(generic.path, input_stream=BytesIO(b"half"),
                    environ_overrides={"CONTENT_LENGTH": "10", "wsgi.input_terminated": True}),
    ]

    assert [answer.status_code for answer in answers] == [400] * 3
    assert reasons(db) == {"unreadable": 3}
    assert stored(make) == (0, 0)


def test_only_post_is_answered(client: FlaskClient, hook: Webhook) -> None:
    for method in ("GET", "PUT", "DELETE"):
        assert client.open(hook.path, method=method).status_code == 405


def test_a_cookie_opens_nothing_and_none_is_set(
    app: Flask, make: Make, hook: Webhook
) -> None:
    client = app.test_client()
    client.set_cookie("sb_session", make.session(make.human()), domain="localhost")

    answer = post(client, hook, BODY, {})

    assert answer.status_code == 401
    assert "Set-Cookie" not in answer.headers


def test_an_empty_target_set_is_503_and_counts_no_reason(
    client: FlaskClient, make: Make, db: Database, endpoint: Endpoint, hook: Webhook
) -> None:
    make.run("update endpoints set state = 'revoked' where id = %s", endpoint.id)

    answer = post(client, hook)

    assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable")
    assert stored(make) == (0, 0)
    assert reasons(db) == {}
    assert verdicts(db, "rejected") == 1


def test_an_unknown_outcome_is_the_one_500(
    client: FlaskClient, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise OutcomeUnknown

    monkeypatch.setattr(deliveries, "deliver", lost)

    answer = post(client, hook)

    assert (answer.status_code, answer.get_json()["code"]) == (500, "internal")


# --- limits -------------------------------------------------------------------------------------


def test_refused_deliveries_are_limited_per_address_and_good_ones_are_not_held_up(
    client: FlaskClient, db: Database, hook: Webhook
) -> None:
    answers = [post(client, hook, BODY, {}) for _ in range(60)]

    limited = [answer for answer in answers if answer.status_code == 429]
    assert [answer.status_code for answer in answers[:20]] == [401] * 20
    assert len(limited) >= 10
    assert limited[0].get_json()["code"] == "rate_limited"
    assert int(limited[0].headers["Retry-After"]) >= 1
    assert reasons(db) == {"missing_signature": 60 - len(limited)}
    assert verdicts(db, "rejected") == 60
    assert post(client, hook).status_code == 202


def test_good_deliveries_are_limited_per_webhook(
    client: FlaskClient, make: Make, endpoint: Endpoint, hook: Webhook
) -> None:
    body = b'{"zen":"x"}'
    other = make.webhook(endpoint, "github", secret=SECRET)
    began = time.monotonic()

    statuses = [post(client, hook, body, github(body, "ping")).status_code for _ in range(400)]

    allowed = 200 + 50 * (time.monotonic() - began)
    assert 200 <= statuses.count(202) <= allowed + 1
    assert statuses[:200] == [202] * 200
    assert set(statuses) <= {202, 429}
    assert post(client, other, body, github(body, "ping")).status_code == 202


class TestBehindAProxy:
    """The address limits are counted by, and the event remembers."""

    @pytest.fixture
    def edge_config(self) -> EdgeConfig:
        """Trusts one proxy."""
        return EdgeConfig(base_url="http://localhost", trusted_proxies=("192.0.2.1",))

    @pytest.mark.parametrize(("peer", "address"), [
        ("192.0.2.1", "203.0.113.9"), ("192.0.2.2", "192.0.2.2"),
    ])
    def test_a_forwarding_header_counts_from_a_trusted_peer_only(
        self, client: FlaskClient, make: Make, generic: Webhook, peer: str, address: str
    ) -> None:
        client.post(generic.path, data=b"{}", headers={"X-Forwarded-For": "203.0.113.9"},
                    environ_overrides={"REMOTE_ADDR": peer})

        assert make.value("select host(source_ip) from events") == address


# --- outage -------------------------------------------------------------------------------------


def test_a_delivery_during_an_outage_is_503_and_its_redelivery_is_stored(
    edge_config: EdgeConfig, listener: Listener, durable_cluster: Cluster,
    durable_database: Fresh,
) -> None:
    make = Make(durable_database.url)
    hook = make.webhook(make.endpoint(), "github", secret=SECRET)
    make.close()
    app = create_app(edge_config, durable_database.db, listener)
    headers = github(BODY, delivery="72d3162e")

    durable_cluster.stop("immediate")
    began = time.monotonic()
    away = post(app.test_client(), hook, BODY, headers)
    waited = time.monotonic() - began
    durable_cluster.start()
    back = _until_accepted(app, hook, headers)

    assert (away.status_code, away.get_json()["code"]) == (503, "unavailable")
    assert waited < 5
    assert back.get_json()["created"] == 1
    make = Make(durable_database.url)
    assert stored(make) == (1, 1)
    make.close()


def _until_accepted(app: Flask, hook: Webhook, headers: dict[str, str]) -> TestResponse:
    ends_at = time.monotonic() + 60
    while time.monotonic() < ends_at:
        answer = post(app.test_client(), hook, BODY, headers)
        if answer.status_code == 202:
            return answer
        assert answer.status_code == 503
    raise AssertionError("the server did not recover")
