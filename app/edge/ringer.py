"""The doorbell streams of one web process, and the thread that rings at them (push.md, "Delivery").

It starts with the first stream, takes the rows owed to the endpoints here at every NOTIFY and every
few seconds, rings again what waits, and closes streams whose endpoint or grant ended.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeAlias
from uuid import UUID

from app.db.changes import Change
from app.db.database import Database
from app.db.listener import Listener
from app.domain.bells import Bell
from app.domain.errors import DomainError
from app.reads import identity
from app.transactions import bell_rounds, bell_rows, bell_stamps
from app.transactions.bell_rows import Ring, Row

BUFFER = 16
LOOK = 5.0  # seconds between two looks without a notice: presence by the clock, lost notices
HEARTBEAT = 30.0
_KEPT = 60.0  # seconds rows are kept that could not be judged: then they are void

Forget: TypeAlias = "Callable[[Stream], None]"

_log = logging.getLogger(__name__)


class Stream:
    """One open stream: a bounded buffer that its request empties."""

    def __init__(self, endpoint_id: UUID, grant_id: UUID | None, forget: Forget) -> None:
        """Made by Ringer.open."""
        self.endpoint_id = endpoint_id
        self.grant_id = grant_id
        self._forget = forget
        self.rung_at = float("-inf")
        self._lock = threading.Lock()
        self._bells: queue.Queue[Bell | None] = queue.Queue(BUFFER + 1)
        self._closed = threading.Event()

    def offer(self, bell: Bell) -> bool:
        """Take a bell for writing; False when 16 wait already, or the stream is closed."""
        with self._lock:
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
        with self._lock:
            if not self._closed.is_set():
                self._closed.set()
                self._bells.put_nowait(None)  # there is room: offer leaves one place free

    def leave(self) -> None:
        """The request is over: nothing more is written here. Leaving twice is harmless."""
        self._closed.set()
        self._forget(self)

    @property
    def is_closed(self) -> bool:
        """Whether the endpoint or the grant it was opened with ended, or the process stops."""
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
        self._taken: list[Row] = []
        self._taken_at = 0.0
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._presence_is_old = threading.Event()
        self._thread: threading.Thread | None = None
        self._unsubscribe: Callable[[], None] = _nothing

    def open(self, endpoint_id: UUID, grant_id: UUID | None = None) -> tuple[Stream, bool]:
        """Register a stream that ends with its grant; True when it is the endpoint's first here.

        In a process that stops the stream is closed already.
        """
        stream = Stream(endpoint_id, grant_id, self._leave)
        with self._lock:
            if self._stopping.is_set():
                stream.close()
                return stream, False
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
        with self._lock:
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
                self._presence_is_old.set()
                _log.warning("doorbells_not_delivered fault=%s", type(fault).__name__)
            except Exception:
                # A mistake of ours must not silence this process for good.
                self._taken = []
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
        for stream in [*ended, *self._without_grant()]:
            stream.close()

    def _without_grant(self) -> list[Stream]:
        """Streams whose agent grant was revoked or ran out; nothing is asked when none has one."""
        granted = [(each, each.grant_id) for each in self._all() if each.grant_id]
        live = identity.live_grants(self._db, {own for _, own in granted}) if granted else ()
        return [each for each, own in granted if own not in live]

    def _deliver(self) -> None:
        while not self._stopping.is_set():
            present = self._who()
            if not present:
                return
            rows = self._take(present)
            if rows:
                # A digest commits together with the presence it follows: what was known before
                # may be older than the row, and would drop it.
                self._look()
                rings = bell_rows.judge(self._db, rows, self._who())
                self.ring(bell_stamps.stamp(self._db, rings))
            self._taken = []
            if len(rows) < bell_rows.TAKE:
                return

    def _take(self, present: dict[UUID, bool]) -> list[Row]:
        """The rows of this turn, with those an outage kept from being judged in the last one."""
        if time.monotonic() - self._taken_at > _KEPT:
            self._taken = []
        kept = self._taken
        self._taken = kept + bell_rows.take(self._db, self._name, present)
        if not kept:
            self._taken_at = time.monotonic()
        return self._taken

    def _beat(self) -> None:
        present = [endpoint_id for endpoint_id, is_in in self._who().items() if is_in]
        if present:
            self.ring(bell_rounds.heartbeat(self._db, present))

    def _who(self) -> dict[UUID, bool]:
        with self._lock:
            return dict(self._present)

    def _all(self) -> list[Stream]:
        with self._lock:
            return [each for streams in self._streams.values() for each in streams]

    def _write(self, ring: Ring) -> bool:
        with self._lock:
            streams = [s for each in ring.endpoint_ids for s in self._streams.get(each, [])]
        for stream in sorted(streams, key=lambda each: each.rung_at):
            if stream.offer(ring.bell):
                return True
        _log.info("doorbell_dropped kind=%s", ring.kind)
        return False


def _nothing() -> None:
    """Stand in for an unsubscriber before the first stream."""
