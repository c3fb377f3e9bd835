"""Who waits for which queue, and whom a notice wakes: enough waiters for the work, not a herd."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
from types import TracebackType

from app.db.changes import Change

_ONWARD = 2  # waiters a successful one wakes: n todos reach n waiters in log2(n) steps


class Watch:
    """One waiter for some queues. Use it as a context manager and pick only inside of it.

    A notice is never lost: it wakes one waiter of each group, and a waiter that leaves with a
    notice in hand (it claimed, it failed, its client vanished) hands it on. Only a waiter that
    comes back to wait(), so found nothing, lets it rest.

    `has_timer`: the waiter also waits for an instant of the database's clock. Any notice may mean
    that this clock was moved, so it looks again: at once for a notice that names nothing, else
    when its wait() ends, so that busy neighbours cost it no more looks than it makes by itself.
    """

    def __init__(self, watches: Watches, queue_ids: frozenset[int], group: Hashable | None) -> None:
        """`group` names interchangeable waiters, which see the same todos; None: like no other."""
        self.queue_ids = queue_ids
        self.key = (queue_ids, id(self) if group is None else group)
        self.signal = threading.Event()
        self.is_waiting = False
        self.has_timer = False
        self.is_stale = False
        self._carries = False
        self._watches = watches

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; True when a notice came since the last wait."""
        self._carries = False
        self.is_waiting = True
        self._carries = self.signal.wait(max(timeout, 0.0)) or self.is_stale
        self.is_waiting = False
        if self._carries:
            # A notice that arrives between the two lines is covered by the pick that follows.
            self.signal.clear()
            self.is_stale = False
        return self._carries

    def expect_timer(self, *, expected: bool) -> None:
        """Say whether an instant of the clock is waited for; if not, let stale news rest."""
        self.has_timer = expected
        if not expected:
            self.is_stale = False

    def __enter__(self) -> Watch:
        """Register; a notice from here on is seen by the first wait()."""
        self._watches.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Unregister and hand on the notice in hand, if any."""
        hand_on = self._carries or self.signal.is_set() or self.is_stale
        self._watches.remove(self, hand_on=hand_on)


class Watches:
    """The register of one process. Thread-safe; a notice for an unwatched queue costs nothing."""

    def __init__(self) -> None:
        """Start with nobody waiting."""
        self._lock = threading.Lock()
        self._groups: dict[Hashable, dict[Watch, None]] = {}
        self._by_queue: dict[int, set[Hashable]] = {}

    def add(self, watch: Watch) -> None:
        """Take a waiter in, last in its group."""
        with self._lock:
            self._groups.setdefault(watch.key, {})[watch] = None
            for queue_id in watch.queue_ids:
                self._by_queue.setdefault(queue_id, set()).add(watch.key)

    def remove(self, watch: Watch, *, hand_on: bool) -> None:
        """Let a waiter go; `hand_on` wakes others of its group in its place."""
        with self._lock:
            group = self._groups[watch.key]
            del group[watch]
            if hand_on:
                for _ in range(_ONWARD):
                    _wake_one(group)
            if group:
                return
            del self._groups[watch.key]
            for queue_id in watch.queue_ids:
                self._by_queue[queue_id].discard(watch.key)
                if not self._by_queue[queue_id]:
                    del self._by_queue[queue_id]

    def notice(self, change: Change) -> None:
        """Wake one waiter of every group that watches a queue the change names; see has_timer."""
        with self._lock:
            hit = set(self._hit(change))
            for key in hit:
                _wake_one(self._groups[key])
            for key in self._groups.keys() - hit:
                _look_again(self._groups[key], at_once=change.names_nothing)

    def _hit(self, change: Change) -> Iterable[Hashable]:
        if change.everything:
            return list(self._groups)
        empty: set[Hashable] = set()
        return empty.union(*(self._by_queue.get(each, empty) for each in change.claimable))


def _look_again(group: dict[Watch, None], *, at_once: bool) -> None:
    """Tell one waiter with a timer of the group; it hands on when it finds something."""
    chosen = next((watch for watch in group if watch.has_timer), None)
    if chosen is not None:
        chosen.is_stale = True
        if at_once:
            chosen.signal.set()


def _wake_one(group: dict[Watch, None]) -> None:
    """Signal the first idle waiter, else a busy one; a signalled one has its next pick to come."""
    quiet = [watch for watch in group if not watch.signal.is_set()]
    chosen = next((watch for watch in quiet if watch.is_waiting), quiet[0] if quiet else None)
    if chosen is not None:
        chosen.signal.set()
