"""Sends what this process changed, one NOTIFY per 100 ms, from its own thread and connection."""

from __future__ import annotations

import logging
import threading
import time
from uuid import UUID

import psycopg

from app.db.changes import CHANNEL, Noted, pack
from app.db.direct import Connect, bounded, waits

_log = logging.getLogger(__name__)

PERIOD = 0.1  # seconds between two NOTIFYs: each takes a database-wide lock at its commit (R54)
_FLUSH = 2.0  # seconds that stop() gives the last notices


class Notifier:
    """The Feed of a real process. Callers only add to a set; the thread sends, oldest first.

    A notice that cannot be sent is kept for the next try; one lost with the process costs latency
    only (push.md, "NOTIFY"). Make it anywhere, start() it after the fork.
    """

    def __init__(self, connect: Connect) -> None:
        """`connect` opens the thread's own autocommit connection, at the first notice."""
        self._connect = connect
        self._connection: psycopg.Connection | None = None
        self._noted: dict[Noted, None] = {}
        self._wake = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def changed(self, *queue_ids: int) -> None:
        """Note queues whose todos changed."""
        self._note("changed", queue_ids)

    def ready(self, *queue_ids: int) -> None:
        """Note queues in which a todo became pending."""
        self._note("ready", queue_ids)

    def reopened(self, *queue_ids: int) -> None:
        """Note queues with a policy that may admit again."""
        self._note("reopened", queue_ids)

    def endpoints(self, *endpoint_ids: UUID) -> None:
        """Note endpoints whose life or presence changed."""
        self._note("endpoints", endpoint_ids)

    def start(self) -> None:
        """Start the sending thread."""
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Send what is noted, for at most 2 s, and end the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join(_FLUSH + 1)
            self._thread = None

    def _note(self, kind: str, identities: tuple[int, ...] | tuple[UUID, ...]) -> None:
        if not identities:
            return
        with self._wake:
            self._noted.update(dict.fromkeys((kind, identity) for identity in identities))
            self._wake.notify_all()

    def _run(self) -> None:
        again = waits(PERIOD, 5.0)
        give_up: float | None = None
        while self._has_work():
            if self._stopping and give_up is None:
                give_up = time.monotonic() + _FLUSH
            if give_up is not None and time.monotonic() > give_up:
                _log.warning("notices dropped at stop: %d", len(self._noted))
                break
            if self._send():
                again = waits(PERIOD, 5.0)
                self._pause(PERIOD)
            else:
                self._pause(next(again))
        self._disconnect()

    def _has_work(self) -> bool:
        """Wait for a notice; False when the thread should end."""
        with self._wake:
            self._wake.wait_for(lambda: self._noted or self._stopping)
            return bool(self._noted)

    def _pause(self, seconds: float) -> None:
        """Let notices gather. A stop does not shorten one period, but it does a longer backoff."""
        until = time.monotonic() + seconds
        with self._wake:
            while (left := until - time.monotonic()) > 0:
                if self._stopping and left > PERIOD:
                    until = time.monotonic() + PERIOD
                self._wake.wait(min(left, PERIOD))

    def _send(self) -> bool:
        """Send one payload of the oldest notices; keep the rest, and all of them on an error."""
        with self._wake:
            payload, carried = pack(self._noted)
            for noted in carried:
                del self._noted[noted]
        try:
            if self._connection is None:
                self._connection = self._connect()
            with bounded(self._connection):
                self._connection.execute("select pg_notify(%s, %s)", (CHANNEL, payload))
        except psycopg.Error as error:
            _log.warning("NOTIFY failed, will try again: %s", error)
            self._disconnect()
            with self._wake:
                self._noted = dict.fromkeys(carried) | self._noted
            return False
        return True

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
