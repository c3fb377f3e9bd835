"""Waiting for a fact instead of sleeping: the only loop with a pause in it that tests use."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Fact = TypeVar("Fact")


def wait_for(fact: Callable[[], Fact], deadline: float = 10.0, *, what: str = "") -> Fact:
    """Asks `fact` until it answers something true, and returns that.

    `deadline` is in seconds. An AssertionError names the fact (or `what`) that never came true; an
    exception of the fact itself is passed on.
    """
    ends_at = time.monotonic() + deadline
    pause = 0.005
    while True:
        answer = fact()
        if answer:
            return answer
        if time.monotonic() >= ends_at:
            name = what or getattr(fact, "__name__", repr(fact))
            raise AssertionError(f"not true within {deadline} s: {name} (last answer {answer!r})")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)
