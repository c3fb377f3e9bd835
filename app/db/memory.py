"""What one process remembers between claims: gates, hints and shared counts. Never a decision."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from app.db.gates import Gates
from app.domain.policy import Policy
from app.domain.windows import Span

_MOST = 10_000
_COUNT_SECONDS = 1.0
_DOUBT_SECONDS = 5.0

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The newest values by queue or endpoint id, bounded; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[int | UUID, Value] = OrderedDict()

    def get(self, queue_id: int | UUID) -> Value | None:
        """The value kept for a queue, or None."""
        with self._lock:
            return self._values.get(queue_id)

    def put(self, queue_id: int | UUID, value: Value) -> None:
        """Keep a value; the oldest go beyond ten thousand."""
        with self._lock:
            self._values[queue_id] = value
            self._values.move_to_end(queue_id)
            if len(self._values) > _MOST:
                self._values.popitem(last=False)

    def pop(self, queue_id: int | UUID) -> Value | None:
        """Take a value out."""
        with self._lock:
            return self._values.pop(queue_id, None)


@dataclass(frozen=True, slots=True)
class Counted:
    """A count of pending todos and when it was made, on this process's own monotonic clock."""

    pending: int
    at: float

    @classmethod
    def now(cls, pending: int) -> Counted:
        """A count made just now."""
        return cls(pending, time.monotonic())

    @property
    def is_fresh(self) -> bool:
        """At most 1 s old, so that refused pollers share one count (R69)."""
        return time.monotonic() - self.at < _COUNT_SECONDS


@dataclass(frozen=True, slots=True)
class Lone:
    """The only queue an endpoint seemed to drain, and from when on to rely on that."""

    queue_id: int
    name: str
    has_policy: bool
    since: float

    @classmethod
    def doubted(cls, lone: Lone) -> Lone:
        """The same, but not before a while has passed: it was wrong, or the queue was empty."""
        return cls(lone.queue_id, lone.name, lone.has_policy, time.monotonic() + _DOUBT_SECONDS)

    @property
    def is_trusted(self) -> bool:
        """Whether to try it."""
        return time.monotonic() >= self.since


@dataclass(frozen=True, slots=True)
class Spent:
    """A window that was exhausted under this policy."""

    policy_id: UUID
    policy: Policy
    span: Span


@dataclass(frozen=True, slots=True)
class Memory:
    """Hints that save a trip when right and cost one when stale; correctness never rests here."""

    gates: Gates = field(default_factory=Gates)
    window_starts: Recent[datetime] = field(default_factory=Recent)
    pending: Recent[Counted] = field(default_factory=Recent)
    lone: Recent[Lone] = field(default_factory=Recent)
    spent: Recent[Spent] = field(default_factory=Recent)
    faults: Recent[bool] = field(default_factory=Recent)
