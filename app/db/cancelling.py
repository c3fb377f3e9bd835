"""Lets a statement that waits for a lock be cancelled when its client has gone (REQ-13, R12)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Protocol

import psycopg

from app.db.database import Connection

_log = logging.getLogger(__name__)

_SECONDS = 5.0


class Watcher(Protocol):
    """Tells of one client that it has gone; app/edge/watcher.py has the one of a request."""

    def watching(
        self, cancel: Callable[[], None]
    ) -> contextlib.AbstractContextManager[None]:
        """While inside, `cancel` is called at most once; leaving waits until it has returned."""


@contextlib.contextmanager
def cancelled_by(watcher: Watcher | None, conn: Connection) -> Iterator[None]:
    """Around the statements that wait for locks, and nothing else: never around COMMIT.

    A cancelled statement raises psycopg.errors.QueryCanceled. When it is not known whether a
    cancel still travels the connection is closed, for it would hit the next user.
    """
    if watcher is None:
        yield
        return
    cancel = _Cancel(conn)
    try:
        with watcher.watching(cancel):
            yield
    finally:
        if cancel.is_in_doubt:
            conn.close()


class _Cancel:
    """One request to cancel what a connection runs now."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self.is_in_doubt = False

    def __call__(self) -> None:
        """Ask the server, and wait until it has passed the request on; never raises."""
        self.is_in_doubt = True
        try:
            self._conn.cancel_safe(timeout=_SECONDS)
        except psycopg.Error as lost:
            _log.warning("a cancel got no answer, its connection is closed: %s", lost)
            return
        self.is_in_doubt = False
