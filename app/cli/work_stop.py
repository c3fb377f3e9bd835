"""Stopping a worker in two steps: claim no more, then, when the grace is over, work no more."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """Asked once, it lets running commands finish for `grace` seconds; hurried, it does not."""

    def __init__(self, *, grace: float, settle: float):
        self.asked = threading.Event()
        self.given_up = threading.Event()
        self._grace = grace
        self._settle = settle
        self._lock = threading.Lock()
        self._grace_ends = float("inf")
        self._wakes: set[threading.Event] = set()

    def ask(self) -> None:
        """Claim nothing more; commands may run on until the grace is over."""
        self._end_at(time.monotonic() + self._grace)

    def hurry(self) -> None:
        """The grace is over now."""
        self._end_at(time.monotonic())

    def abandon(self) -> None:
        """Neither the commands nor the server are waited for any more."""
        self.hurry()
        self.given_up.set()

    def tick(self) -> None:
        """Give the server up once there was time enough to settle after the grace."""
        if time.monotonic() >= self._grace_ends + self._settle:
            self.given_up.set()

    def grace_left(self) -> float | None:
        """Seconds commands may still run, 0 when none; None while nobody asked to stop."""
        if self._grace_ends == float("inf"):
            return None
        return max(0.0, self._grace_ends - time.monotonic())

    @contextmanager
    def waking(self, wake: threading.Event) -> Iterator[None]:
        """While inside, `wake` is set whenever stopping moves on."""
        with self._lock:
            self._wakes.add(wake)
        try:
            yield
        finally:
            with self._lock:
                self._wakes.discard(wake)

    def _end_at(self, instant: float) -> None:
        with self._lock:
            self._grace_ends = min(self._grace_ends, instant)
            self.asked.set()
            for wake in self._wakes:
                wake.set()
