"""Token buckets of one process: who asks too often is told so before any work is done."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

_MOST_KEYS = 10_000


class TokenBuckets:
    """One bucket per key: `burst` tokens, refilled at `rate` a second.

    Bounded memory: a bucket is forgotten when 10,000 keys were seen after it. That errs towards
    serving; and a bucket idle for burst / rate seconds is full, so forgetting it changes nothing.
    """

    def __init__(
        self, *, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`rate` in tokens per second (above 0), `burst` in tokens; `clock` in seconds."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        # key -> (tokens, read at); the least recently asked first
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, key: Hashable) -> bool:
        """Take one token of the key's bucket; False when it is empty. Never blocks."""
        with self._lock:
            now = self._clock()
            tokens, at = self._buckets.get(key, (float(self._burst), now))
            tokens = min(float(self._burst), tokens + max(now - at, 0.0) * self._rate)
            has_one = tokens >= 1.0
            self._buckets[key] = (tokens - 1.0 if has_one else tokens, now)
            self._buckets.move_to_end(key)
            if len(self._buckets) > _MOST_KEYS:
                self._buckets.popitem(last=False)
            return has_one

    def __len__(self) -> int:
        """How many buckets are remembered."""
        return len(self._buckets)
