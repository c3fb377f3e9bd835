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
from app.cli.work_lease import Work, work_on

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
    stop, backoff = lanes.work.stop, Backoff(first=1.0, most=15.0)
    queues = _Turns(lanes.queues, turn)
    while not stop.asked.is_set():
        started = time.monotonic()
        claimed = _claim_or_say_why_not(lanes, agent, queues)
        if claimed is not None:
            work_on(lanes.work, agent, claimed)
        if lanes.once:
            if claimed is None and not stop.asked.is_set():
                lanes.work.speaker.say("Nothing to do.")
            return
        if claimed is None and time.monotonic() - started < QUICK_SECONDS:
            backoff.pause(stop.asked)  # the server would not let us wait: no busy loop
        else:
            backoff.reset()


def _claim_or_say_why_not(lanes: Lanes, agent: Agent, queues: _Turns) -> Claimed | None:
    try:
        return _claim(lanes, agent, queues)
    except GaveUp:
        return None
    except Refused as refusal:
        if refusal.status in ENDS_THE_WORKER:
            raise
        lanes.work.speaker.trouble(refusal.sentence)
        return None


def _claim(lanes: Lanes, agent: Agent, queues: _Turns) -> Claimed | None:
    lease = agent.lease_seconds()
    if not queues.several:
        return agent.claim_next(queues.only, wait_seconds=WAIT_SECONDS, lease_seconds=lease)
    ends_at = time.monotonic() + WAIT_SECONDS
    while True:
        for queue in queues.round():
            claimed = agent.claim_next(queue, wait_seconds=0, lease_seconds=lease)
            if claimed is not None:
                return claimed
        claimed = agent.claim_next(queues.next(), wait_seconds=TURN_SECONDS, lease_seconds=lease)
        if claimed is not None or not lanes.once or time.monotonic() >= ends_at:
            return claimed


class _Turns:
    """The queues of a lane; each look starts one further on, so that a full queue starves none."""

    def __init__(self, queues: tuple[str, ...], turn: int):
        self._queues = queues
        self._turn = self._waiting_turn = turn

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self._queues) > 1

    @property
    def only(self) -> str | None:
        """The one queue, or None for whatever the endpoint is granted."""
        return self._queues[0] if self._queues else None

    def next(self) -> str:
        """The queue whose turn it is to be waited for."""
        self._waiting_turn += 1
        return self._queues[self._waiting_turn % len(self._queues)]

    def round(self) -> list[str]:
        """All of them, from the one whose turn it is."""
        self._turn += 1
        start = self._turn % len(self._queues)
        return [*self._queues[start:], *self._queues[:start]]
