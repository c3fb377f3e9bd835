"""Cancels the statement of a claim whose client has gone, and nobody else's (REQ-13, R12)."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from app.edge import client

_log = logging.getLogger(__name__)

Cancel = Callable[[], None]


class Watchtower:
    """One thread per process that waits for clients to hang up while their claims wait for locks.

    The thread starts with the first claim that is watched, so after every fork; close() ends it.
    """

    def __init__(self, make_poller: Callable[[], Poller] | None = None) -> None:
        """`make_poller` is the system's own way to hear of a hang-up, unless a test says else."""
        self._make_poller = make_poller or default_poller()
        self._lock = threading.Lock()
        self._posts: dict[int, _Post] = {}
        self._poller: Poller | None = None
        self._thread: threading.Thread | None = None
        self._bell: tuple[socket.socket, socket.socket] | None = None
        self._is_closed = False

    def over(self, environ: Mapping[str, object]) -> ClientWatcher:
        """The watcher of the request with this WSGI environ; without a socket it watches nobody."""
        return ClientWatcher(self, client.socket_of(environ))

    def close(self) -> None:
        """End the thread; from now on nobody is watched."""
        with self._lock:
            self._is_closed = True
            bell, thread = self._bell, self._thread
        if bell is not None and thread is not None:
            bell[1].close()  # our own hang-up, heard like a client's
            thread.join(5)
            bell[0].close()

    def post(self, connection: socket.socket, cancel: Cancel) -> _Post | None:
        """Begin to watch a socket; None when that cannot be done. ClientWatcher ends it."""
        copy = None
        try:
            # A copy: its number stays ours, whatever becomes of the server's own.
            copy = socket.socket(fileno=os.dup(connection.fileno()))
            post = _Post(copy, cancel)
            if self._take(post):
                return post
        except OSError as gone:
            # Closed already, or too many open files: the look before COMMIT remains.
            _log.debug("a client's socket cannot be watched: %s", gone)
        if copy is not None:
            copy.close()
        return None

    def leave(self, post: _Post) -> None:
        """Stop watching, once a cancel in flight has come to its end."""
        post.end()
        with self._lock:
            del self._posts[post.number]
            if self._poller is not None:
                self._poller.remove(post.number)
        post.copy.close()

    def _take(self, post: _Post) -> bool:
        with self._lock:
            if self._is_closed:
                return False
            self._started().add(post.number)
            self._posts[post.number] = post
        return True

    def _started(self) -> Poller:
        """The poller, with its thread; call it under the lock."""
        if self._poller is None:
            self._poller = self._make_poller()
            self._bell = socket.socketpair()
            self._poller.add(self._bell[0].fileno())
            self._thread = threading.Thread(
                target=self._run, args=(self._poller, self._bell[0].fileno()),
                name="disconnect-watcher", daemon=True,
            )
            self._thread.start()
        return self._poller

    def _run(self, poller: Poller, bell: int) -> None:
        while True:
            for number in poller.wait():
                if number == bell:
                    return
                with self._lock:
                    post = self._posts.get(number)
                # The number may be another request's by now: the post asks its own socket.
                if post is not None:
                    post.fire()


class ClientWatcher:
    """Watches the client of one request; ClaimRequest carries it down to the locks."""

    def __init__(self, tower: Watchtower, connection: socket.socket | None) -> None:
        """Made by Watchtower.over."""
        self._tower = tower
        self._connection = connection

    @contextlib.contextmanager
    def watching(self, cancel: Cancel) -> Iterator[None]:
        """Inside the block `cancel` is called, at most once, when the client hangs up.

        Leaving the block waits for a cancel in flight, and none can start afterwards: only so may
        the connection go on to its COMMIT, or back to the pool. `cancel` runs on the watcher's
        thread and must not raise.
        """
        post = None
        if self._connection is not None:
            post = self._tower.post(self._connection, cancel)
        try:
            yield
        finally:
            if post is not None:
                self._tower.leave(post)


class _Post:
    """One client under watch, and the mutex that fences its cancel."""

    def __init__(self, copy: socket.socket, cancel: Cancel) -> None:
        self.copy = copy
        self.number = copy.fileno()
        self._cancel = cancel
        self._mutex = threading.Lock()
        self._is_over = False

    def fire(self) -> None:
        """Cancel, unless it was done, the block was left, or the client is there after all."""
        with self._mutex:
            if self._is_over or not client.is_closed(self.copy):
                return
            self._is_over = True
            try:
                self._cancel()
            except Exception:
                # One claim's mistake must not blind the process; the last look before COMMIT
                # still refuses a client that is gone.
                _log.exception("a cancel failed")

    def end(self) -> None:
        """Wait for a cancel in flight and let none start."""
        with self._mutex:
            self._is_over = True


class Poller(Protocol):
    """Hears of hang-ups. add and remove may be called while another thread waits."""

    def add(self, number: int) -> None:
        """Listen for one hang-up of a file descriptor."""

    def remove(self, number: int) -> None:
        """Stop listening, before the descriptor is closed."""

    def wait(self) -> list[int]:
        """Wait until some hung up; their descriptors, each told once."""


class HangUps:
    """Linux: only a hang-up wakes the thread, never the bytes of a next request."""

    def __init__(self) -> None:
        self._epoll = select.epoll()

    def add(self, number: int) -> None:
        """Listen for one hang-up of a file descriptor."""
        self._epoll.register(number, select.EPOLLRDHUP | select.EPOLLONESHOT)

    def remove(self, number: int) -> None:
        """Stop listening, before the descriptor is closed."""
        self._epoll.unregister(number)

    def wait(self) -> list[int]:
        """Wait until some hung up; their descriptors, each told once."""
        return [number for number, _ in self._epoll.poll()]


class Readable:
    """Elsewhere: a socket to read from has hung up, or has the bytes of a next request.

    Those bytes end the watch: the look before COMMIT is then the only one.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(self, number: int) -> None:
        """Listen until a file descriptor can be read from."""
        self._selector.register(number, selectors.EVENT_READ)

    def remove(self, number: int) -> None:
        """Stop listening, before the descriptor is closed."""
        with contextlib.suppress(KeyError):
            self._selector.unregister(number)

    def wait(self) -> list[int]:
        """Wait until some can be read from; their descriptors, each told once."""
        numbers = [key.fd for key, _ in self._selector.select()]
        for number in numbers:
            self.remove(number)
        return numbers


def default_poller() -> Callable[[], Poller]:
    """What this system has."""
    return HangUps if hasattr(select, "epoll") else Readable
