"""What a worker makes of `deferred`: which of its queues rest, and until when (issue B).

An exact time is kept: the queue rests until then. An owner may raise its budget meanwhile: a bell
says so while the doorbell stream is up, else the queue is looked at every half minute. Anything
else is asked again after ever longer pauses with jitter, or when its bell rings.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.cli.output import Answer, listed
from app.domain.values import Json

LONGEST_REST = 30.0  # seconds; then one look, which also waits for an owner who opens the queue
REST_FOR_BELLS = 600.0  # the same with a stream: the bell may have gone to another worker
QUIET = 60.0  # between looks while a bell is expected: it may have been lost, or be somebody else's
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 8.0  # between looks that wait themselves: a slot may free at any time
SPREAD = 0.25  # seconds after an exact time, so that a fleet does not come back in one instant
AGREES = 2.0  # a local clock no further than this from the server's tells the fraction of a second


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """One queue whose policy admits no claim now.

    `wait` is the seconds from the answer to `eligible_at` by the server's own clock, and None
    unless that time is exact and lay ahead. `eligible_at` may be a mere hint.
    """

    queue: str
    reason: str
    eligible_at: datetime | None
    exact: bool
    wait: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """No todo was claimed; `deferred` are the queues that have work but admit no claim."""

    deferred: tuple[Deferred, ...] = ()


def heard(answer: Answer) -> tuple[Deferred, ...]:
    """The deferred queues of an empty claim_next, each wait measured from this moment."""
    now = _server_now(answer.at)
    return tuple(_deferred(one, now) for one in listed(answer.body, "deferred"))


class Rests:
    """The queues of one lane that rest, each until a moment of the monotonic clock."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._pauses: dict[str, float] = {}

    def note(
        self, queues: Iterable[str], deferred: Sequence[Deferred], *, has_bells: bool = False
    ) -> None:
        """`queues` were asked and gave nothing: what is deferred rests, the others do not.

        `has_bells`: a bell will end the rest, so that it may be long.
        """
        refused = {one.queue: one for one in deferred}
        for queue in queues:
            one = refused.get(queue)
            if one is None:
                self.end(queue)
            else:
                self._until[queue] = time.monotonic() + self._seconds(one, has_bells=has_bells)

    def end(self, queue: str) -> None:
        """The queue gave a todo, or holds nothing that waits for its policy."""
        self._until.pop(queue, None)
        self._pauses.pop(queue, None)

    def wake(self) -> None:
        """All may be asked now; the pauses of those that told no time go on growing."""
        self._until.clear()

    def awake(self, queues: Iterable[str]) -> list[str]:
        """Those of `queues` that may be asked now."""
        now = time.monotonic()
        return [queue for queue in queues if self._until.get(queue, now) <= now]

    def left(self, queues: Sequence[str]) -> float:
        """Seconds until the first of `queues` may be asked; 0 when one may be now."""
        if not queues:
            return 0.0
        now = time.monotonic()
        return max(0.0, min(self._until.get(queue, now) for queue in queues) - now)

    def _seconds(self, one: Deferred, *, has_bells: bool) -> float:
        if one.wait is not None:
            self._pauses.pop(one.queue, None)
            longest = REST_FOR_BELLS if has_bells else LONGEST_REST
            return min(one.wait + random.uniform(0, SPREAD), longest)
        if has_bells and one.reason in _RINGS:
            return QUIET * random.uniform(0.8, 1.0)
        pause = self._pauses.get(one.queue, FIRST_PAUSE)
        self._pauses[one.queue] = min(pause * 2, LONGEST_PAUSE)
        return pause * random.uniform(0.5, 1.0)


def why(one: Deferred) -> str:
    """Why a queue's todos wait, and until when: in UTC, and by this machine's wall clock."""
    reason = _REASONS.get(one.reason, f"admits no claim now ({one.reason})")
    if one.eligible_at is None or not one.exact:
        return f"Queue {one.queue} {reason}; its todos wait."
    local = one.eligible_at.astimezone()
    at = f"{one.eligible_at:%Y-%m-%dT%H:%M:%SZ}"
    here = f"{local:%Y-%m-%d %H:%M:%S %Z}"
    return f"Queue {one.queue} {reason}; its todos wait until {at} ({here} here)."


_RINGS = frozenset({"paused", "window_exhausted", "in_flight_full"})  # it rings when that is over
_REASONS = {
    "paused": "is paused",
    "window_exhausted": "has used up its budget",
    "in_flight_full": "has as many todos in flight as it admits",
    "admission_unavailable": "cannot judge its budget now",
}


def _deferred(one: dict[str, Json], now: datetime) -> Deferred:
    at, exact = _instant(one.get("next_eligible_at")), one.get("exact") is True
    seconds = (at - now).total_seconds() if at is not None and exact else 0.0
    return Deferred(
        queue=str(one.get("queue")), reason=str(one.get("reason")), eligible_at=at, exact=exact,
        wait=seconds if seconds > 0 else None,
    )  # fmt: skip


def _server_now(said: datetime | None) -> datetime:
    """The server's clock: its Date header, to the fraction by ours when the two agree."""
    ours = datetime.fromtimestamp(time.time(), UTC)
    if said is None or abs((ours - said).total_seconds()) <= AGREES:
        return ours
    return said


def _instant(text: Json) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else None
