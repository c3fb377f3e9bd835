"""Connections of a thread's own, direct to Postgres: for LISTEN, NOTIFY and the jobs leader."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator

import psycopg
from psycopg.rows import TupleRow

Connect = Callable[[], psycopg.Connection]
"""Opens one autocommit connection, or raises psycopg.Error."""

ANSWER_SECONDS = 10.0
_UNHEARD_MS = "20000"
_KEEPALIVES = (
    "select set_config('tcp_keepalives_idle', '10', false),"
    " set_config('tcp_keepalives_interval', '5', false),"
    " set_config('tcp_keepalives_count', '3', false)"
)


def dial(url: str, *, server_keepalives: bool = False) -> Connect:
    """Return a function that opens an autocommit connection which notices a lost host in 25 s.

    `url` must reach Postgres past any transaction pooler (SWITCHBOARD_DATABASE_DIRECT_URL). With
    `server_keepalives` the server notices a lost client as fast, and so frees its advisory locks.
    """

    def connect() -> psycopg.Connection:
        connection = psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=5,
            keepalives=1,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=_UNHEARD_MS,
            prepare_threshold=None,
        )
        if server_keepalives:
            _keep_alive(connection)
        return connection

    return connect


def is_pooled(connection: psycopg.Connection[TupleRow]) -> bool:
    """Whether a pooler stands between: it names a process of its own, not the one that serves us.

    Then the session may be another's with the next statement: nothing is to be left on it.
    """
    row = connection.execute("select pg_backend_pid()", prepare=False).fetchone()
    return row != (connection.info.backend_pid,)


def _keep_alive(connection: psycopg.Connection) -> None:
    """Have the server look after its client, on a session of our own: not by `options`, which a
    pooler refuses. Raises psycopg.Error with the connection closed.
    """
    try:
        with bounded(connection):
            if not is_pooled(connection):
                connection.execute(_KEEPALIVES)
    except psycopg.Error:
        connection.close()
        raise


@contextlib.contextmanager
def bounded(connection: psycopg.Connection, seconds: float | None = None) -> Iterator[None]:
    """Cut the connection when the block takes longer than `seconds` (10); it then raises.

    Keepalives and timeouts of TCP see only the next hop: a pooler or a proxy that stands still
    acknowledges every byte and passes nothing on.
    """
    limit = ANSWER_SECONDS if seconds is None else seconds
    with contextlib.closing(socket.socket(fileno=os.dup(connection.fileno()))) as line:
        timer = threading.Timer(limit, _cut, (line,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # the line is ours until it is over


def _cut(line: socket.socket) -> None:
    with contextlib.suppress(OSError):  # gone already
        line.shutdown(socket.SHUT_RDWR)


def waits(first: float, longest: float) -> Iterator[float]:
    """Yield seconds to wait before each next try: doubling from `first` to `longest`, jittered."""
    wait = first
    while True:
        yield wait * random.uniform(0.8, 1.2)
        wait = min(wait * 2, longest)
