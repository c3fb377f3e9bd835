"""Inbound signatures: a delivery's headers and raw bytes in, a verdict out (contract ingest.md)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Both ways: a sender's clock may run ahead of the database's as well as behind it.
WINDOW_SECONDS: Final = 300

GITHUB_HEADER: Final = "x-hub-signature-256"
GITEA_HEADER: Final = "x-gitea-signature"
STRIPE_HEADER: Final = "stripe-signature"
SLACK_HEADER: Final = "x-slack-signature"
SLACK_TIMESTAMP_HEADER: Final = "x-slack-request-timestamp"

_DIGEST_HEX: Final = 64
_LONGEST_HEADER: Final = 4096
_MOST_CANDIDATES: Final = 16
_LONGEST_TIMESTAMP: Final = 15
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_DIGITS: Final = frozenset("0123456789")


class Source(StrEnum):
    """The source types a webhook may have."""

    GITHUB = "github"
    GITEA = "gitea"
    STRIPE = "stripe"
    SLACK = "slack"
    GENERIC = "generic"


class TrustMode(StrEnum):
    """What makes a delivery believable: its signature, or knowing the URL."""

    SIGNED = "signed"
    TOKEN = "token"


TRUST: Final[Mapping[Source, TrustMode]] = {
    Source.GITHUB: TrustMode.SIGNED,
    Source.GITEA: TrustMode.SIGNED,
    Source.STRIPE: TrustMode.SIGNED,
    Source.SLACK: TrustMode.SIGNED,
    Source.GENERIC: TrustMode.TOKEN,
}


class Reason(StrEnum):
    """Why a delivery was refused: the vocabulary of switchboard_webhook_verify_failures_total."""

    MISSING_SIGNATURE = "missing_signature"
    MALFORMED_SIGNATURE = "malformed_signature"
    STALE_TIMESTAMP = "stale_timestamp"
    BAD_SIGNATURE = "bad_signature"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    UNKNOWN_WEBHOOK = "unknown_webhook"
    NOT_CONFIGURED = "not_configured"
    UNSUPPORTED_SOURCE = "unsupported_source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Believed:
    """The delivery may go on; `verified` is false when only the URL vouches for it."""

    source: Source
    trust_mode: TrustMode
    verified: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disbelieved:
    """The delivery is refused, for one counted reason."""

    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a signature header says: the signed text's prefix, the digests offered, the time."""

    prefix: bytes
    digests: tuple[str, ...]
    timestamp: int | None


def check_signature(
    source_type: str, secret: str | None, headers: Mapping[str, str], body: bytes, *, at: int
) -> Believed | Disbelieved:
    """Judge one delivery: never raises, whatever the headers hold.

    `headers` has lower-case names; `body` is the raw body; `at` is unix time in seconds, from the
    database's clock. A stale delivery is refused as stale whether or not its digest is right.
    """
    source = _known(source_type)
    if source is None:
        return Disbelieved(reason=Reason.UNSUPPORTED_SOURCE)
    if TRUST[source] is TrustMode.TOKEN:
        return Believed(
            source=source,
            trust_mode=TrustMode.TOKEN,
            verified=False,
            detail="the body is not verified: knowing the URL is the only proof",
        )
    if not secret:
        return Disbelieved(reason=Reason.NOT_CONFIGURED)
    claim = _READERS[source](headers)
    if isinstance(claim, Reason):
        return Disbelieved(reason=claim)
    if claim.timestamp is not None and abs(at - claim.timestamp) > WINDOW_SECONDS:
        return Disbelieved(reason=Reason.STALE_TIMESTAMP)
    if not _matches(claim, secret, body):
        return Disbelieved(reason=Reason.BAD_SIGNATURE)
    return Believed(
        source=source, trust_mode=TrustMode.SIGNED, verified=True, detail="hmac-sha256 ok"
    )


def _known(source_type: str) -> Source | None:
    try:
        return Source(source_type)
    except ValueError:
        return None


def _matches(claim: Claim, secret: str, body: bytes) -> bool:
    mac = hmac.new(secret.encode(), claim.prefix, hashlib.sha256)
    mac.update(body)
    expected = mac.hexdigest()
    matched = False
    for digest in claim.digests:  # every one is compared: which one matched takes the same time
        matched |= hmac.compare_digest(digest.lower(), expected)
    return matched


def _read_github(headers: Mapping[str, str]) -> Claim | Reason:
    return _read_plain(headers.get(GITHUB_HEADER), prefix="sha256=")


def _read_gitea(headers: Mapping[str, str]) -> Claim | Reason:
    if GITEA_HEADER in headers:
        return _read_plain(headers[GITEA_HEADER], prefix="")
    return _read_github(headers)


def _read_plain(header: str | None, *, prefix: str) -> Claim | Reason:
    if header is None:
        return Reason.MISSING_SIGNATURE
    digest = header.removeprefix(prefix)
    if not header.startswith(prefix) or not _is_digest(digest):
        return Reason.MALFORMED_SIGNATURE
    return Claim(prefix=b"", digests=(digest,), timestamp=None)


def _read_stripe(headers: Mapping[str, str]) -> Claim | Reason:
    header = headers.get(STRIPE_HEADER)
    if header is None:
        return Reason.MISSING_SIGNATURE
    if len(header) > _LONGEST_HEADER:
        return Reason.MALFORMED_SIGNATURE
    pairs = [item.strip().partition("=") for item in header.split(",")]
    stamps = [value for name, _, value in pairs if name == "t"]
    digests = tuple(value for name, _, value in pairs if name == "v1")
    if len(stamps) != 1 or not 0 < len(digests) <= _MOST_CANDIDATES:
        return Reason.MALFORMED_SIGNATURE
    timestamp = _timestamp(stamps[0])
    if timestamp is None or not all(_is_digest(digest) for digest in digests):
        return Reason.MALFORMED_SIGNATURE
    # The stamp is signed as it was written, not as we would write it.
    return Claim(prefix=f"{stamps[0]}.".encode(), digests=digests, timestamp=timestamp)


def _read_slack(headers: Mapping[str, str]) -> Claim | Reason:
    stamp, header = headers.get(SLACK_TIMESTAMP_HEADER), headers.get(SLACK_HEADER)
    if header is None or stamp is None:
        return Reason.MISSING_SIGNATURE
    digest = header.removeprefix("v0=")
    timestamp = _timestamp(stamp)
    if timestamp is None or not header.startswith("v0=") or not _is_digest(digest):
        return Reason.MALFORMED_SIGNATURE
    return Claim(prefix=f"v0:{stamp}:".encode(), digests=(digest,), timestamp=timestamp)


def _is_digest(text: str) -> bool:
    return len(text) == _DIGEST_HEX and _HEX.issuperset(text)


def _timestamp(text: str) -> int | None:
    # int() would take signs, spaces, underscores and other scripts' digits.
    if not 0 < len(text) <= _LONGEST_TIMESTAMP or not _DIGITS.issuperset(text):
        return None
    return int(text)


_READERS: Final[Mapping[Source, Callable[[Mapping[str, str]], Claim | Reason]]] = {
    Source.GITHUB: _read_github,
    Source.GITEA: _read_gitea,
    Source.STRIPE: _read_stripe,
    Source.SLACK: _read_slack,
}
