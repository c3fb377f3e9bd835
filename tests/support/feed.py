"""A change feed that remembers what it was told, and passes it on when there is a listener."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from app.db.changes import Feed


@dataclass(slots=True)
class RecordingFeed:
    """What the verbs told, in order, as (kind, ids)."""

    onward: Feed | None = None
    told: list[tuple[str, tuple[object, ...]]] = field(default_factory=list)

    def ids(self, kind: str) -> list[object]:
        """Every id told under one kind, in order."""
        return [identity for name, ids in self.told if name == kind for identity in ids]

    def changed(self, *queue_ids: int) -> None:
        """Remembers queues whose counts moved."""
        self.told.append(("changed", queue_ids))
        if self.onward:
            self.onward.changed(*queue_ids)

    def ready(self, *queue_ids: int) -> None:
        """Remembers queues that gained claimable work."""
        self.told.append(("ready", queue_ids))
        if self.onward:
            self.onward.ready(*queue_ids)

    def reopened(self, *queue_ids: int) -> None:
        """Remembers queues that may admit again."""
        self.told.append(("reopened", queue_ids))
        if self.onward:
            self.onward.reopened(*queue_ids)

    def endpoints(self, *endpoint_ids: UUID) -> None:
        """Remembers endpoints that were revoked or changed."""
        self.told.append(("endpoints", endpoint_ids))
        if self.onward:
            self.onward.endpoints(*endpoint_ids)
