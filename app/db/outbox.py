"""Where a verb hands over what notify hooks are to be told, after its commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A push-eligible todo in an admitted queue became ready; `why` is `created` or `requeued`."""

    todo_id: str
    queue_id: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """An endpoint came in and work waits; `reason` is a digest reason. Ages in seconds."""

    endpoint_id: UUID
    reason: str
    pending: int
    queues: tuple[str, ...]
    oldest_pending_seconds: int


class Outbox(Protocol):
    """Takes notices for the hook workers of this process; never blocks, never raises."""

    def offer(self, notice: Ready | Backlog) -> None:
        """Take one notice; what does not fit is dropped and counted (push.md, "Notify hooks")."""


class NoOutbox:
    """The outbox of a process that calls no hooks: a command line, a migration."""

    def offer(self, notice: Ready | Backlog) -> None:
        """Let it go."""
