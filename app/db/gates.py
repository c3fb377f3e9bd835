"""One caller at a time per budgeted queue and process, first come first served.

For speed only: callers wait here without a connection instead of holding one in a lock wait. The
limit itself is kept by the policy's row lock in the database.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator

PATIENCE_SECONDS = 5.0


class GateTimeout(Exception):
    """The turn did not come in time."""


class Deadline:
    """What is left of the time that one claim transaction has for its gate and all its locks."""

    def __init__(self, seconds: float = PATIENCE_SECONDS) -> None:
        self._ends_at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left; never negative."""
        return max(self._ends_at - time.monotonic(), 0.0)

    def left_ms(self) -> int:
        """Milliseconds left, at least 1: Postgres reads a lock_timeout of 0 as no limit."""
        return max(int(self.left() * 1000), 1)


class Turn:
    """The one inside a gate."""

    def __init__(self, gates: Gates, queue_id: int, turn: threading.Event) -> None:
        self._gates = gates
        self._queue_id = queue_id
        self._turn = turn

    @property
    def has_waiter(self) -> bool:
        """Whether somebody stands behind."""
        return self._gates.has_waiter(self._queue_id)

    def leave(self) -> None:
        """Let the next one in before the block ends."""
        self._gates.leave(self._queue_id, self._turn)


class Gates:
    """The gates of one process. A threading.Semaphore would not do: it is not fair."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[int, deque[threading.Event]] = {}

    @contextlib.contextmanager
    def entered(self, queue_id: int, deadline: Deadline) -> Iterator[Turn]:
        """Hold the queue's gate. Raises GateTimeout when the turn does not come in time.

        The one inside may leave before the block ends, once its locks are gone.
        """
        turn = threading.Event()
        with self._lock:
            line = self._lines.setdefault(queue_id, deque())
            line.append(turn)
            if len(line) == 1:
                turn.set()
        try:
            if not turn.wait(deadline.left()):
                raise GateTimeout
            yield Turn(self, queue_id, turn)
        finally:
            self.leave(queue_id, turn)

    def has_waiter(self, queue_id: int) -> bool:
        """Whether somebody stands behind the one inside."""
        with self._lock:
            return len(self._lines.get(queue_id, ())) > 1

    def leave(self, queue_id: int, turn: threading.Event) -> None:
        """Let the next one in; harmless when this turn has left already."""
        with self._lock:
            line = self._lines.get(queue_id)
            if line is None or turn not in line:
                return
            line.remove(turn)
            if line:
                line[0].set()
            else:
                del self._lines[queue_id]
