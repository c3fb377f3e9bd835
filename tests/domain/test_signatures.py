"""Signatures against vectors others published and digests computed here, by other means."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from app.domain.signatures import (
    TRUST,
    Believed,
    Disbelieved,
    Reason,
    Source,
    TrustMode,
    check_signature,
)

SECRET = "harbour"
BODY = b'{"tide":"high"}'
NOW = 1_790_000_000

# Slack's documented example (api.slack.com, "Verifying requests from Slack").
SLACK_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
SLACK_STAMP = 1_531_420_618
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
    b"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
    b"&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554"
    b"%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
SLACK_SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"

# GitHub's documented example (docs.github.com, "Validating webhook deliveries").
GITHUB_SECRET = "It's a Secret to Everybody"
GITHUB_BODY = b"Hello, World!"
GITHUB_SIGNATURE = (
    "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

ODD = {
    "empty": "",
    "no prefix": "a" * 64,
    "wrong prefix": "sha1=" + "a" * 64,
    "upper prefix": "SHA256=" + "a" * 64,
    "short": "sha256=" + "a" * 63,
    "long": "sha256=" + "a" * 65,
    "not hex": "sha256=" + "g" * 64,
    "not ascii": "sha256=" + "é" * 64,
    "other digits": "sha256=" + "٣" * 64,
    "spaces": "sha256= " + "a" * 63,
    "twice": "sha256=" + "a" * 64 + ",sha256=" + "a" * 64,
    "huge": "sha256=" + "a" * 1_000_000,
    "surrogate": "sha256=" + "\udc80" * 64,
    "nul": "sha256=" + "\x00" * 64,
}


def digest(message: bytes, secret: str = SECRET) -> str:
    """HMAC-SHA256 by its definition (RFC 2104), without the hmac module."""
    key = secret.encode()
    key = (hashlib.sha256(key).digest() if len(key) > 64 else key).ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in key) + message).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in key) + inner).hexdigest()


def check(source: str, headers: dict[str, str], body: bytes = BODY, *, at: int = NOW) -> object:
    """The verdict with this file's secret: True, or the reason."""
    verdict = check_signature(source, SECRET, headers, body, at=at)
    return verdict.verified if isinstance(verdict, Believed) else verdict.reason


def stripe(stamp: object = NOW, *digests: str) -> dict[str, str]:
    """A Stripe-Signature header; by default the right digest."""
    offered = digests or (digest(f"{stamp}.".encode() + BODY),)
    return {"stripe-signature": ",".join([f"t={stamp}", *(f"v1={one}" for one in offered)])}


def slack(stamp: object = NOW) -> dict[str, str]:
    """Slack's two headers with the right digest."""
    signature = "v0=" + digest(f"v0:{stamp}:".encode() + BODY)
    return {"x-slack-request-timestamp": str(stamp), "x-slack-signature": signature}


def test_our_definition_of_hmac_agrees_with_the_library() -> None:
    assert digest(BODY) == hmac.new(SECRET.encode(), BODY, "sha256").hexdigest()


def test_githubs_documented_vector_verifies() -> None:
    verdict = check_signature(
        "github", GITHUB_SECRET, {"x-hub-signature-256": GITHUB_SIGNATURE}, GITHUB_BODY, at=0
    )

    assert verdict == Believed(
        source=Source.GITHUB, trust_mode=TrustMode.SIGNED, verified=True, detail="hmac-sha256 ok"
    )


def test_slacks_documented_vector_verifies() -> None:
    headers = {
        "x-slack-request-timestamp": str(SLACK_STAMP),
        "x-slack-signature": SLACK_SIGNATURE,
    }

    verdict = check_signature("slack", SLACK_SECRET, headers, SLACK_BODY, at=SLACK_STAMP + 300)

    assert isinstance(verdict, Believed)
    assert verdict.verified


def test_a_literal_stripe_vector_verifies() -> None:
    # printf '1790000000.{"tide":"high"}' | openssl dgst -sha256 -hmac harbour
    literal = "33b17c9c7f264dab0ab83045cccc75cad5833df298e5a4146d7f9530f58f2439"

    assert check("stripe", {"stripe-signature": f"t=1790000000,v1={literal}"}) is True


@pytest.mark.parametrize("source", ["github", "gitea"])
def test_forges_verify_the_raw_body(source: str) -> None:
    headers = {"x-hub-signature-256": "sha256=" + digest(BODY)}

    assert check(source, headers) is True
    assert check(source, headers, BODY + b" ") is Reason.BAD_SIGNATURE
    assert check(source, {"x-hub-signature-256": headers["x-hub-signature-256"].upper()}) is (
        Reason.MALFORMED_SIGNATURE
    )


def test_hex_digits_may_be_of_either_case() -> None:
    assert check("github", {"x-hub-signature-256": "sha256=" + digest(BODY).upper()}) is True


def test_gitea_prefers_its_own_header_and_falls_back_to_githubs() -> None:
    right, wrong = digest(BODY), digest(b"other")

    assert check("gitea", {"x-gitea-signature": right}) is True
    assert check("gitea", {"x-hub-signature-256": f"sha256={right}"}) is True
    assert check(
        "gitea", {"x-gitea-signature": wrong, "x-hub-signature-256": f"sha256={right}"}
    ) is Reason.BAD_SIGNATURE
    assert check("gitea", {"x-gitea-signature": f"sha256={right}"}) is Reason.MALFORMED_SIGNATURE
    assert check("github", {"x-gitea-signature": right}) is Reason.MISSING_SIGNATURE


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_forge_header_is_malformed_and_never_an_exception(odd: str) -> None:
    assert check("github", {"x-hub-signature-256": odd}) is Reason.MALFORMED_SIGNATURE
    gitea = odd.removeprefix("sha256=")
    if gitea != "a" * 64:
        assert check("gitea", {"x-gitea-signature": gitea}) is Reason.MALFORMED_SIGNATURE


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_slack_or_stripe_header_is_malformed(odd: str) -> None:
    stamp = {"x-slack-request-timestamp": str(NOW)}

    assert check("slack", {**stamp, "x-slack-signature": odd}) is Reason.MALFORMED_SIGNATURE
    assert check("stripe", {"stripe-signature": odd}) is Reason.MALFORMED_SIGNATURE
    if odd != "a" * 64:
        assert check("stripe", {"stripe-signature": f"t={NOW},v1={odd}"}) is (
            Reason.MALFORMED_SIGNATURE
        )


@pytest.mark.parametrize(
    "stamp", ["", "now", "-5", "+5", "1e9", "1_0", " 1", "٣", "1" * 16, "1.5", "\udc80", "0x1"]
)
def test_a_timestamp_is_plain_digits_or_the_header_is_malformed(stamp: str) -> None:
    assert check("slack", slack() | {"x-slack-request-timestamp": stamp}) is (
        Reason.MALFORMED_SIGNATURE
    )
    assert check("stripe", {"stripe-signature": f"t={stamp},v1={'a' * 64}"}) is (
        Reason.MALFORMED_SIGNATURE
    )


@pytest.mark.parametrize("source", ["github", "gitea", "stripe", "slack"])
def test_a_signed_source_without_its_header_is_missing_a_signature(source: str) -> None:
    assert check(source, {"content-type": "application/json"}) is Reason.MISSING_SIGNATURE


def test_slack_needs_both_headers() -> None:
    for name in slack():
        headers = slack()
        del headers[name]
        assert check("slack", headers) is Reason.MISSING_SIGNATURE


@pytest.mark.parametrize("headers", [stripe, slack])
@pytest.mark.parametrize(
    ("drift", "verdict"),
    [
        (-301, Reason.STALE_TIMESTAMP),
        (-300, True),
        (0, True),
        (300, True),
        (301, Reason.STALE_TIMESTAMP),
    ],
)
def test_the_window_is_300_seconds_both_ways(
    headers: object, drift: int, verdict: object
) -> None:
    made = stripe(NOW) if headers is stripe else slack(NOW)
    source = "stripe" if headers is stripe else "slack"

    assert check(source, made, at=NOW + drift) is verdict


def test_any_of_stripes_signatures_may_match() -> None:
    right = digest(f"{NOW}.".encode() + BODY)

    assert check("stripe", stripe(NOW, "0" * 64, right)) is True
    assert check("stripe", stripe(NOW, right, "0" * 64)) is True
    assert check("stripe", stripe(NOW, "0" * 64, "1" * 64)) is Reason.BAD_SIGNATURE


def test_stripes_other_schemes_prove_nothing() -> None:
    right = digest(f"{NOW}.".encode() + BODY)

    assert check("stripe", {"stripe-signature": f"t={NOW},v0={right}"}) is (
        Reason.MALFORMED_SIGNATURE
    )
    assert check("stripe", {"stripe-signature": f"t={NOW}, v1={right} ,v0={'0' * 64}"}) is True


def test_stripes_timestamp_is_named_once() -> None:
    right = digest(f"{NOW}.".encode() + BODY)

    assert check("stripe", {"stripe-signature": f"t={NOW},t={NOW},v1={right}"}) is (
        Reason.MALFORMED_SIGNATURE
    )
    assert check("stripe", {"stripe-signature": f"v1={right}"}) is Reason.MALFORMED_SIGNATURE


def test_the_signed_timestamp_cannot_be_exchanged() -> None:
    fresh = stripe(NOW - 1000)["stripe-signature"].replace(str(NOW - 1000), str(NOW))

    assert check("stripe", {"stripe-signature": fresh}) is Reason.BAD_SIGNATURE
    assert check("slack", slack(NOW - 1000) | {"x-slack-request-timestamp": str(NOW)}) is (
        Reason.BAD_SIGNATURE
    )


def test_generic_is_believed_by_its_url_and_says_that_nothing_was_verified() -> None:
    verdict = check_signature("generic", None, {}, BODY, at=NOW)

    assert isinstance(verdict, Believed)
    assert (verdict.verified, verdict.trust_mode) == (False, TrustMode.TOKEN)
    assert "not verified" in verdict.detail


@pytest.mark.parametrize("source", ["github", "gitea", "stripe", "slack"])
@pytest.mark.parametrize("secret", [None, ""])
def test_a_signed_webhook_without_a_secret_is_not_configured(
    source: str, secret: str | None
) -> None:
    headers = {"x-hub-signature-256": "sha256=" + digest(BODY, "")}

    verdict = check_signature(source, secret, headers, BODY, at=NOW)

    assert verdict == Disbelieved(reason=Reason.NOT_CONFIGURED)


@pytest.mark.parametrize("source", ["gitlab", "", "GitHub", "github "])
def test_an_unknown_scheme_is_unsupported(source: str) -> None:
    assert check(source, {}) is Reason.UNSUPPORTED_SOURCE


def test_every_source_has_a_trust_mode() -> None:
    assert set(TRUST) == set(Source)
