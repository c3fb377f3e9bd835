"""One lane of a worker: its looks for work, and how it waits between them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.cli.work_agent import Agent, Claimed, GaveUp, Refused
from app.cli.work_bells import Bells
from app.cli.work_deferred import QUIET, Nothing, Rests, why
from app.cli.work_lease import Work
from app.cli.work_turns import Turns
from app.domain.values import rfc3339

WAIT_SECONDS = 30  # the longest poll the server takes
TURN_SECONDS = 2  # the poll on one of several queues, before it is another one's turn
ENDS_THE_WORKER = (400, 401, 403, 404)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """How a worker drains: which queues, how many at a time, one todo or all.

    `bells`: only of a worker that names no queues, for its stream gets bells of all of them.
    """

    queues: tuple[str, ...]
    concurrency: int
    once: bool
    new_agent: Callable[[], Agent]
    work: Work
    bells: Bells | None = None


class Lane:
    """One lane's looks for work. Queues that defer are no failures: they are left to rest."""

    def __init__(self, lanes: Lanes, agent: Agent, turn: int):
        self._lanes = lanes
        self._agent = agent
        self._turns = Turns(lanes.queues, turn)
        self._rests = Rests()
        self._has_looked = False
        self._may_park = False

    def claim_or_say_why_not(self) -> Claimed | Nothing:
        """A todo, or Nothing after one wait or, with bells, one look. Raises what ends a worker."""
        self._may_park = False
        try:
            return self._claim()
        except GaveUp:
            return Nothing()
        except Refused as refusal:
            if refusal.status in ENDS_THE_WORKER:
                raise
            self._lanes.work.speaker.trouble(refusal.sentence)
            return Nothing()

    def rest(self) -> bool:
        """Do nothing while all queues rest, until the first may be asked; False when none does.

        With bells also while a queue is empty, until it rings.
        """
        if self._may_park and self._bells is not None:
            self._park(self._bells)
            return True
        seconds = self._rests.left(self._lanes.queues or self._agent.granted)
        if seconds > 0:
            self._lanes.work.stop.asked.wait(seconds)
        return seconds > 0

    @property
    def _bells(self) -> Bells | None:
        """The stream while it is up."""
        bells = self._lanes.bells
        return bells if bells is not None and bells.is_up else None

    def _park(self, bells: Bells) -> None:
        """Wait for a bell, or for the first time that a deferred queue told."""
        left = self._rests.left(self._agent.granted)
        bells.wait(left or QUIET * random.uniform(0.8, 1.0), self._lanes.work.stop)
        self._rests.wake()  # it rang, or the time came, or there is nobody left to end them

    def _claim(self) -> Claimed | Nothing:
        lease = self._agent.lease_seconds()
        bells = self._bells
        if bells is not None:
            return self._look(bells, lease)
        if not self._turns.several:
            return self._look_or_wait(self._turns.only, lease)
        ends_at, stop = time.monotonic() + WAIT_SECONDS, self._lanes.work.stop.asked
        found: Claimed | Nothing = Nothing()
        while True:
            found = self._one_round(lease) or found
            is_over = time.monotonic() >= ends_at or stop.is_set()
            if isinstance(found, Claimed) or not self._lanes.once or is_over:
                return found
            stop.wait(min(self._rests.left(self._lanes.queues), ends_at - time.monotonic()))

    def _look(self, bells: Bells, lease: int) -> Claimed | Nothing:
        """Look once at all queues. Whoever finds a todo lets the next lane look, too."""
        mark = bells.mark()
        found = self._ask(None, 0, lease)
        if isinstance(found, Claimed):
            bells.ring()
            return found
        bells.answered(mark)
        self._may_park = True
        return found

    def _look_or_wait(self, queue: str | None, lease: int) -> Claimed | Nothing:
        """Look without waiting first, so that a deferred queue is told of at once, not after the
        wait; then wait, and go on waiting until the next todo."""
        found = Nothing() if self._has_looked else self._ask(queue, 0, lease)
        self._has_looked = isinstance(found, Nothing)
        if isinstance(found, Claimed) or self._is_resting() or self._lanes.work.stop.asked.is_set():
            return found
        found = self._ask(queue, WAIT_SECONDS, lease)
        self._has_looked = isinstance(found, Nothing)
        return found

    def _is_resting(self) -> bool:
        return self._rests.left(self._lanes.queues or self._agent.granted) > 0

    def _one_round(self, lease: int) -> Claimed | Nothing | None:
        """Look at every queue that is awake, then wait a little for one; None when all rest."""
        refused: dict[str, Nothing] = {}
        for queue in self._rests.awake(self._turns.round()):
            found = self._ask(queue, 0, lease)
            if isinstance(found, Claimed):
                return found
            refused[queue] = found
        awake = self._rests.awake(self._turns.from_next())
        if awake:
            found = self._ask(awake[0], TURN_SECONDS, lease)
            if isinstance(found, Claimed):
                return found
            refused[awake[0]] = found
        deferred = tuple(one for each in refused.values() for one in each.deferred)
        return Nothing(deferred=deferred) if refused else None

    def _ask(self, queue: str | None, wait_seconds: int, lease: int) -> Claimed | Nothing:
        found = self._agent.claim_next(queue, wait_seconds=wait_seconds, lease_seconds=lease)
        speaker = self._lanes.work.speaker
        if isinstance(found, Claimed):
            self._rests.end(str(found.todo.get("queue")))
            speaker.admitted(str(found.todo.get("queue")))
            return found
        asked = self._agent.granted if queue is None else [queue]
        self._rests.note(asked, found.deferred, has_bells=self._bells is not None)
        for one in found.deferred:
            until = rfc3339(one.eligible_at) if one.eligible_at and one.exact else ""
            speaker.deferred(one.queue, one.reason, until, why(one))
        return found
