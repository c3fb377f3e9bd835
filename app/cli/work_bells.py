"""A worker's doorbell stream, one for all its lanes (agent-api.md, "The doorbell stream").

A bell is a hint: it wakes one lane that looks, and a lane that found a todo wakes the next. While
the stream is up nobody polls; while it is not, the lanes poll as if there were none.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from app.cli.client import Client, NoAnswer
from app.cli.work_backoff import Backoff
from app.cli.work_stop import Stop
from app.domain.values import Json

PATH = "/agent/v1/stream"
SILENCE_SECONDS = 45.0  # three keep-alives that did not come: the connection is dead
LONGEST_PAUSE = 60.0  # between two tries to open it


@dataclass(eq=False, slots=True)
class _Parked:
    """A lane that waits for a bell of its queues; of any when it names none."""

    queues: Collection[str]
    wake: threading.Event = field(default_factory=threading.Event)


class Bells:
    """The stream and who waits for it. Safe for several threads between start() and close()."""

    def __init__(self, url: str, token: str) -> None:
        self._client = Client(url, token)
        self._lock = threading.Lock()
        self._heard: dict[str, int] = {}
        self._count = 0
        self._parked: list[_Parked] = []
        self._is_up = False
        self._retry = 0.0  # seconds, as the server says
        self._settled = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="doorbells", daemon=True)

    def start(self) -> None:
        """Open the stream, and open it again whenever it is lost."""
        self._thread.start()

    def close(self) -> None:
        """End it; whoever waits comes back. Closing twice is harmless."""
        self._closing.set()
        self._client.abort()
        self._lose()

    @property
    def is_up(self) -> bool:
        """Whether a bell that rings from now on would be heard."""
        return self._is_up

    def settle(self, seconds: float) -> None:
        """Wait until the first try came to something, at most so long."""
        self._settled.wait(seconds)

    def mark(self) -> int:
        """Take note before a look, for `answered`."""
        return self._count

    def answered(self, mark: int, queues: Collection[str]) -> None:
        """A look found nothing: what rang for these queues (all, when empty) before it is over."""
        with self._lock:
            for queue, number in list(self._heard.items()):
                if number <= mark and (not queues or queue in queues):
                    del self._heard[queue]

    def ring(self, queue: str) -> None:
        """There may be work in a queue: one lane that waits for it looks."""
        with self._lock:
            self._count += 1
            self._heard[queue] = self._count
            for parked in self._parked:
                if not parked.queues or queue in parked.queues:
                    self._parked.remove(parked)
                    parked.wake.set()
                    return

    def wait(self, queues: Collection[str], seconds: float, stop: Stop) -> frozenset[str]:
        """The queues among these (of all, when empty) that rang, at once or within `seconds`.

        Comes back early, with what there is, when the stream is lost or the worker is to stop.
        """
        parked = _Parked(queues)
        with self._lock:
            found = self._of(queues)
            if found or not self._is_up:
                return found
            self._parked.append(parked)
        with stop.waking(parked.wake):
            if not stop.asked.is_set():
                parked.wake.wait(seconds)
        with self._lock, contextlib.suppress(ValueError):  # whoever woke it took it out
            self._parked.remove(parked)
        with self._lock:
            return self._of(queues)

    def _of(self, queues: Collection[str]) -> frozenset[str]:
        return frozenset(q for q in self._heard if not queues or q in queues)

    def _run(self) -> None:
        backoff = Backoff(first=1.0, most=LONGEST_PAUSE)
        while not self._closing.is_set():
            at_least = None
            try:
                with contextlib.closing(self._client.lines(PATH, SILENCE_SECONDS)) as lines:
                    for line in lines:
                        self._rise()
                        backoff.reset()
                        self._hear(line)
            except NoAnswer as lost:
                at_least = lost.retry_after
            self._lose()
            backoff.pause(self._closing, at_least=at_least or self._retry * random.uniform(0.5, 1))

    def _rise(self) -> None:
        with self._lock:
            self._is_up = not self._closing.is_set()
        self._settled.set()

    def _hear(self, line: str) -> None:
        name, _, text = line.partition(": ")
        if name == "retry" and text.isascii() and text.isdigit():
            self._retry = min(int(text) / 1000, LONGEST_PAUSE)
        if name == "data":
            for queue in rung_queues(text):
                self.ring(queue)

    def _lose(self) -> None:
        """Everybody looks for themselves from now on."""
        with self._lock:
            self._is_up = False
            parked, self._parked = self._parked, []
            self._heard.clear()
        self._settled.set()
        for each in parked:
            each.wake.set()


def rung_queues(text: str) -> Iterable[str]:
    """The queues a bell is about: one todo's, or all that a digest counted; none of nonsense."""
    try:
        told: Json = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    meta = told.get("meta") if isinstance(told, dict) else None
    if not isinstance(meta, dict):
        return ()
    if "todo_id" in meta:
        return (str(meta.get("queue")),)
    return [queue for queue in str(meta.get("queues", "")).split(",") if queue]
