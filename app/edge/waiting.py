"""The one budget of waiting threads per process, and the wait of claim_next (R58, R67)."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Protocol

from app.db.listener import Listener
from app.db.watches import Watch
from app.domain.callers import Endpoint
from app.edge import client
from app.transactions.claims import Claimed, NothingClaimed

BUDGET = 192
WAITS_PER_ENDPOINT = 32
AGENT_STREAMS_PER_ENDPOINT = 8
BOARD_STREAMS_PER_SESSION = 4

_LOOK = 1.0  # seconds between two looks at the client of a waiting call
_LEAST = 0.05  # seconds until a boundary, at least: a clock that stands still makes no busy loop


class WaitingBudget:
    """Counts the threads of this process that only wait: streams and long polls together.

    192 of 256 threads, so that idle waiters never stop the site (dependencies.md 2.2).
    """

    def __init__(self, total: int = BUDGET) -> None:
        """`total` threads may wait at once."""
        self._total = total
        self._lock = threading.Lock()
        self._taken: Counter[tuple[str, Hashable]] = Counter()
        self._ending = threading.Event()

    def enter(self, kind: str, owner: Hashable, cap: int) -> Seat | None:
        """Take a seat, or None: `owner` already has `cap` of this `kind`, or the budget is spent.

        Use the seat as a context manager, or leave() it; leaving twice is harmless.
        """
        key = (kind, owner)
        with self._lock:
            if self._taken.total() >= self._total or self._taken[key] >= cap:
                return None
            self._taken[key] += 1
        return Seat(self, key)

    def leave(self, key: tuple[str, Hashable]) -> None:
        """Give one seat back; Seat calls this once."""
        with self._lock:
            self._taken[key] -= 1
            if not self._taken[key]:
                del self._taken[key]

    @property
    def taken(self) -> int:
        """How many threads wait now."""
        with self._lock:
            return self._taken.total()

    def close(self) -> None:
        """Ask every waiter to come to its end within a second, because the process stops."""
        self._ending.set()

    @property
    def is_closed(self) -> bool:
        """Whether waiters should come to their end."""
        return self._ending.is_set()


class Seat:
    """One place in the budget, given back once."""

    def __init__(self, budget: WaitingBudget, key: tuple[str, Hashable]) -> None:
        """Made by WaitingBudget.enter."""
        self._budget = budget
        self._key: tuple[str, Hashable] | None = key

    def leave(self) -> None:
        """Give the place back."""
        key, self._key = self._key, None
        if key is not None:
            self._budget.leave(key)

    def __enter__(self) -> Seat:
        """Hold the place."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the place back."""
        self.leave()


class Parts(Protocol):
    """What waiting needs of the process's shared parts (EdgeState has them)."""

    @property
    def listener(self) -> Listener:
        """Hears of todos that became ready."""

    @property
    def waiting(self) -> WaitingBudget:
        """Bounds the threads that wait."""


Pick = Callable[[], Claimed | NothingClaimed]


def wait_for_claim(
    parts: Parts,
    endpoint: Endpoint,
    wait_seconds: int,
    pick: Pick,
    queues: Callable[[], tuple[int, ...]],
    *,
    gone: Callable[[], bool] = client.is_gone,
) -> Claimed | NothingClaimed:
    """Claim the next todo, waiting for one up to `wait_seconds` (0..30) when none is there (R58).

    `pick` tries once; `queues` names the queue ids to listen to. Between two wake-ups nothing is
    asked of the database and no connection is held. A wake-up is a todo that became ready, a queue
    that may admit again, or the end of an exhausted window, by the database's clock. Over the
    budget of 192, or 32 per endpoint, the wait counts as 0. When the client vanishes the wait ends
    and claims nothing (R12).
    """
    found = pick()
    if wait_seconds <= 0 or isinstance(found, Claimed):
        return found
    ends_at = time.monotonic() + wait_seconds
    seat = parts.waiting.enter("claim_next", endpoint.id, WAITS_PER_ENDPOINT)
    if seat is None:
        return found
    # Watch first, then look again: what became ready after the first look is not missed.
    with seat, parts.listener.watch(queues(), group=endpoint.id) as watch:
        found = _pick(watch, pick)
        while isinstance(found, NothingClaimed):
            end = _wait(watch, _Until(ends_at, _boundary_at(found)), parts.waiting, gone)
            if end is _End.GONE:
                break
            found = _pick(watch, pick)
            if end is _End.DEADLINE:
                break
    return found


class _End(Enum):
    """How one wait ended."""

    WOKEN = "woken"
    DEADLINE = "deadline"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class _Until:
    """Until when to wait, on this process's monotonic clock."""

    deadline: float
    boundary: float | None


def _pick(watch: Watch, pick: Pick) -> Claimed | NothingClaimed:
    """Pick, and take note when the clock is moved meanwhile: the answer may hold a boundary."""
    watch.has_timer = True
    return pick()


def _boundary_at(found: NothingClaimed) -> float | None:
    """When the first exact time of the deferred list comes, or None without one."""
    if found.boundary_in is None:
        return None
    return time.monotonic() + max(found.boundary_in, _LEAST)


def _wait(
    watch: Watch, until: _Until, budget: WaitingBudget, gone: Callable[[], bool]
) -> _End:
    """Wait for a notice, a boundary, the deadline or the client's leaving (looked for each second).

    A pick follows the deadline too: the answer is current, also when a notice was lost.
    """
    watch.expect_timer(expected=until.boundary is not None)
    wakes_at = min(until.deadline, until.boundary or until.deadline)
    while (left := wakes_at - time.monotonic()) > 0 and not budget.is_closed:
        woken = watch.wait(min(left, _LOOK))
        if gone():
            return _End.GONE
        if woken:
            return _End.WOKEN
    return _End.DEADLINE if budget.is_closed or wakes_at == until.deadline else _End.WOKEN
