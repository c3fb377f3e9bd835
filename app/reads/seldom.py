"""What is logged at most once a minute for each thing it is about."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_EVERY = 60.0
_MOST = 10_000  # things remembered; beyond them all is forgotten and said once more


class Seldom:
    """Says of each key whether a minute has passed since it was last let through."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` is in seconds and never goes back."""
        self._clock = clock
        self._said: dict[object, float] = {}
        self._lock = threading.Lock()

    def is_due(self, key: object) -> bool:
        """True for the first call with `key` and for one a minute after it; from any thread."""
        now = self._clock()
        with self._lock:
            said = self._said.get(key)
            if said is not None and now < said + _EVERY:
                return False
            if len(self._said) >= _MOST:
                self._said.clear()
            self._said[key] = now
            return True
