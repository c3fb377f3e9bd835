"""What a request to a webhook is: a delivery, a handshake, or refused; decided on values."""

from __future__ import annotations

import hashlib
import hmac
import json
from urllib.parse import urlencode
from uuid import UUID

import pytest

from app.domain.deliveries import Arrival, Delivery, Handshake, Judgement, Refused, Webhook, judge
from app.domain.redaction import REDACTED, redact
from app.domain.signatures import Reason

HOOK = UUID(int=7)
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
DEEP = b'{"a":' * 100 + b"1" + b"}" * 100


def webhook(source: str = "generic") -> Webhook:
    """A webhook with the secret `s`."""
    return Webhook(
        id=HOOK, endpoint_id=UUID(int=8), source_type=source, target_queue="inbox",
        target_team_queue_id=None, ingest_token="t0ken", secret="s", at=1000,
    )


def arrive(source: str, body: bytes, **headers: str) -> Judgement:
    """Judge a body that is rightly signed for a forge."""
    signed = {"X-Hub-Signature-256": "sha256=" + hmac.new(b"s", body, "sha256").hexdigest()}
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return judge(webhook(source), Arrival(headers=signed | named, body=body, source_ip=None))


def delivery(source: str, body: bytes, **headers: str) -> Delivery:
    """Judge a body that must be a delivery."""
    judged = arrive(source, body, **headers)
    assert isinstance(judged, Delivery), judged
    return judged


@pytest.mark.parametrize("source", ["github", "gitea"])
@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"null", b"{", b"\xff{}", b"{} {}", b"NaN",
                                  b'{"a":NaN}', b"[" * 100_000])
def test_a_forge_body_that_is_not_a_json_object_is_malformed(source: str, body: bytes) -> None:
    assert arrive(source, body) == Refused(reason=Reason.MALFORMED)


@pytest.mark.parametrize(
    "body",
    [b'{"a":"\\u0000"}', b'{"a":"\\ud800"}', DEEP, b'{"a":1e999}',
     b'{"a":' + b"9" * 5000 + b"}"],
    ids=["nul", "surrogate", "deep", "huge float", "huge integer"],
)
def test_an_object_the_store_cannot_hold_stays_as_bytes(body: bytes) -> None:
    judged = delivery("github", body, X_GitHub_Event="issues")

    assert (judged.payload, judged.is_json, judged.body) == (None, False, body)
    assert judged.title == "github issues"


def test_what_the_store_cannot_hold_is_still_titled() -> None:
    body = b'{"action":"opened","issue":{"number":41,"title":"A \\u0000 in it"}}'

    judged = delivery("github", body, X_GitHub_Event="issues")

    assert (judged.title, judged.is_json) == ("issue #41 opened: A in it", False)


@pytest.mark.parametrize("body", [b"", b"plain", b"\x00\xff", b"{"])
def test_a_generic_body_need_not_be_json(body: bytes) -> None:
    judged = delivery("generic", body)

    assert (judged.payload, judged.is_json, judged.body) == (None, False, body)
    assert (judged.title, judged.verified) == ("generic delivery", False)


def test_json_null_is_json() -> None:
    judged = delivery("generic", b"null")

    assert (judged.payload, judged.is_json) == (None, True)


def test_the_form_field_payload_is_the_body_and_the_signature_covers_the_raw_one() -> None:
    document = {"action": "opened", "issue": {"number": 41, "title": "Fähre & Kai+Kran"}}
    body = urlencode({"payload": json.dumps(document, ensure_ascii=False)}).encode()

    judged = delivery("github", body, X_GitHub_Event="issues", **FORM)

    assert judged.payload == document
    assert judged.title == "issue #41 opened: Fähre & Kai+Kran"
    assert judged.body == body
    assert judged.external_id == f"{HOOK}:sha256:{hashlib.sha256(body).hexdigest()}"


@pytest.mark.parametrize("body", [b"", b"other=1", b"payload", b"payload=%7B", b"&" * 5000])
def test_a_form_without_a_json_payload_is_no_object(body: bytes) -> None:
    assert arrive("github", body, **FORM) == Refused(reason=Reason.MALFORMED)


def test_without_the_form_type_a_payload_field_is_nothing_special() -> None:
    assert arrive("github", b"payload=%7B%7D", Content_Type="text/plain") == (
        Refused(reason=Reason.MALFORMED)
    )


@pytest.mark.parametrize("source", ["github", "gitea"])
@pytest.mark.parametrize("header", ["X_GitHub_Event", "X_Gitea_Event"])
def test_a_ping_is_greeted(source: str, header: str) -> None:
    judged = arrive(source, b'{"zen":"Keep it simple","hook_id":1}', **{header: "ping"})

    assert isinstance(judged, Handshake)
    assert (judged.status, judged.body) == (202, {"ping": True})


def test_a_generic_ping_is_a_delivery() -> None:
    assert delivery("generic", b"{}", X_GitHub_Event="ping").title == "generic delivery"


@pytest.mark.parametrize(
    ("source", "headers", "key"),
    [
        ("github", {"X_GitHub_Delivery": "a", "X_Gitea_Delivery": "b"}, "a"),
        ("gitea", {"X_GitHub_Delivery": "a", "X_Gitea_Delivery": "b"}, "a"),
        ("gitea", {"X_Gitea_Delivery": "b"}, "b"),
        ("github", {"X_Delivery_Id": "c"}, None),
        ("generic", {"X_Delivery_Id": "c", "Webhook_Id": "d"}, "c"),
        ("generic", {"Webhook_Id": "d"}, "d"),
        ("generic", {"Webhook_Id": "d" * 256}, "d" * 256),
        ("generic", {"Webhook_Id": "d" * 257}, None),
        ("github", {"X_GitHub_Delivery": "d" * 3000}, None),
        ("generic", {"Webhook_Id": "  "}, None),
        ("generic", {"Webhook_Id": "a\x00b"}, None),
        ("generic", {}, None),
    ],
)
def test_the_key_is_the_senders_id_else_the_hash(
    source: str, headers: dict[str, str], key: str | None
) -> None:
    judged = delivery(source, b"{}", **headers)

    assert judged.external_id == f"{HOOK}:{key or 'sha256:' + hashlib.sha256(b'{}').hexdigest()}"


def test_secrets_in_headers_are_redacted_before_anything_is_stored() -> None:
    secrets = ["X-Hub-Signature", "X-Hub-Signature-256", "X-Gitea-Signature", "Stripe-Signature",
               "X-Slack-Signature", "Authorization", "Cookie", "X-Api-Key", "X-Webhook-Token"]
    headers = {name.upper(): "hush" for name in secrets} | {
        "Referer": "https://x.example/?a=1&token=hush&b=2",
        "X-Url": "/go?token=hush",
        "X-Original-Uri": "/webhooks/w/hush?token=hush",
        "User-Agent": "GitHub-Hookshot/1",
        "X-Odd": "nul \x00 and half \udc80",
    }

    kept = redact(headers)

    assert "hush" not in repr(kept)
    assert {kept[name.upper()] for name in secrets} == {REDACTED}
    assert kept["Referer"] == f"https://x.example/?a=1&token={REDACTED}&b=2"
    assert kept["User-Agent"] == "GitHub-Hookshot/1"
    assert kept["X-Odd"] == "nul \ufffd and half ?"


def test_an_odd_event_name_becomes_one_line() -> None:
    judged = delivery("github", b"{}", X_GitHub_Event="is\x00sues\x1b" + "x" * 5000)

    assert judged.event_type is not None
    assert judged.event_type.isprintable()
    assert len(judged.event_type) < 200
