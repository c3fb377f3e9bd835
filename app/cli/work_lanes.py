"""A worker's lanes: each claims one todo after the other, until it is told to stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import FrameType

from app.cli.work_agent import Agent, Backoff, Claimed, GaveUp, Refused
from app.cli.work_deferred import Nothing, Rests, why
from app.cli.work_lease import Work, work_on
from app.cli.work_turns import Turns
from app.domain.values import rfc3339

WAIT_SECONDS = 30  # the longest poll the server takes
TURN_SECONDS = 2  # the poll on one of several queues, before it is another one's turn
QUICK_SECONDS = 1.0  # an empty answer sooner than this was no wait
LISTEN_SECONDS = 1.0
QUIET_SECONDS = 0.3  # for a claim under way to end by itself before its connection is cut
ENDS_THE_WORKER = (400, 401, 403, 404)
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """How a worker drains: which queues, how many at a time, one todo or all.
    """

    queues: tuple[str, ...]
    concurrency: int
    once: bool
    new_agent: Callable[[], Agent]
    work: Work


def drain(lanes: Lanes) -> None:
    """Run until one todo is done (`once`) or SIGTERM or SIGINT comes; a second signal cuts the
    grace short. Must be called from the main thread. Raises what ended a lane: Refused, OutOfReach,
    CannotStart."""
    news: SimpleQueue[str] = SimpleQueue()  # safe to put to from a signal handler
    agents = [lanes.new_agent() for _ in range(lanes.concurrency)]
    with _heeding_signals(news), ThreadPoolExecutor(lanes.concurrency) as threads:
        running = [threads.submit(_run, lanes, agent, turn) for turn, agent in enumerate(agents)]
        for lane in running:
            lane.add_done_callback(lambda _: news.put("lane"))
        try:
            _supervise(lanes, agents, running, news)
        finally:
            lanes.work.stop.abandon()  # whatever ended the supervision ends the lanes
    for agent in agents:
        agent.close()
    for lane in running:
        lane.result()


def _supervise(
    lanes: Lanes, agents: list[Agent], running: list[Future[None]], news: SimpleQueue[str]
) -> None:
    stop = lanes.work.stop
    while not all(lane.done() for lane in running):
        # Never without an end: a signal just before the wait would be noticed only after it.
        is_stopping = stop.asked.is_set()
        heard = _heard(news, QUIET_SECONDS if is_stopping else LISTEN_SECONDS)
        if is_stopping and not heard:
            for agent in agents:
                agent.abort_claim()
        if heard == "signal" and stop.asked.is_set():
            stop.hurry()
        elif heard:  # a signal, or a lane that ended: alone it may not, so the others end too
            _ask_to_stop(lanes, by_signal=heard == "signal")
        stop.tick()


def _heard(news: SimpleQueue[str], seconds: float) -> str:
    try:
        return news.get(timeout=seconds)
    except Empty:
        return ""


def _ask_to_stop(lanes: Lanes, *, by_signal: bool) -> None:
    if by_signal:
        lanes.work.speaker.say("Stopping: nothing more is claimed.")
    lanes.work.stop.ask()


@contextmanager
def _heeding_signals(news: SimpleQueue[str]) -> Iterator[None]:
    def heed(_number: int, _frame: FrameType | None) -> None:
        news.put("signal")

    before = {number: signal.signal(number, heed) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(lanes: Lanes, agent: Agent, turn: int) -> None:
    lane = _Lane(lanes, agent, turn)
    stop, backoff = lanes.work.stop, Backoff(first=1.0, most=15.0)
    while not stop.asked.is_set():
        started = time.monotonic()
        found = lane.claim_or_say_why_not()
        if isinstance(found, Claimed):
            work_on(lanes.work, agent, found)
        if lanes.once:
            if found == Nothing() and not stop.asked.is_set():
                lanes.work.speaker.say("Nothing to do.")
            return
        if lane.rest():
            continue
        if isinstance(found, Nothing) and time.monotonic() - started < QUICK_SECONDS:
            backoff.pause(stop.asked)  # the server would not let us wait: no busy loop
        else:
            backoff.reset()


class _Lane:
    """One lane's looks for work. Queues that defer are no failures: they are left to rest."""

    def __init__(self, lanes: Lanes, agent: Agent, turn: int):
        self._lanes = lanes
        self._agent = agent
        self._turns = Turns(lanes.queues, turn)
        self._rests = Rests()
        self._has_looked = False

    def claim_or_say_why_not(self) -> Claimed | Nothing:
        """A todo, or Nothing after one wait. Raises what ends a worker."""
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
        """Do nothing while all queues rest, until the first may be asked; False when none does."""
        seconds = self._rests.left(self._lanes.queues or self._agent.granted)
        if seconds > 0:
            self._lanes.work.stop.asked.wait(seconds)
        return seconds > 0

    def _claim(self) -> Claimed | Nothing:
        lease = self._agent.lease_seconds()
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
        self._rests.note(self._agent.granted if queue is None else [queue], found.deferred)
        for one in found.deferred:
            until = rfc3339(one.eligible_at) if one.eligible_at and one.exact else ""
            speaker.deferred(one.queue, one.reason, until, why(one))
        return found
