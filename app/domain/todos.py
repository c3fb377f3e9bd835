"""Todos and attempts: their shapes, leases, retry backoff, and what a worker may say of them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import urlsplit
from uuid import UUID

from app.domain import strictjson
from app.domain.errors import InvalidAttemptInput
from app.domain.values import Json

DEFAULT_LEASE_SECONDS = 300
LONGEST_LEASE_SECONDS = 86_400
SHORTEST_DEFAULT_LEASE_SECONDS = 60
MAX_ATTEMPTS = 5
FIRST_BACKOFF_SECONDS = 30
LONGEST_BACKOFF_SECONDS = 900
DEFAULT_LIST, LONGEST_LIST = 50, 200
DEFAULT_ATTEMPTS, MOST_ATTEMPTS = 20, 50
LONGEST_CLAIMANT_BYTES = 128
LONGEST_SUMMARY_BYTES = 2048
LONGEST_ARTIFACT_BYTES = 512


class State(StrEnum):
    """The four stored states; retry, deferral and dead letter are not states (todos.md)."""

    PENDING = "pending"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """One durable work item; `queue` is its display name (team:<slug>/<name> for a team's)."""

    id: str
    queue_id: int
    queue: str
    queue_name: str
    team: str | None
    endpoint_id: UUID | None
    team_id: UUID | None
    source: str | None
    kind: str | None
    title: str
    payload: Json
    event_id: int | None
    idempotency_key: str | None
    state: str
    owner: str | None
    lease_expires_at: datetime | None
    attempt: int
    max_attempts: int
    next_retry_at: datetime | None
    result: Json
    created_at: datetime
    updated_at: datetime
    claimed_at: datetime | None
    completed_at: datetime | None
    attempts_total: int
    attempts_pruned: int
    has_policy: bool
    claimed_by_endpoint_id: UUID | None

    @property
    def dead_letter(self) -> bool:
        """A failed todo that no retry will take up again."""
        return self.state == State.FAILED and self.next_retry_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The span from one committed claim to the transition that ended its lease (read shape)."""

    seq: int
    attempt: int
    claimer_kind: str
    claimant: str | None
    claimed_at: datetime
    last_heartbeat_at: datetime | None
    ended_at: datetime | None
    outcome: str | None
    disposition: str | None
    summary: str | None
    summary_truncated: bool
    artifact: str | None

    @property
    def died(self) -> bool:
        """The lease ended without a word from its owner."""
        return self.outcome in ("lease_expired", "reaped")


def todo_id(uuid7_hex: str) -> str:
    """Spell a todo's id from the 32 hex digits of a uuid7 (data.md, "Work")."""
    return f"td_{uuid7_hex}"


def is_todo_id(text: str) -> bool:
    """Say whether the text could be a todo's id, so that no other text reaches the database."""
    return len(text) == 35 and text.startswith("td_") and set(text[3:]) <= set("0123456789abcdef")


def lease_seconds(call: int | None, endpoint_default: int | None) -> int:
    """The lease a claim or heartbeat gets, in seconds (todos.md, "Lease").

    The call's value when positive (clamped to 86400), else the endpoint's default, else 300.
    """
    if call is not None and call > 0:
        return min(call, LONGEST_LEASE_SECONDS)
    return endpoint_default or DEFAULT_LEASE_SECONDS


def list_limit(asked: int | None) -> int:
    """How many todos a list holds: 1..200 as asked, anything else 50 (agent-api.md)."""
    return asked if asked is not None and 1 <= asked <= LONGEST_LIST else DEFAULT_LIST


def attempts_limit(asked: int | None) -> int:
    """How many attempts get_todo shows: 20 when not asked, at most 50 (agent-api.md)."""
    return min(asked, MOST_ATTEMPTS) if asked is not None and asked > 0 else DEFAULT_ATTEMPTS


def retry_backoff(attempt: int) -> timedelta:
    """How long a failed attempt waits for its retry: 30 s doubling, capped at 15 min."""
    doublings = min(max(attempt, 1) - 1, 10)
    return timedelta(seconds=min(FIRST_BACKOFF_SECONDS << doublings, LONGEST_BACKOFF_SECONDS))


def clean_claimant(text: str | None) -> str | None:
    """Remove control characters and cut to 128 bytes; an empty rest is None."""
    if text is None:
        return None
    kept = "".join(c for c in text if unicodedata.category(c) != "Cc")
    return cut_utf8(kept, LONGEST_CLAIMANT_BYTES) or None


def cut_utf8(text: str, limit: int) -> str:
    """Cut text to at most `limit` bytes of UTF-8 on a character boundary."""
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def cut_summary(text: str | None) -> tuple[str | None, bool]:
    """Cut a summary at 2048 bytes; the second value says whether anything was cut."""
    if not text:
        return None, False
    cut = cut_utf8(text.replace("\x00", ""), LONGEST_SUMMARY_BYTES)
    return cut, len(cut) < len(text.replace("\x00", ""))


def summary_of(result: Json) -> str | None:
    """A summary taken from a result: a text as it is, anything else as JSON, null as nothing."""
    if result is None or isinstance(result, str):
        return result
    return strictjson.dumps(result)


def check_artifact(url: str | None) -> str | None:
    """Return an absolute https URL of at most 512 bytes, or raise InvalidAttemptInput."""
    if url is None:
        return None
    fault = InvalidAttemptInput(
        "artifact must be an absolute https URL of at most 512 bytes.", field="artifact"
    )
    too_long = len(url.encode(errors="replace")) > LONGEST_ARTIFACT_BYTES
    if too_long or not url.isprintable() or " " in url:
        raise fault
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise fault from None
    if parts.scheme != "https" or not host:
        raise fault
    return url
