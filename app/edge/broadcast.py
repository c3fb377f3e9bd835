"""What the streams of one process hear of: which queues to look at again, never what they say."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from app.db.changes import Change
from app.db.listener import Listener

MOST_QUEUES = 256  # ids one mailbox holds; more of them and the page had better start afresh
_REMEMBERED = 600.0  # seconds a notice is remembered for pages that were loaded before it


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What a mailbox held. `is_lost`: notices may be missing, so the page refetches itself;
    `is_timer`: the database's clock may have moved, so every timer is armed again.
    """

    queue_ids: frozenset[int] = frozenset()
    is_lost: bool = False
    is_timer: bool = False

    def __bool__(self) -> bool:
        """Whether there is anything to look at."""
        return bool(self.queue_ids) or self.is_lost or self.is_timer


class Mailbox:
    """The news of one stream since it last looked, of a bounded size.

    A queue that changes a thousand times stands in it once; when more than 256 queues wait, they
    are dropped for one `is_lost` (board.md, "Live updates"). Use it as a context manager.
    """

    def __init__(self, listener: Listener) -> None:
        """Hears nothing until entered."""
        self._listener = listener
        self._leave: Callable[[], None] | None = None
        self._there = threading.Condition()
        self._queue_ids: set[int] = set()
        self._is_lost = False
        self._is_timer = False

    def hear(self, change: Change) -> None:
        """Take in a change; called on the listening thread."""
        named = change.changed | change.ready | change.reopened
        with self._there:
            self._queue_ids |= named
            self._is_lost |= change.everything or len(self._queue_ids) > MOST_QUEUES
            self._is_timer |= change.names_nothing
            if self._is_lost:
                self._queue_ids.clear()
            if self._queue_ids or self._is_lost or self._is_timer:
                self._there.notify()

    def take(self, timeout: float) -> News:
        """Wait at most `timeout` seconds for news and empty the box."""
        with self._there:
            if not (self._queue_ids or self._is_lost or self._is_timer):
                self._there.wait(max(timeout, 0.0))
            news = News(
                queue_ids=frozenset(self._queue_ids),
                is_lost=self._is_lost,
                is_timer=self._is_timer,
            )
            self._queue_ids.clear()
            self._is_lost = self._is_timer = False
        return news

    def __enter__(self) -> Mailbox:
        """Hear of everything from here on."""
        self._leave = self._listener.subscribe(self.hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hear nothing any more."""
        if self._leave is not None:
            self._leave()


class Recent:
    """Which queues this process has heard of lately, for pages loaded before their stream opened.

    It begins to listen with the first question, so after every fork.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` counts seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._heard: dict[int, float] = {}
        self._since: float | None = None

    def within(self, listener: Listener, seconds: float) -> frozenset[int] | None:
        """The queues named in the last `seconds`; None when not all of that time was heard."""
        with self._lock:
            is_new, now = self._since is None, self._clock()
            if is_new:
                self._since = now
            since = now if self._since is None else self._since
            self._forget(now - _REMEMBERED)
            heard = frozenset(key for key, at in self._heard.items() if now - at <= seconds)
        if is_new:
            listener.subscribe(self.hear)
        return heard if since <= now - seconds and seconds <= _REMEMBERED else None

    def hear(self, change: Change) -> None:
        """Take in a change; called on the listening thread."""
        with self._lock:
            now = self._clock()
            if change.everything or change.names_nothing:
                self._heard.clear()
                self._since = now
            self._heard.update(
                dict.fromkeys(change.changed | change.ready | change.reopened, now)
            )

    def _forget(self, before: float) -> None:
        self._heard = {key: at for key, at in self._heard.items() if at >= before}
