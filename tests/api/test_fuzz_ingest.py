"""Whatever a sender posts to the ingest door, the answer is never an accident."""

from __future__ import annotations

import hashlib
import hmac

import hypothesis.strategies as st
import pytest
from flask import Flask
from hypothesis import given

from app.domain.signatures import Source
from tests.api import throwing
from tests.api.throwing import thrown
from tests.support.make import Make

SECRET = "the shared secret"
TYPES = st.one_of(
    st.sampled_from(["application/json", "application/x-www-form-urlencoded", "text/plain", ""]),
    throwing.header_text(),
)
SIGNATURES = ("X-Hub-Signature-256", "X-Gitea-Signature", "Stripe-Signature", "X-Slack-Signature",
              "X-Slack-Request-Timestamp")
NAMES = (*SIGNATURES, "X-GitHub-Event", "X-Gitea-Event", "X-GitHub-Delivery", "X-Gitea-Delivery",
         "X-Delivery-Id", "Webhook-Id", "User-Agent", "X-Forwarded-For", "Content-Encoding")
EVENTS = st.sampled_from([
    "ping", "push", "issues", "issue_comment", "pull_request", "pull_request_review", "release",
    "check_run", "check_suite", "workflow_run", "discussion", "create", "delete", "fork", "x",
])
# Keys that title-makers read, with values of every wrong type.
KEYS = ["action", "issue", "pull_request", "ref", "commits", "comment", "release", "check_run",
        "discussion", "repository", "sender", "number", "title", "type", "challenge", "event",
        "data", "object", "id", "full_name", "head_commit", "message", "tag_name", "name"]
INNER = st.recursive(
    throwing.SCALAR,
    lambda deeper: st.one_of(st.lists(deeper, max_size=2),
                             st.dictionaries(st.sampled_from(KEYS), deeper, max_size=4)),
    max_leaves=12,
)

pytestmark = pytest.mark.timeout(throwing.SECONDS)


@pytest.fixture
def app(app: Flask) -> Flask:
    return throwing.without_limits(app)


def signed(source: Source, body: bytes, at: int) -> dict[str, str]:
    """The headers of a body signed as its sender would."""
    def digest(data: bytes) -> str:
        return hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()

    match source:
        case Source.GITHUB:
            return {"X-Hub-Signature-256": f"sha256={digest(body)}"}
        case Source.GITEA:
            return {"X-Gitea-Signature": digest(body)}
        case Source.STRIPE:
            return {"Stripe-Signature": f"t={at},v1={digest(f'{at}.'.encode() + body)}"}
        case Source.SLACK:
            text = f"v0:{at}:".encode() + body
            return {"X-Slack-Request-Timestamp": str(at), "X-Slack-Signature": f"v0={digest(text)}"}
        case Source.GENERIC:
            return {}


@pytest.mark.parametrize("source", list(Source))
def test_no_delivery_with_a_good_signature_makes_an_accident(
    app: Flask, make: Make, source: Source
) -> None:
    client, endpoint = app.test_client(), make.endpoint()
    webhook = make.webhook(endpoint, source, secret=None if source is Source.GENERIC else SECRET,
                           trust_mode="token" if source is Source.GENERIC else "signed")
    at = int(make.now().timestamp())
    bodies = throwing.body(dict.fromkeys(KEYS, INNER))

    @throwing.rounds(40)
    @given(bodies, EVENTS, TYPES, throwing.header_text())
    def throw(body: bytes, event: str, content_type: str, delivery: str) -> None:
        headers = signed(source, body, at) | {
            "X-GitHub-Event": event, "X-Gitea-Event": event, "X-GitHub-Delivery": delivery,
        }
        response = client.post(webhook.path, data=body, headers=headers, content_type=content_type)
        thrown(response)
        assert response.status_code in (200, 202, 400), response.get_data()

    throw()


@pytest.mark.parametrize("source", list(Source))
def test_no_headers_of_a_delivery_make_an_accident(
    app: Flask, make: Make, source: Source
) -> None:
    client = app.test_client()
    webhook = make.webhook(make.endpoint(), source,
                           secret=None if source is Source.GENERIC else SECRET,
                           trust_mode="token" if source is Source.GENERIC else "signed")
    numbers = st.one_of(st.integers().map(str), st.sampled_from(["9" * 400, "1e9", "-0", "٣"]))
    stripes = st.builds("t={},v1={}".format, numbers, throwing.header_text())
    values = st.one_of(throwing.header_text(), numbers, stripes).filter(_is_latin)

    @throwing.rounds(40)
    @given(throwing.BROKEN, st.dictionaries(st.sampled_from(NAMES), values, max_size=6), TYPES)
    def throw(body: bytes, headers: dict[str, str], content_type: str) -> None:
        thrown(client.post(webhook.path, data=body, headers=headers, content_type=content_type))

    throw()


def test_no_path_or_method_below_the_ingest_door_makes_an_accident(app: Flask, make: Make) -> None:
    client = app.test_client()
    webhook = make.webhook(make.endpoint())
    tails = st.one_of(throwing.path_parts(), st.just(webhook.token))

    @throwing.rounds(60)
    @given(st.data())
    def throw(data: st.DataObject) -> None:
        ask = data.draw(throwing.request(tails.map("/webhooks/w/{}".format), "sbk_x"))
        thrown(ask(client))

    throw()


def _is_latin(text: str) -> bool:
    return all(ord(letter) < 256 for letter in text)
