"""The doorbell streams of one web process, and the thread that rings at them (push.md, "Delivery").

The thread starts with the first stream. It takes the rows owed to the endpoints whose streams are
here, on every NOTIFY and every few seconds without one; it rings again what waits (heartbeat), and
closes the streams of endpoints that ended. A stream that nobody reads never holds it up.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from uuid import UUID

from app.db.changes import Change
from app.db.database import Database
from app.db.listener import Listener
from app.domain.bells import Bell, Kind
from app.domain.errors import DomainError
from app.transactions import bell_rounds, bell_rows
from app.transactions.bell_rows import Ring

BUFFER = 16
LOOK = 5.0  # seconds between two looks without a notice: presence by the clock, lost notices
HEARTBEAT = 30.0
_SILENCE = 60.0  # seconds a todo stays silent after a ring of this process
_REMEMBERED = 10_000

_log = logging.getLogger(__name__)


class Stream:
    """One open stream: a bounded buffer that its request empties."""

    def __init__(self, endpoint_id: UUID, forget: Callable[[Stream], None]) -> None:
        """Made by Ringer.open."""
        self.endpoint_id = endpoint_id
        self._forget = forget
        self.rung_at = float("-inf")
        self._bells: queue.Queue[Bell | None] = queue.Queue(BUFFER + 1)
        self._closed = threading.Event()

    def offer(self, bell: Bell) -> bool:
        """Take a bell for writing; False when 16 wait already, or the stream is closed."""
        if self._closed.is_set() or self._bells.qsize() >= BUFFER:
            return False
        self._bells.put_nowait(bell)
        self.rung_at = time.monotonic()
        return True

    def wait(self, seconds: float) -> Bell | None:
        """The next bell, None after `seconds` without one or at the end."""
        try:
            return self._bells.get(timeout=seconds)
        except queue.Empty:
            return None

    def close(self) -> None:
        """End it; its request sees that at once."""
        self._closed.set()
        try:
            self._bells.put_nowait(None)
        except queue.Full:
            return  # it has bells to wake up for

    def leave(self) -> None:
        """The request is over: nothing more is written here. Leaving twice is harmless."""
        self._closed.set()
        self._forget(self)

    @property
    def is_closed(self) -> bool:
        """Whether the endpoint ended, or the process stops."""
        return self._closed.is_set()


class Ringer:
    """Every doorbell stream of this process, and who of their endpoints is in."""

    def __init__(self, db: Database, listener: Listener, name: str) -> None:
        """`name` tells this process from all others, in the rows it takes."""
        self._db = db
        self._listener = listener
        self._name = name
        self._lock = threading.Lock()
        self._streams: dict[UUID, list[Stream]] = {}
        self._present: dict[UUID, bool] = {}
        self._silent: dict[str, float] = {}
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._presence_is_old = threading.Event()
        self._thread: threading.Thread | None = None
        self._unsubscribe: Callable[[], None] = _nothing

    def open(self, endpoint_id: UUID) -> tuple[Stream, bool]:
        """Register a stream; the second is True when it is the endpoint's first here."""
        stream = Stream(endpoint_id, self._leave)
        with self._lock:
            streams = self._streams.setdefault(endpoint_id, [])
            streams.append(stream)
            if self._thread is None:
                self._start()
        self._presence_is_old.set()
        self._wake.set()
        return stream, len(streams) == 1

    def _leave(self, stream: Stream) -> None:
        """Forget a stream whose request ends."""
        with self._lock:
            streams = self._streams.get(stream.endpoint_id, [])
            if stream in streams:
                streams.remove(stream)
            if not streams:
                self._streams.pop(stream.endpoint_id, None)
                self._present.pop(stream.endpoint_id, None)

    def close(self) -> None:
        """End every stream and the thread."""
        self._stopping.set()
        self._wake.set()
        self._unsubscribe()
        for stream in self._all():
            stream.close()

    def ring(self, rings: Iterable[Ring]) -> list[Ring]:
        """Write each bell to the stream rung longest ago that takes it; those that were written."""
        return [ring for ring in rings if self._write(ring)]

    def _start(self) -> None:
        self._unsubscribe = self._listener.subscribe(self._hear)
        self._thread = threading.Thread(target=self._run, name="ringer", daemon=True)
        self._thread.start()

    def _hear(self, change: Change) -> None:
        if change.endpoints or change.everything or change.names_nothing:
            self._presence_is_old.set()
        self._wake.set()

    def _run(self) -> None:
        beats_at = time.monotonic() + HEARTBEAT
        looked_at = float("-inf")
        while not self._stopping.is_set():
            self._wake.wait(LOOK)
            self._wake.clear()
            if not self._streams:
                continue
            try:
                if self._presence_is_old.is_set() or time.monotonic() - looked_at >= LOOK:
                    self._presence_is_old.clear()
                    self._look()
                    looked_at = time.monotonic()
                self._deliver()
                if time.monotonic() >= beats_at:
                    beats_at = time.monotonic() + HEARTBEAT
                    self._beat()
            except DomainError as fault:
                _log.warning("doorbells_not_delivered fault=%s", type(fault).__name__)
            except Exception:
                # A mistake of ours must not silence this process for good.
                _log.exception("doorbells failed")

    def _look(self) -> None:
        """Who of our endpoints is in; the streams of those that ended are closed."""
        with self._lock:
            asked = list(self._streams)
        found = bell_rows.held(self._db, asked)
        ended: list[Stream] = []
        with self._lock:
            for endpoint_id in asked:
                if endpoint_id in found and endpoint_id in self._streams:
                    self._present[endpoint_id] = found[endpoint_id]
                elif endpoint_id not in found:
                    self._present.pop(endpoint_id, None)
                    ended += self._streams.get(endpoint_id, [])
        for stream in ended:
            stream.close()

    def _deliver(self) -> None:
        while not self._stopping.is_set():
            present = self._who()
            rows = bell_rows.take(self._db, self._name, present) if present else []
            if rows:
                # A digest commits together with the presence it follows: what was known before
                # may be older than the row, and would drop it.
                self._look()
                present = self._who()
                rung = self.ring(self._loud(bell_rows.judge(self._db, rows, present), rows))
                bell_rows.stamp(self._db, rung)
            if len(rows) < bell_rows.TAKE:
                return

    def _beat(self) -> None:
        present = [endpoint_id for endpoint_id, is_in in self._who().items() if is_in]
        if present:
            self.ring(bell_rounds.heartbeat(self._db, present))

    def _loud(self, rings: list[Ring], rows: list[bell_rows.Row]) -> list[Ring]:
        """Without those whose todo this process rang within the last minute.

        A reopen bell ignores that silence and starts it anew; it stamps no todo, so only memory
        knows of it (R63).
        """
        cleared = {row.todo_id for row in rows if bell_rows.clears_silence(row)}
        now = time.monotonic()
        return [
            ring
            for ring in rings
            if ring.kind is not Kind.TODO
            or ring.todo_id in cleared
            or self._silent.get(ring.todo_id or "", now) <= now
        ]

    def _who(self) -> dict[UUID, bool]:
        with self._lock:
            return dict(self._present)

    def _all(self) -> list[Stream]:
        with self._lock:
            return [stream for streams in self._streams.values() for stream in streams]

    def _write(self, ring: Ring) -> bool:
        with self._lock:
            streams = [s for each in ring.endpoint_ids for s in self._streams.get(each, [])]
        for stream in sorted(streams, key=lambda each: each.rung_at):
            if stream.offer(ring.bell):
                self._remember(ring)
                return True
        _log.info("doorbell_dropped kind=%s", ring.kind)
        return False

    def _remember(self, ring: Ring) -> None:
        if ring.todo_id is None:
            return
        if len(self._silent) >= _REMEMBERED:
            self._silent.clear()
        self._silent[ring.todo_id] = time.monotonic() + _SILENCE


def _nothing() -> None:
    """Stand in for an unsubscriber before the first stream."""
