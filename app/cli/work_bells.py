"""A worker's doorbell stream, one for all its lanes (agent-api.md, "The doorbell stream").

A bell is a hint: it wakes one lane that looks, and a lane that found a todo wakes the next; a
digest wakes them all. While the stream is up nobody polls; while it is not, the lanes poll as if
there were none. A bell goes to one stream of the endpoint, so that whoever opens one must want
every queue of the endpoint: it would swallow the bells of the others.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
from enum import Enum

from app.cli.client import Client, NoAnswer
from app.cli.work_backoff import Backoff
from app.cli.work_stop import Stop
from app.domain.values import Json

PATH = "/agent/v1/stream"
SILENCE_SECONDS = 45.0  # three keep-alives that did not come: the connection is dead
LONGEST_PAUSE = 60.0  # between two tries to open it


class Rung(Enum):
    """Whom a bell wakes: a todo's one lane, a digest's all of them."""

    ONE = "one"
    ALL = "all"


class Bells:
    """The stream and who waits for it. Safe for several threads between start() and close()."""

    def __init__(self, url: str, token: str) -> None:
        self._client = Client(url, token)
        self._lock = threading.Lock()
        self._count = 0
        self._answered = 0
        self._parked: list[threading.Event] = []
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

    def answered(self, mark: int) -> None:
        """A look found nothing: what rang before it is over."""
        with self._lock:
            self._answered = max(self._answered, mark)

    def ring(self, rung: Rung = Rung.ONE) -> None:
        """There may be work: one lane that waits looks, or all do."""
        with self._lock:
            self._count += 1
            woken = len(self._parked) if rung is Rung.ALL else 1
            for wake in self._parked[:woken]:
                wake.set()
            del self._parked[:woken]

    def wait(self, seconds: float, stop: Stop) -> None:
        """Return when it rings, at once if it rang since the last look, or after `seconds`.

        Comes back early, too, when the stream is lost or the worker is to stop.
        """
        wake = threading.Event()
        with self._lock:
            if self._count > self._answered or not self._is_up:
                return
            self._parked.append(wake)
        with stop.waking(wake):
            if not stop.asked.is_set():
                wake.wait(seconds)
        with self._lock, contextlib.suppress(ValueError):  # whoever woke it took it out
            self._parked.remove(wake)

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
            rung = rung_by(text)
            if rung is not None:
                self.ring(rung)

    def _lose(self) -> None:
        """Everybody looks for themselves from now on."""
        with self._lock:
            self._is_up = False
            parked, self._parked = self._parked, []
            self._answered = self._count
        self._settled.set()
        for wake in parked:
            wake.set()


def rung_by(text: str) -> Rung | None:
    """Whom a bell wakes, None for nonsense.

    A digest joins its queues by commas, which a queue's name may hold: the names are not read.
    """
    try:
        told: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    meta = told.get("meta") if isinstance(told, dict) else None
    if not isinstance(meta, dict):
        return None
    if "todo_id" in meta:
        return Rung.ONE
    return Rung.ALL if meta.get("kind") == "digest" else None
