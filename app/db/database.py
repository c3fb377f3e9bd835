"""Connections and transactions: the only place that begins, commits and translates their loss."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, TypeVar

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow, class_row
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from app.db.changes import Feed
from app.db.counters import Counters
from app.db.sealing import Sealer
from app.domain import strictjson
from app.domain.errors import OutcomeUnknown, Unavailable
from app.domain.values import Json

Connection: TypeAlias = psycopg.Connection[TupleRow]
Params: TypeAlias = Mapping[str, object]
Row = TypeVar("Row")

log = logging.getLogger(__name__)

# One round trip. READ COMMITTED is spelled out: a role's default would break R2. The limits are
# `set local`, so that a transaction pooler may stand between (data.md, "The clock").
_BEGIN = sql.SQL(
    "begin isolation level read committed;"
    " set local lock_timeout = '5s';"
    " set local statement_timeout = '20s';"
    " set local idle_in_transaction_session_timeout = '30s'"
)
_CLOCK = sql.SQL("select clock()")
_GET_CONNECTION_SECONDS = 4.0


class Rollback(Exception):
    """Raise inside a transaction to let go of its locks and leave the block quietly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The pool, and what every verb needs beside it: the change feed, secrets, counters."""

    pool: ConnectionPool[Connection]
    feed: Feed
    sealer: Sealer
    counters: Counters

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One READ COMMITTED transaction; commits at the end of the block.

        Raises Unavailable when the database is away, the connection is lost before COMMIT or a
        lock is not had in time; OutcomeUnknown when it is lost at COMMIT.
        """
        with self._connection() as conn, _translated(conn):
            conn.execute(_BEGIN)
            try:
                yield conn
            except Rollback:
                _roll_back(conn)
                return
            except BaseException:
                _roll_back(conn)
                raise
            _commit(conn)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """An autocommit connection for looks of one statement each. Raises Unavailable."""
        with self._connection() as conn, _translated(conn):
            yield conn

    def now(self, conn: Connection) -> datetime:
        """Read clock() in its own statement, at the moment the answer matters (R1)."""
        row = conn.execute(_CLOCK).fetchone()
        assert row is not None  # a select without a from always answers
        instant = row[0]
        assert isinstance(instant, datetime)
        return instant

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Connection]:
        try:
            conn = self.pool.getconn(timeout=_GET_CONNECTION_SECONDS)
        except (PoolTimeout, PoolClosed, TooManyRequests, psycopg.OperationalError) as away:
            raise Unavailable from away
        try:
            yield conn
        finally:
            lost = conn.closed
            self.pool.putconn(conn)
            if lost:
                _weed_out_the_dead(self.pool)


def open_pool(url: str, *, size: int, prepare: bool) -> ConnectionPool[Connection]:
    """Open a pool of at most `size` autocommit connections.

    `prepare` false keeps statements unprepared, for a transaction pooler in between.
    """
    settings: dict[str, object] = {
        "autocommit": True,
        "prepare_threshold": 5 if prepare else None,
        "connect_timeout": 3,
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
        open=False,
        timeout=_GET_CONNECTION_SECONDS,
        reconnect_timeout=60,
    )
    pool.open(wait=False)
    return pool


def one(conn: Connection, query: sql.SQL, params: Params, row: type[Row]) -> Row | None:
    """Run a query; its first row as a `row` dataclass, or None."""
    with conn.cursor(row_factory=class_row(row)) as cursor:
        return cursor.execute(query, params).fetchone()


def many(conn: Connection, query: sql.SQL, params: Params, row: type[Row]) -> list[Row]:
    """Run a query; all its rows as `row` dataclasses."""
    with conn.cursor(row_factory=class_row(row)) as cursor:
        return cursor.execute(query, params).fetchall()


def value(conn: Connection, query: sql.SQL, params: Params) -> object:
    """Run a query; the first column of its first row, or None."""
    found = conn.execute(query, params).fetchone()
    return None if found is None else found[0]


def run(conn: Connection, query: sql.SQL, params: Params) -> int:
    """Run a statement; the number of rows it touched."""
    return conn.execute(query, params).rowcount


def jsonb(json_value: Json) -> Jsonb:
    """Wrap a JSON value as a jsonb parameter; JSON null stays JSON null, not SQL null."""
    return Jsonb(json_value, dumps=strictjson.dumps)


@contextlib.contextmanager
def deciding(conn: Connection) -> Iterator[None]:
    """Around a statement that commits by itself: a connection lost in it has an unknown outcome.

    Raises OutcomeUnknown; a timeout or another error passes on, for nothing was committed then.
    """
    try:
        yield
    except psycopg.OperationalError as lost:
        if conn.closed:
            raise OutcomeUnknown from lost
        raise


@contextlib.contextmanager
def _translated(conn: Connection) -> Iterator[None]:
    """Turn the loss of a connection, a timeout or a shutdown into Unavailable."""
    try:
        yield
    except psycopg.OperationalError as away:
        # Connection lost, lock or statement timeout, shutdown, too many connections: nothing
        # was committed, and the caller may simply try again.
        log.warning("database unavailable: %s", away.sqlstate or "connection lost")
        raise Unavailable from away
    except psycopg.InterfaceError as away:
        if conn.closed:
            raise Unavailable from away
        raise


def _commit(conn: Connection) -> None:
    try:
        conn.execute("commit")
    except psycopg.Error as lost:
        if conn.closed:
            raise OutcomeUnknown from lost
        raise


def _roll_back(conn: Connection) -> None:
    """Roll back; a connection that cannot is closed, so that no lock outlives the block."""
    if conn.closed:
        return
    try:
        conn.execute("rollback")
    except psycopg.Error:
        conn.close()


_weeding = threading.Lock()
_weeded_at = 0.0


def _weed_out_the_dead(pool: ConnectionPool[Connection]) -> None:
    """After one connection died, look at the idle others too, aside and at most once a second.

    A restarted database leaves a pool full of dead connections; without this each of them
    would cost one caller an answer of 503.
    """
    global _weeded_at  # one clock for the process
    with _weeding:
        if time.monotonic() - _weeded_at < 1.0:
            return
        _weeded_at = time.monotonic()
    threading.Thread(target=_check, args=(pool,), name="pool-check", daemon=True).start()


def _check(pool: ConnectionPool[Connection]) -> None:
    try:
        pool.check()
    except psycopg.Error as away:
        log.info("pool check: %s", away)
