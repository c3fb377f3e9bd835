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
    """

    def __init__(self, watches: Watches, queue_ids: frozenset[int], group: Hashable | None) -> None:
        """`group` names interchangeable waiters, which see the same todos; None: like no other."""
        self.queue_ids = queue_ids
        self.key = (queue_ids, id(self) if group is None else group)
        self.signal = threading.Event()
        self.is_waiting = False
        self._carries = False
        self._watches = watches

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; True when a notice came since the last wait."""
        self._carries = False
        self.is_waiting = True
        self._carries = self.signal.wait(max(timeout, 0.0))
        self.is_waiting = False
        if self._carries:
            # A notice that arrives between the two lines is covered by the pick that follows.
            self.signal.clear()
        return self._carries

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
        self._watches.remove(self, hand_on=self._carries or self.signal.is_set())


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
        """Wake one waiter of every group that watches a queue the change names."""
        with self._lock:
            for key in self._hit(change):
                _wake_one(self._groups[key])

    def _hit(self, change: Change) -> Iterable[Hashable]:
        if change.everything:
            return list(self._groups)
        empty: set[Hashable] = set()
        return empty.union(*(self._by_queue.get(each, empty) for each in change.claimable))


def _wake_one(group: dict[Watch, None]) -> None:
    """Signal the first idle waiter, else a busy one; a signalled one has its next pick to come."""
    quiet = [watch for watch in group if not watch.signal.is_set()]
    chosen = next((watch for watch in quiet if watch.is_waiting), quiet[0] if quiet else None)
    if chosen is not None:
        chosen.signal.set()
