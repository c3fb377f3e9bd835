"""Notify hooks: what they are told, when an attempt is repeated, what a failure is called.

Source: contract push.md, "Notify hooks".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from app.domain import strictjson
from app.domain.addresses import AddressRules
from app.domain.bells import neutral
from app.domain.values import Json, rfc3339

MOST_PER_ENDPOINT: Final = 5
LARGEST_BODY_BYTES: Final = 4096
LARGEST_ANSWER_BYTES: Final = 64 * 1024
SECONDS_PER_ATTEMPT: Final = 5.0
FAILURES_UNTIL_DISABLED: Final = 10
RETRY_AFTER: Final = (1.0, 5.0)
"""Seconds before the second and the third attempt, before jitter; there is no fourth."""

_LONGEST_SUMMARY = 200
_LONGEST_WORD = 100  # of kind and source, so that the whole stays within 4 KiB
_RETRIED_STATUSES = frozenset({408, 429})


class Type(StrEnum):
    """What a notification is about."""

    READY = "todo.ready"
    BACKLOG = "todos.backlog"


class Failure(StrEnum):
    """Why an attempt did not deliver: the words of `last_error`."""

    TIMEOUT = "timeout"
    TLS = "tls"
    NETWORK = "network"
    REDIRECT = "redirect"
    HTTP_STATUS = "http_status"
    REJECTED_SSRF = "rejected_ssrf"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRules:
    """What the instance's settings say of hooks: `most` per endpoint (0: none at all), whether
    http will do, and which addresses may be reached.
    """

    most: int = MOST_PER_ENDPOINT
    allows_http: bool = False
    addresses: AddressRules = field(default_factory=AddressRules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How one attempt ended: a status when there was an answer, and why it is no delivery."""

    status: int | None = None
    failure: Failure | None = None

    @property
    def is_retried(self) -> bool:
        """Whether another attempt may help."""
        if self.failure is Failure.HTTP_STATUS:
            status = self.status or 0
            return status in _RETRIED_STATUSES or 500 <= status < 600
        return self.failure in (Failure.TIMEOUT, Failure.NETWORK)

    @property
    def result(self) -> str:
        """The attempt as switchboard_notify_hook_attempts_total counts it (metrics.md)."""
        if self.status is not None:
            return f"{self.status // 100}xx"
        return str(self.failure)


def of_status(status: int) -> Verdict:
    """What an answer's status says; one that HTTP does not know is a fault of the network."""
    if not 200 <= status < 600:
        return Verdict(failure=Failure.NETWORK)
    if status < 300:
        return Verdict(status=status)
    return Verdict(
        status=status, failure=Failure.REDIRECT if status < 400 else Failure.HTTP_STATUS
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyFacts:
    """A todo as a hook is told of it; `queue` is the display name, `attempt` claims so far."""

    todo_id: str
    queue: str
    title: str
    kind: str | None
    source: str | None
    attempt: int


def ready_body(facts: ReadyFacts, *, why: str, endpoint: str, at: datetime) -> str:
    """The JSON of `todo.ready`, at most 4 KiB of UTF-8."""
    body: dict[str, Json] = {
        "type": Type.READY,
        "reason": why,
        "todo_id": facts.todo_id,
        "queue": neutral(facts.queue),
    }
    if facts.kind:
        body["kind"] = neutral(facts.kind)[:_LONGEST_WORD]
    if facts.source:
        body["source"] = neutral(facts.source)[:_LONGEST_WORD]
    body |= {
        "summary": neutral(facts.title)[:_LONGEST_SUMMARY],
        "endpoint": endpoint,
        "attempt": facts.attempt,
        "created_at": rfc3339(at),
    }
    return strictjson.dumps(body)


def backlog_body(
    queues: Iterable[str],
    *,
    reason: str,
    endpoint: str,
    pending: int,
    oldest_pending_seconds: int,
    at: datetime,
) -> str:
    """The JSON of `todos.backlog`, at most 4 KiB of UTF-8: as many queue names as that holds."""
    names = sorted(neutral(queue) for queue in queues)
    while True:
        text = strictjson.dumps({
            "type": Type.BACKLOG,
            "reason": reason,
            "endpoint": endpoint,
            "pending": pending,
            "queues": [*names],
            "oldest_pending_seconds": oldest_pending_seconds,
            "created_at": rfc3339(at),
        })  # fmt: skip
        if len(text.encode("utf-8", "replace")) <= LARGEST_BODY_BYTES:
            return text
        names.pop()
