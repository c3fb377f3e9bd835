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
class QueueBacklog:
    """What waits in one queue, by its display name; the age is in seconds."""

    queue_id: int
    queue: str
    pending: int
    oldest_pending_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """An endpoint came in and work waits, queue by queue; `reason` is a digest reason."""

    endpoint_id: UUID
    reason: str
    waiting: tuple[QueueBacklog, ...]

    @property
    def pending(self) -> int:
        """How many todos wait in all of them."""
        return sum(each.pending for each in self.waiting)

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues' names in order."""
        return tuple(sorted(each.queue for each in self.waiting))

    @property
    def oldest_pending_seconds(self) -> int:
        """The age of the oldest todo of all."""
        return max((each.oldest_pending_seconds for each in self.waiting), default=0)


class Outbox(Protocol):
    """Takes notices for the hook workers of this process; never blocks, never raises."""

    def offer(self, notice: Ready | Backlog) -> None:
        """Take one notice; what does not fit is dropped and counted (push.md, "Notify hooks")."""


class NoOutbox:
    """The outbox of a process that calls no hooks: a command line, a migration."""

    def offer(self, notice: Ready | Backlog) -> None:
        """Let it go."""
