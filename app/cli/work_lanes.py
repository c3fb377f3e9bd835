"""A worker's lanes: each claims one todo after the other, until it is told to stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import FrameType

from app.cli.work_agent import Agent, Claimed
from app.cli.work_backoff import Backoff
from app.cli.work_deferred import Nothing
from app.cli.work_lane import Lane, Lanes
from app.cli.work_lease import work_on

SETTLE_SECONDS = 3.0  # for the doorbell stream to open, before the first look
QUICK_SECONDS = 1.0  # an empty answer sooner than this was no wait
LISTEN_SECONDS = 1.0
QUIET_SECONDS = 0.3  # for a claim under way to end by itself before its connection is cut
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def drain(lanes: Lanes) -> None:
    """Run until one todo is done (`once`) or SIGTERM or SIGINT comes; a second signal cuts the
    grace short. Must be called from the main thread. Raises what ended a lane: Refused, OutOfReach,
    CannotStart."""
    news: SimpleQueue[str] = SimpleQueue()  # safe to put to from a signal handler
    agents = [lanes.new_agent() for _ in range(lanes.concurrency)]
    if lanes.bells is not None:
        lanes.bells.start()
    with _heeding_signals(news), ThreadPoolExecutor(lanes.concurrency) as threads:
        running = [threads.submit(_run, lanes, agent, turn) for turn, agent in enumerate(agents)]
        for lane in running:
            lane.add_done_callback(lambda _: news.put("lane"))
        try:
            _supervise(lanes, agents, running, news)
        finally:
            lanes.work.stop.abandon()  # whatever ended the supervision ends the lanes
            _close_bells(lanes)
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
    _close_bells(lanes)


def _close_bells(lanes: Lanes) -> None:
    if lanes.bells is not None:
        lanes.bells.close()


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
    lane = Lane(lanes, agent, turn)
    stop, backoff = lanes.work.stop, Backoff(first=1.0, most=15.0)
    if lanes.bells is not None:
        lanes.bells.settle(SETTLE_SECONDS)
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
