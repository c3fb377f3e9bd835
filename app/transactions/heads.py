"""What a peek sees: the oldest claimable todos of each granted queue, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.transactions.picking import Kind


@dataclass(frozen=True, slots=True)
class Head:
    """A queue's oldest pending todo and its oldest due retry; at least one of them is there."""

    queue_id: int
    name: str
    has_policy: bool
    pending_at: datetime | None
    pending_id: str | None
    due_at: datetime | None
    due_id: str | None


@dataclass(frozen=True, slots=True)
class Queue:
    """A granted queue, as the peek found it."""

    queue_id: int
    name: str
    has_policy: bool


def oldest_first(heads: Sequence[Head]) -> list[tuple[Kind, Head]]:
    """The heads in the order in which they are claimed (R48)."""
    tries = []
    for head in heads:
        if head.pending_at and head.pending_id:
            tries.append((head.pending_at, head.pending_id, Kind.PENDING, head))
        if head.due_at and head.due_id:
            tries.append((head.due_at, head.due_id, Kind.DUE, head))
    tries.sort(key=lambda each: each[:2])
    return [(kind, head) for _, _, kind, head in tries]
