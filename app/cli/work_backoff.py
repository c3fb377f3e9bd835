"""Ever longer pauses between tries."""

from __future__ import annotations

import random
import threading


class Backoff:
    """Ever longer pauses with jitter, so that a fleet does not return in step."""

    def __init__(self, *, first: float = 0.25, most: float = 15.0):
        self._first = self._next = first
        self._most = most

    def pause(self, until: threading.Event, *, at_least: float | None = None) -> None:
        """Wait before the next try, at least as long as the server asked; `until` cuts it short."""
        until.wait(max(at_least or 0.0, self._next * random.uniform(0.5, 1.0)))
        self._next = min(self._next * 2, self._most)

    def reset(self) -> None:
        """It worked: the next pause is the shortest again."""
        self._next = self._first
