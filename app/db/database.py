"""Connections and transactions: the only place that begins, commits and translates their loss."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias, TypeVar

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from app.db.changes import Feed
from app.db.counters import Counters
from app.db.memory import Memory
from app.db.outbox import NoOutbox, Outbox
from app.db.pools import GET_CONNECTION_SECONDS, checkout
from app.db.pools import Connection as Connection
from app.db.pools import open_pool as open_pool
from app.db.sealing import Sealer
from app.domain import strictjson
from app.domain.errors import OutcomeUnknown, Unavailable
from app.domain.values import Json

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
_GLANCE = sql.SQL("begin isolation level read committed read only")
_GLANCE_LIMIT = sql.SQL("select set_config('statement_timeout', %(limit)s, true)")
_CLOCK = sql.SQL("select clock()")


class Rollback(Exception):
    """Raise inside a transaction to let go of its locks and leave the block quietly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The pool, and what every verb needs beside it: the change feed, secrets, counters."""

    pool: ConnectionPool[Connection]
    feed: Feed
    sealer: Sealer
    counters: Counters
    memory: Memory = field(default_factory=Memory)
    hooks: Outbox = field(default_factory=NoOutbox)
    has_grouped_commit: bool = False
    most_teams_per_human: int = 10

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

    @contextlib.contextmanager
    def glance(self, wait: float, work: float) -> Iterator[Connection]:
        """A read-only transaction: `wait` seconds for a connection, `work` for each statement.

        Raises Unavailable.
        """
        with self._connection(wait) as conn, _translated(conn):
            try:
                conn.execute(_GLANCE, prepare=False)
                conn.execute(_GLANCE_LIMIT, {"limit": f"{int(work * 1000)}ms"})
                yield conn
            finally:
                _roll_back(conn)

    @contextlib.contextmanager
    def section(self) -> Iterator[Connection]:
        """A connection for a transaction whose BEGIN and COMMIT its statements send themselves.

        Whatever is open at the end is rolled back. Errors of the database pass as they are, for
        the caller to judge; a lost connection is Unavailable.
        """
        with self._connection() as conn:
            try:
                yield conn
            except psycopg.Error as lost:
                if conn.closed:
                    raise Unavailable from lost
                raise
            finally:
                _leave(conn)

    def now(self, conn: Connection) -> datetime:
        """Read clock() in its own statement, at the moment the answer matters (R1)."""
        row = conn.execute(_CLOCK).fetchone()
        assert row is not None  # a select without a from always answers
        instant = row[0]
        assert isinstance(instant, datetime)
        return instant

    @contextlib.contextmanager
    def _connection(self, wait: float = GET_CONNECTION_SECONDS) -> Iterator[Connection]:
        try:
            conn = checkout(self.pool, wait)
        except (PoolTimeout, PoolClosed, TooManyRequests, psycopg.OperationalError) as away:
            raise Unavailable from away
        try:
            yield conn
        finally:
            self.pool.putconn(conn)


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
def committed() -> Iterator[None]:
    """Around what follows a commit: its failure must not read as if nothing had happened.

    Raises OutcomeUnknown instead.
    """
    try:
        yield
    except (psycopg.Error, Unavailable) as fault:
        raise OutcomeUnknown from fault


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
    except psycopg.ProgrammingError as broken:
        # A table, a column or a right that is not there: a broken installation, not a broken
        # request. Nothing was committed; the log has the statement's fault.
        log.exception("the database refused a statement: %s", broken.sqlstate)
        raise Unavailable from broken


def _commit(conn: Connection) -> None:
    try:
        conn.execute("commit")
    except psycopg.Error as lost:
        if conn.closed:
            raise OutcomeUnknown from lost
        raise


def _leave(conn: Connection) -> None:
    """Roll back what is open; a connection on which a pipelined statement failed is not kept.

    The server skips what was sent behind the failure, preparing statements included, but psycopg
    believes them prepared: every later claim on that connection would fail.
    """
    status = conn.info.transaction_status
    if status != TransactionStatus.IDLE:
        _roll_back(conn)
    if status == TransactionStatus.INERROR:
        conn.close()


def _roll_back(conn: Connection) -> None:
    """Roll back; a connection that cannot is closed, so that no lock outlives the block."""
    if conn.closed:
        return
    try:
        conn.execute("rollback")
    except psycopg.Error:
        conn.close()
