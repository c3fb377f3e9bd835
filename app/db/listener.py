"""Hears what other processes changed: one LISTEN connection per process, however many watch."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable

import psycopg
from psycopg import sql

from app.db.changes import CHANNEL, Change, Subscriber, parse
from app.db.direct import Connect, bounded, waits
from app.db.watches import Watch, Watches

_log = logging.getLogger(__name__)

_LOOK = 1.0  # seconds between two looks at "should I stop"
_ALIVE = sql.SQL("select 1")
PING = 20.0  # seconds between two questions whether the other end is there


class Listener:
    """Delivers every NOTIFY of the channel to subscribers and watches, from a thread of its own.

    A lost connection is opened again after 1 s, doubling to 30 s; then, as notices may have been
    missed, everyone is told `everything`. A silent one is asked, so that a dead one is noticed
    within half a minute. Make it anywhere, start() it after the fork.
    """

    def __init__(self, connect: Connect) -> None:
        """`connect` opens an autocommit connection DIRECT to Postgres (no transaction pooler)."""
        self._connect = connect
        self._watches = Watches()
        self._subscribers: list[Subscriber] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._listening = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the listening thread; the database may still be away."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, which looks up once a second."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_LOOK + 5)
            self._thread = None

    def is_listening(self, timeout: float = 0.0) -> bool:
        """Wait at most `timeout` seconds until LISTEN is in force; False when it is not."""
        return self._listening.wait(timeout)

    def watch(self, queue_ids: Iterable[int], *, group: Hashable | None = None) -> Watch:
        """Return a context manager whose wait() ends when one of the queues may have work.

        Enter it BEFORE the first pick, so that no notice falls between. Watches of one `group` and
        the same queues are interchangeable: a notice wakes one of them (R58).
        """
        return Watch(self._watches, frozenset(queue_ids), group)

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call back with every Change, on the listening thread (be quick). Returns the undoing."""
        with self._lock:
            self._subscribers.append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._subscribers:
                    self._subscribers.remove(callback)

        return unsubscribe

    def _run(self) -> None:
        again = waits(1.0, 30.0)
        while not self._stopping.is_set():
            try:
                with self._connect() as connection:
                    with bounded(connection):
                        connection.execute(sql.SQL("listen {}").format(sql.Identifier(CHANNEL)))
                    again = waits(1.0, 30.0)
                    self._listening.set()
                    self._publish(Change(everything=True))
                    self._hear(connection)
            except psycopg.Error as error:
                _log.warning("LISTEN lost, will connect again: %s", error)
                self._listening.clear()
                self._stopping.wait(next(again))
        self._listening.clear()

    def _hear(self, connection: psycopg.Connection) -> None:
        asked_at = time.monotonic()
        while not self._stopping.is_set():
            if time.monotonic() - asked_at >= PING:
                with bounded(connection):
                    connection.execute(_ALIVE)
                asked_at = time.monotonic()
            for notice in connection.notifies(timeout=_LOOK):
                change = parse(notice.payload)
                if change is None:
                    _log.warning("a notice that is not ours: %.200r", notice.payload)
                self._publish(change or Change())
                if self._stopping.is_set():
                    return

    def _publish(self, change: Change) -> None:
        self._watches.notice(change)
        with self._lock:
            subscribers = list(self._subscribers)
        for subscriber in subscribers:
            try:
                subscriber(change)
            except Exception:
                # One subscriber's mistake must not deafen the process.
                _log.exception("a subscriber failed")
