"""What one process tells the others after a commit: which queues and endpoints to look at again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

CHANNEL = "queue_changed"
PAYLOAD_LIMIT = 7_999  # bytes; Postgres refuses a payload of 8000

_KINDS = ("changed", "ready", "reopened", "endpoints")

Noted = tuple[str, int | UUID]
"""One thing to tell: a kind of the payload, and the id of a queue or an endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one NOTIFY said; `everything` after a reconnect, when notices may have been lost.

    A Change that names nothing is a NOTIFY all the same: timers re-arm on it (push.md, "NOTIFY").
    """

    changed: frozenset[int] = frozenset()
    ready: frozenset[int] = frozenset()
    reopened: frozenset[int] = frozenset()
    endpoints: frozenset[UUID] = frozenset()
    everything: bool = False

    @property
    def claimable(self) -> frozenset[int]:
        """The queues a waiting claim_next should look at again."""
        return self.ready | self.reopened

    @property
    def names_nothing(self) -> bool:
        """Whether only the clock may have moved."""
        named = self.changed or self.ready or self.reopened or self.endpoints
        return not (named or self.everything)


Subscriber = Callable[[Change], None]


class Feed(Protocol):
    """Where a verb reports what it changed, AFTER its commit; never blocks, never raises (R54)."""

    def changed(self, *queue_ids: int) -> None:
        """Note queues whose todos changed in any other way than below."""

    def ready(self, *queue_ids: int) -> None:
        """Note queues in which a todo became pending."""

    def reopened(self, *queue_ids: int) -> None:
        """Note queues with a policy that may admit again."""

    def endpoints(self, *endpoint_ids: UUID) -> None:
        """Note endpoints revoked or expired, or whose presence changed or digest is owed."""


def pack(noted: Iterable[Noted]) -> tuple[str, list[Noted]]:
    """Return the payload for as many of `noted`, in order, as fit, and the ones it carries."""
    lists: dict[str, list[str]] = {}
    carried: list[Noted] = []
    size = 2
    for kind, identity in noted:
        text = str(identity) if isinstance(identity, int) else f'"{identity}"'
        # A new list costs its name, two quotes, a colon, two brackets and a comma.
        size += len(text) + 1 + (0 if kind in lists else len(kind) + 6)
        if size > PAYLOAD_LIMIT:
            break
        lists.setdefault(kind, []).append(text)
        carried.append((kind, identity))
    body = ",".join(f'"{kind}":[{",".join(lists[kind])}]' for kind in _KINDS if kind in lists)
    return "{" + body + "}", carried


def parse(payload: str) -> Change | None:
    """Return what a payload says, None when it is not ours. Unknown keys are a newer process's."""
    try:
        said = json.loads(payload)
        if not isinstance(said, dict):
            return None
        changed, ready, reopened = (_numbers(said.get(kind, [])) for kind in _KINDS[:3])
        endpoints = frozenset(UUID(identity) for identity in _texts(said.get("endpoints", [])))
    except (ValueError, RecursionError):
        return None
    return Change(changed=changed, ready=ready, reopened=reopened, endpoints=endpoints)


def _numbers(value: object) -> frozenset[int]:
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise ValueError("not a list of queue ids")
    return frozenset(value)


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("not a list of endpoint ids")
    return value
