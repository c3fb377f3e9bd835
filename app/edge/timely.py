"""A question that may hang gets a thread and a deadline, so that whoever asks does not hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class TooSlow(Exception):
    """No answer came in time; the question goes on by itself."""


class Question(Generic[Answer]):
    """One question, asked by one thread at a time however many want to know."""

    def __init__(self, ask: Callable[[], Answer]) -> None:
        """Asks nothing yet."""
        self._ask = ask
        self._turn = threading.Lock()

    def begin(self, seconds: float) -> Callable[[], Answer]:
        """Start asking; the function returned waits for the answer until `seconds` from now.

        It raises TooSlow, or what the question raised.
        """
        ends_at = time.monotonic() + seconds
        asked = _Asked(self._ask, self._turn, ends_at)
        threading.Thread(target=asked.run, name="timely", daemon=True).start()
        return asked.answer


class _Asked(Generic[Answer]):
    def __init__(
        self, ask: Callable[[], Answer], turn: threading.Lock, ends_at: float
    ) -> None:
        self._ask = ask
        self._turn = turn
        self._ends_at = ends_at
        self._is_done = threading.Event()
        self._answers: list[Answer] = []
        self._fault: Exception | None = None

    def run(self) -> None:
        """Wait for the turn, no longer than the deadline: a question that hangs holds it."""
        if not self._turn.acquire(timeout=max(self._ends_at - time.monotonic(), 0)):
            return
        try:
            self._answers.append(self._ask())
        except Exception as fault:
            self._fault = fault
        finally:
            self._turn.release()
            self._is_done.set()

    def answer(self) -> Answer:
        """What came in time; raises TooSlow or the question's own fault."""
        if not self._is_done.wait(max(self._ends_at - time.monotonic(), 0)):
            raise TooSlow
        if self._fault is not None:
            raise self._fault
        return self._answers[0]
