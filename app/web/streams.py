"""One board stream: its thread waits, looks again when something changed, and ends in order."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator

from app.domain.errors import Unavailable
from app.edge.broadcast import Mailbox
from app.edge.deps import EdgeState
from app.reads import identity
from app.reads.identity import SessionFacts
from app.web.stream_frames import KEEP_ALIVE, RETRY_MS, Paint, frame, retry
from app.web.stream_looks import Looks
from app.web.stream_wants import Wants

KEEP_ALIVE_EVERY = 15.0
_LOOK = 0.5  # seconds between two looks at the client, and at whether the process stops
_SESSION_EVERY = 3.0  # seconds between two looks at the session when nothing else is read
_SPREAD = 1.0  # seconds over which the streams of a stopping process end

log = logging.getLogger(__name__)


class Stream:
    """The stream of one page. It holds a thread, and neither a connection nor a request."""

    def __init__(
        self,
        parts: EdgeState,
        wants: Wants,
        paint: Paint,
        token: str,
        session: SessionFacts,
        gone: Callable[[], bool],
    ) -> None:
        """`token` is the session cookie's; `gone` says whether the client has hung up."""
        self._parts = parts
        self._paint = paint
        self._token = token
        self._session = session
        self._gone = gone
        self._looks = Looks(parts, wants, paint, session)
        self._checked_at = self._sent_at = time.monotonic()

    def frames(self) -> Iterator[str]:
        """Everything to send until the client, the session, the database or the process ends it.

        Events carry "look again", so nothing is lost by an end: the page opens a new stream.
        """
        yield retry(RETRY_MS)
        with Mailbox(self._parts.listener) as box:
            try:
                # Live only once something could be read: else a page would say it too early.
                headers = "".join(self._looks.open(time.monotonic()))
                yield frame("live", "again") + headers
                yield from self._follow(box)
            except Unavailable:
                # The page's own retries say when the database is back; a stream that stayed
                # open would look live.
                log.debug("a board stream ends: the database is away")
        if self._parts.waiting.is_closed:
            time.sleep(random.uniform(0.0, _SPREAD))

    def _follow(self, box: Mailbox) -> Iterator[str]:
        while not self._parts.waiting.is_closed and not self._gone():
            at = time.monotonic()
            self._looks.hear(box.take(min(self._looks.due_at() - at, _LOOK)))
            at = time.monotonic()
            needs_read = self._looks.needs_read(at)
            if needs_read or at >= self._checked_at + _SESSION_EVERY:
                ended = self._check_session(at)
                if ended is not None:
                    yield self._paint.words(ended)
                    return
            text = "".join(self._looks.read(at, self._session) if needs_read else ())
            text += "".join(self._looks.speak(at))
            if text or at >= self._sent_at + KEEP_ALIVE_EVERY:
                self._sent_at = at
                yield text or KEEP_ALIVE

    def _check_session(self, at: float) -> str | None:
        """The event that ends the stream when the session has ended or wants no live updates."""
        self._checked_at = at
        session = identity.session_by_token(self._parts.database, self._token)
        if session is None:
            return "signed-out"
        self._session = session
        return None if session.live_paused_at is None else "paused"
