"""Deliveries that wait for their time: bounded, in memory, the earliest first."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from dataclasses import dataclass

from app.domain.hooks import Verdict
from app.transactions.hook_calls import Message, Owed


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A notification on its way; `attempts` were made with `message`, the last ended as `last`."""

    owed: Owed
    attempts: int = 0
    message: Message | None = None
    last: Verdict | None = None


class Deliveries:
    """Takes at most `most` waiting deliveries, hands each to one worker when it is due."""

    def __init__(self, most: int) -> None:
        """Is open until finish() or close()."""
        self._most = most
        self._waiting: list[tuple[float, int, Delivery]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._is_finishing = False
        self._is_closed = False

    def put(self, delivery: Delivery, *, after: float = 0.0) -> bool:
        """Let it be taken `after` seconds from now; False when there is no room.

        One that was tried before always finds room: its first attempt had it.
        """
        with self._changed:
            if self._is_closed or (not delivery.attempts and len(self._waiting) >= self._most):
                return False
            due_at = time.monotonic() + after
            heapq.heappush(self._waiting, (due_at, next(self._numbers), delivery))
            self._changed.notify()
        return True

    def take(self) -> Delivery | None:
        """Wait for the next that is due, and take it; None at the end."""
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                if self._waiting and self._waiting[0][0] <= now:
                    return heapq.heappop(self._waiting)[2]
                if self._is_finishing:
                    return None
                self._changed.wait(self._waiting[0][0] - now if self._waiting else None)
        return None

    def finish(self) -> None:
        """Hand out what is due, and wait for nothing more."""
        with self._changed:
            self._is_finishing = True
            self._changed.notify_all()

    def close(self) -> int:
        """End every take(), now and later; how many are let go of."""
        with self._changed:
            self._is_closed = True
            left = len(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        return left
