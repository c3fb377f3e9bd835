"""What one delivery is: judged, unwrapped, keyed and titled before anything is stored (ingest.md).

Everything here is decided from the webhook's facts and the request's bytes; no I/O, no clock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import parse_qs
from uuid import UUID

from app.domain import errors
from app.domain.errors import DomainError
from app.domain.redaction import holdable, redact
from app.domain.signatures import Disbelieved, Reason, Source, TrustMode, check_signature
from app.domain.strictjson import parse_lenient
from app.domain.titles import title_for
from app.domain.titles_text import one_line
from app.domain.values import Json

LARGEST_BODY: Final = 5 * 1024 * 1024

_FORM: Final = "application/x-www-form-urlencoded"
_LONGEST_ID: Final = 256
_LONGEST_CONTENT_TYPE: Final = 255
_MOST_FORM_FIELDS: Final = 1000
_FORGES: Final = frozenset({Source.GITHUB, Source.GITEA})
_OBJECTS_ONLY: Final = _FORGES | {Source.STRIPE}
_FORGE_IDS: Final = ("x-github-delivery", "x-gitea-delivery")
_GENERIC_IDS: Final = (*_FORGE_IDS, "x-delivery-id", "webhook-id")
_EVENT_HEADERS: Final = {
    Source.GITHUB: ("x-github-event", "x-gitea-event"),
    Source.GITEA: ("x-gitea-event", "x-github-event"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A webhook's facts at one instant: `at` is that instant on the database's clock, unix
    seconds; `secret` is in clear, None when the server holds none it can open."""

    id: UUID
    endpoint_id: UUID
    source_type: str
    target_queue: str
    target_team_queue_id: int | None
    ingest_token: str
    secret: str | None
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A request as it came: headers by the name they came with, the raw body."""

    headers: Mapping[str, str]
    body: bytes
    source_ip: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A believed delivery, ready to store; `is_json` is false when `payload` holds nothing."""

    webhook: Webhook
    event_type: str | None
    external_id: str
    trust_mode: TrustMode
    verified: bool
    verify_detail: str
    content_type: str | None
    headers: dict[str, str]
    body: bytes
    source_ip: str | None
    title: str
    payload: Json
    is_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A delivery that persists nothing, and why."""

    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshake:
    """A sender's greeting: answered with `body`, no event and no todo."""

    webhook: Webhook
    status: int
    body: dict[str, Json]


Judgement: TypeAlias = Delivery | Handshake | Refused

_ERRORS: Final[Mapping[Reason, tuple[type[DomainError], str]]] = {
    Reason.UNKNOWN_WEBHOOK: (errors.NotFound, ""),
    Reason.TOO_LARGE: (errors.TooLarge, "A delivery is at most 5 MiB."),
    Reason.UNREADABLE: (errors.InvalidArgument, "The body could not be read to its end."),
    Reason.MALFORMED: (errors.InvalidArgument, "The body must be a JSON object."),
    Reason.MISSING_SIGNATURE: (errors.Unauthenticated, "The delivery carries no signature."),
    Reason.MALFORMED_SIGNATURE: (errors.Unauthenticated, "The signature cannot be read."),
    Reason.STALE_TIMESTAMP: (
        errors.Unauthenticated,
        "The signature's timestamp is more than 300 seconds away.",
    ),
    Reason.BAD_SIGNATURE: (errors.Unauthenticated, "The signature does not match."),
    Reason.NOT_CONFIGURED: (errors.Unavailable, "The webhook has no secret to check with."),
    Reason.UNSUPPORTED_SOURCE: (errors.Unavailable, "The webhook's scheme is not supported."),
}


def refusal(reason: Reason) -> DomainError:
    """The error a sender is answered with (ingest.md, "Refusals")."""
    kind, sentence = _ERRORS[reason]
    return kind(sentence or None)


def judge(webhook: Webhook, arrival: Arrival) -> Judgement:
    """Decide what a request to a webhook is: a delivery, a handshake, or refused. Never raises.

    The signature comes first; nothing of the body is looked at before it holds.
    """
    headers = {name.lower(): text for name, text in arrival.headers.items()}
    verdict = check_signature(
        webhook.source_type, webhook.secret, headers, arrival.body, at=webhook.at
    )
    if isinstance(verdict, Disbelieved):
        return Refused(reason=verdict.reason)
    content = _unwrap(arrival.body, headers.get("content-type", ""))
    payload, is_json = _payload(content)
    # What the store cannot hold may still be JSON: it is read for its title, and kept as bytes.
    document = payload if is_json else _parse_loosely(content)
    if verdict.source in _OBJECTS_ONLY and not isinstance(document, dict):
        return Refused(reason=Reason.MALFORMED)
    event = _event_type(verdict.source, headers, document)
    greeting = _greeting(verdict.source, event, document)
    if greeting is not None:
        return Handshake(webhook=webhook, status=greeting[0], body=greeting[1])
    return Delivery(
        webhook=webhook,
        event_type=event,
        external_id=f"{webhook.id}:{_delivery_id(verdict.source, headers, arrival.body)}",
        trust_mode=verdict.trust_mode,
        verified=verdict.verified,
        verify_detail=verdict.detail,
        content_type=_content_type(headers),
        headers=redact(arrival.headers),
        body=arrival.body,
        source_ip=arrival.source_ip,
        title=title_for(verdict.source, event, document),
        payload=payload,
        is_json=is_json,
    )


def _unwrap(body: bytes, content_type: str) -> bytes:
    """The `payload` field of a form-encoded body, else the body itself."""
    if content_type.partition(";")[0].strip().lower() != _FORM:
        return body
    try:
        fields = parse_qs(
            body.decode("latin-1"),
            keep_blank_values=True,
            encoding="latin-1",
            max_num_fields=_MOST_FORM_FIELDS,
        )
    except ValueError:
        return body
    return fields["payload"][0].encode("latin-1") if "payload" in fields else body


def _payload(content: bytes) -> tuple[Json, bool]:
    value = parse_lenient(content)
    if value is None or isinstance(value, bool | int | float | str | list | dict):
        return value, True
    return None, False


def _parse_loosely(content: bytes) -> object:
    try:
        found: object = json.loads(content.decode(), parse_constant=_refuse, parse_int=_int)
    except (ValueError, RecursionError):
        return None
    return found


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _int(digits: str) -> int | None:
    # Python refuses to read a number of thousands of digits; JSON does not.
    return int(digits) if len(digits) <= _LONGEST_ID else None


def _event_type(source: Source, headers: Mapping[str, str], document: object) -> str | None:
    if source in _EVENT_HEADERS:
        named = next((headers[name] for name in _EVENT_HEADERS[source] if name in headers), "")
        return one_line(named) or None
    if source in (Source.STRIPE, Source.SLACK) and isinstance(document, dict):
        inner = document.get("event")
        # Slack wraps what happened in an envelope of type event_callback.
        if document.get("type") == "event_callback" and isinstance(inner, dict):
            return _text(inner.get("type")) or "event_callback"
        return _text(document.get("type"))
    return None


def _text(value: object) -> str | None:
    return one_line(value) or None if isinstance(value, str) else None


def _greeting(
    source: Source, event: str | None, document: object
) -> tuple[int, dict[str, Json]] | None:
    """Status and body of the answer to a handshake; None for anything else."""
    if source in _FORGES and event == "ping":
        return 202, {"ping": True}
    if source is not Source.SLACK or not isinstance(document, dict):
        return None
    challenge = document.get("challenge")
    if document.get("type") != "url_verification" or not isinstance(challenge, str):
        return None
    return 200, {"challenge": challenge}


def _delivery_id(source: Source, headers: Mapping[str, str], body: bytes) -> str:
    """The sender's own id of the delivery, else the hash of the raw body (ingest.md, "Dedup key").

    Stripe and Slack send none: an unsigned header must not make a replay look new.
    """
    names = _FORGE_IDS if source in _FORGES else _GENERIC_IDS if source is Source.GENERIC else ()
    for name in names:
        found = headers.get(name, "").strip()
        if 0 < len(found) <= _LONGEST_ID and found.isprintable():  # header text is latin-1: bytes
            return found
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _content_type(headers: Mapping[str, str]) -> str | None:
    return holdable(headers.get("content-type", ""))[:_LONGEST_CONTENT_TYPE] or None
