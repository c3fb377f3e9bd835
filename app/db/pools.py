"""The pool of autocommit connections, and how the dead are weeded out of it."""

from __future__ import annotations

import logging
import select
from typing import TypeAlias

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from app.db.direct import bounded, is_pooled

Connection: TypeAlias = psycopg.Connection[TupleRow]

GET_CONNECTION_SECONDS = 4.0
CONNECT_SECONDS = 3

log = logging.getLogger(__name__)


def open_pool(url: str, *, size: int, prepare: bool) -> ConnectionPool[Connection]:
    """Open a pool of at most `size` autocommit connections.

    `prepare` false keeps statements unprepared, for a transaction pooler in between. So does a
    pooler that nobody told us of: a statement prepared on one session is unknown to the next.
    """
    settings: dict[str, object] = {
        "autocommit": True,
        "prepare_threshold": 5 if prepare else None,
        "connect_timeout": CONNECT_SECONDS,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
    }
    pool: ConnectionPool[Connection] = ConnectionPool(
        url,
        min_size=1,
        max_size=size,
        kwargs=settings,
        configure=_prepare_nothing_on_a_pooler if prepare else None,
        open=False,
        timeout=GET_CONNECTION_SECONDS,
        reconnect_timeout=60,
    )
    pool.open(wait=False)
    return pool


def _prepare_nothing_on_a_pooler(conn: Connection) -> None:
    with bounded(conn, CONNECT_SECONDS):
        if is_pooled(conn):
            conn.prepare_threshold = None


def checkout(
    pool: ConnectionPool[Connection], seconds: float = GET_CONNECTION_SECONDS
) -> Connection:
    """Take a connection that nobody has closed from the other end; wait `seconds` for a free one.

    A restarted database leaves a pool of dead connections behind. Without this look, which costs
    no trip, each would cost a caller a 503, and a claim that commits by itself an answer of
    "outcome unknown" though nothing was sent. Raises PoolTimeout, PoolClosed.
    """
    for _ in range(pool.max_size):
        conn = pool.getconn(timeout=seconds)
        if _is_quiet(conn):
            return conn
        log.info("a dead connection was taken out of the pool")
        conn.close()
        pool.putconn(conn)
    return pool.getconn(timeout=seconds)


def _is_quiet(conn: Connection) -> bool:
    """Nothing to read on an idle connection: the server neither left nor said goodbye."""
    if conn.closed:
        return False
    look = select.poll()
    look.register(conn.pgconn.socket, select.POLLIN)
    return not look.poll(0)
