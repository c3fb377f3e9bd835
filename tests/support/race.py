"""Many callers at once: they start together at a barrier and their outcomes come back in order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Stuck(AssertionError):
    """A caller did not come back in time."""


def together(
    callers: int, fn: Callable[[int], Result], *, deadline: float = 60.0
) -> list[Result | BaseException]:
    """Calls `fn(0)` to `fn(callers - 1)` in as many threads, released by one barrier.

    Returns what each call returned, or the exception it raised, in the order of their numbers.
    """
    barrier = threading.Barrier(callers)
    runs = [_Run(fn, number, barrier) for number in range(callers)]
    for run in runs:
        run.thread.start()
    for run in runs:
        run.thread.join(deadline)
        if run.thread.is_alive():
            raise Stuck(f"caller {run.number} of {callers} did not come back in {deadline} s")
    return [run.outcome() for run in runs]


def all_returned(outcomes: list[Result | BaseException]) -> list[Result]:
    """The results of `together` when nobody may have failed; the first exception is raised."""
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


class _Run(Generic[Result]):
    def __init__(
        self, fn: Callable[[int], Result], number: int, barrier: threading.Barrier
    ) -> None:
        self.number = number
        self._fn = fn
        self._barrier = barrier
        self._outcomes: list[Result | BaseException] = []
        self.thread = threading.Thread(target=self._call, name=f"caller-{number}", daemon=True)

    def _call(self) -> None:
        try:
            self._barrier.wait(30)
            self._outcomes.append(self._fn(self.number))
        except BaseException as error:
            self._outcomes.append(error)

    def outcome(self) -> Result | BaseException:
        return self._outcomes[0]
