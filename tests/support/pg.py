"""Databases for tests: a fast cluster all workers share, and a durable one for those who crash it.

`db` is a `Database` on this worker's own clone of a migrated template, emptied before each test.
`fresh_database` is a clone of one test's own (it starts servers, or moves the clock under them).
`durable_cluster` and `durable_db` stand on a second cluster whose commits survive a crash.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg_pool import ConnectionPool

from app.db import migrate
from app.db.counters import Counters
from app.db.database import Connection, Database, open_pool
from app.db.direct import dial
from app.db.listener import Listener
from app.db.notifier import Notifier
from app.db.sealing import Sealer
from app.embedded import Cluster
from tests.support import pooler
from tests.support.cluster import ANY, DURABLE, make_cluster, new_home
from tests.support.feed import RecordingFeed

HOME = "TESTS_CLUSTER_HOME"
OWNER = "TESTS_CLUSTER_OWNER"
TEMPLATE = "template_migrated"
SEALING_KEY = bytes(range(32))
POOL_SIZE = 16
BLOATED = 4 * 1024 * 1024  # bytes of the tables a test used, dead rows included
_names = itertools.count(1)


# --- the fast cluster: started by the first who asks, kept by a process of its own ---------------


def pytest_configure(config: pytest.Config) -> None:
    """Names this run's cluster; workers inherit the name, and whoever needs it first starts it."""
    if not hasattr(config, "workerinput"):
        os.environ[HOME] = str(new_home())
        os.environ[OWNER] = str(os.getpid())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stops the fast cluster when the run that named it ends."""
    if hasattr(config, "workerinput") or os.environ.get(OWNER) != str(os.getpid()):
        return
    home = Path(os.environ[HOME])
    keeper = home / "keeper.pid"
    if keeper.exists():
        os.kill(int(keeper.read_text()), signal.SIGTERM)
        ends_at = time.monotonic() + 30
        while home.exists() and time.monotonic() < ends_at:
            time.sleep(0.02)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def fast_cluster() -> Databases:
    """The shared cluster without fsync, with its migrated template."""
    home = Path(os.environ[HOME])
    with _alone(home / "start.lock"):
        if not (home / "url").exists():
            _start_keeper(home)
        databases = Databases((home / "url").read_text())
        if not (home / "template").exists():
            databases.make_template()
            (home / "template").touch()
    return databases


def _start_keeper(home: Path) -> None:
    with (home / "keeper.log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.support.cluster", str(home), os.environ[OWNER]],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            cwd=Path(__file__).parents[2],
        )
    (home / "keeper.pid").write_text(str(keeper.pid))
    while not (home / "url").exists():
        if keeper.poll() is not None:
            said = (home / "keeper.log").read_text()
            raise RuntimeError(f"the fast cluster did not start: {said}")
        time.sleep(0.02)
    keeper.returncode = 0  # it outlives this worker on purpose; do not warn about that


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


# --- databases -----------------------------------------------------------------------------------


class Databases:
    """Makes and drops the databases of one cluster."""

    def __init__(self, any_url: str) -> None:
        """`any_url` names any database of the cluster as ANY."""
        self._any_url = any_url

    def url(self, name: str) -> str:
        """Names one database."""
        return self._any_url.replace(ANY, name)

    def make_template(self) -> None:
        """Makes the empty, migrated database that all others are clones of."""
        self._admin("create database {}", TEMPLATE)
        migrate.migrate(self.url(TEMPLATE))

    def create(self, name: str, *, template: str = TEMPLATE) -> str:
        """Clones the migrated template, or another, and returns the clone's URL."""
        self._admin("create database {} template {}", name, template)
        return self.url(name)

    def drop(self, name: str) -> None:
        """Drops a database, whoever is still connected."""
        way = pooler.pooled(self.url(name))
        try:
            if way != self.url(name):
                pooler.assert_nothing_leaked(way)
        finally:
            self._admin("drop database if exists {} with (force)", name)

    def _admin(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as conn:
            conn.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def pool_on(url: str, *, size: int = POOL_SIZE) -> ConnectionPool[Connection]:
    """A pool on a database, through the pooler when the run has one, as a server does it."""
    way = pooler.pooled(url)
    return open_pool(way, size=size, prepare=way == url)


@contextmanager
def opened(url: str, *, size: int = POOL_SIZE) -> Iterator[Database]:
    """A `Database` on `url` whose feed only remembers, closed at the end."""
    pool = pool_on(url, size=size)
    try:
        yield database_over(pool)
    finally:
        pool.close()


def database_over(
    pool: ConnectionPool[Connection], feed: RecordingFeed | None = None
) -> Database:
    """A `Database` over an open pool, with a feed and counters of its own."""
    return Database(pool=pool, feed=feed or RecordingFeed(), sealer=Sealer(SEALING_KEY),
                    counters=Counters())


@pytest.fixture(scope="session")
def worker_database(fast_cluster: Databases, worker_id: str) -> Iterator[WorkerDatabase]:
    """This worker's clone and the pool on it, for the whole session."""
    url = fast_cluster.create(f"worker_{worker_id}")
    pool = pool_on(url)
    try:
        database = WorkerDatabase(url, pool)
        yield database
        database.close()
    finally:
        pool.close()
        fast_cluster.drop(f"worker_{worker_id}")


class WorkerDatabase:
    """A database that is emptied between tests: rows, sequences, seeds and the clock."""

    def __init__(self, url: str, pool: ConnectionPool[Connection]) -> None:
        self.url = url
        self.pool = pool
        # One backend for all: a new one for each test costs more than its work.
        self._cleaner: psycopg.Connection[tuple[object, ...]] | None = None
        with psycopg.connect(url) as conn:
            tables = conn.execute(
                "select tablename::text from pg_tables where schemaname = 'public' "
                "and tablename not like 'schema_migration%' and tablename <> 'migrations' "
                "order by 1").fetchall()
            self._looks = sql.SQL(" union all ").join(
                sql.SQL("(select {} from {} limit 1)").format(name, sql.Identifier(name))
                for (name,) in tables)
            self._sequences = {str(table): str(sequence) for table, sequence in conn.execute(
                "select table_name::text, pg_get_serial_sequence(quote_ident(table_name), "
                "column_name) from information_schema.columns where table_schema = 'public' "
                "and is_identity = 'YES'")}
            self._seeds = conn.execute("select key, value from settings").fetchall()
            self._clock = clock_definition(conn)

    def empty(self) -> None:
        """Brings the database back to what the migrations left."""
        if self._cleaner is not None:
            try:
                self._empty(self._cleaner)
            except psycopg.OperationalError:
                if not self._cleaner.closed:
                    raise
            else:
                return  # otherwise the test before had ended every backend
        self._cleaner = psycopg.connect(self.url, autocommit=True)
        self._cleaner.execute("set lock_timeout = '20s'")
        self._empty(self._cleaner)

    def close(self) -> None:
        """Ends the backend that empties it; the pool is its maker's."""
        if self._cleaner is not None:
            self._cleaner.close()

    def _empty(self, conn: psycopg.Connection[tuple[object, ...]]) -> None:
        used = [str(name) for (name,) in conn.execute(self._looks)]
        with conn.transaction():
            if used:
                self._remove_rows(conn, used)
            with conn.cursor() as cursor:
                cursor.executemany(
                    "insert into settings (key, value) values (%s, %s) "
                    "on conflict (key) do update set value = excluded.value", self._seeds)
            if clock_definition(conn) != self._clock:
                conn.execute(self._clock)

    def _remove_rows(self, conn: psycopg.Connection[tuple[object, ...]], used: list[str]) -> None:
        """By DELETE, in a tenth of the time of TRUNCATE, which makes a new file for every table
        and index; by TRUNCATE once the rows that DELETE left dead have become many.
        """
        tables = sql.SQL(", ").join(map(sql.Identifier, used))
        row = conn.execute("select sum(pg_relation_size(quote_ident(name)::regclass))"
                           " from unnest(%s::text[]) name", (used,)).fetchone()
        if row is None or row[0] is None or int(str(row[0])) > BLOATED:
            conn.execute(sql.SQL("truncate {} restart identity cascade").format(tables))
            return
        # The lock waits for a writer that a test left behind; without the foreign keys and
        # triggers the order is of no account.
        conn.execute(sql.SQL("lock table {} in share row exclusive mode").format(tables))
        conn.execute("set local session_replication_role = replica")
        for name in used:
            conn.execute(sql.SQL("delete from {}").format(sql.Identifier(name)))
        for sequence in {self._sequences[name] for name in used if name in self._sequences}:
            conn.execute("select setval(%s, 1, false)", (sequence,))


def clock_definition(conn: psycopg.Connection[tuple[object, ...]]) -> str:
    """The statement that makes this database's `clock()` what it is now."""
    row = conn.execute("select pg_get_functiondef('clock()'::regprocedure)").fetchone()
    assert row is not None
    return str(row[0])


@pytest.fixture(scope="session")
def worker_id(request: pytest.FixtureRequest) -> str:
    """The name of this pytest worker, `master` when there is only one."""
    return str(getattr(request.config, "workerinput", {}).get("workerid", "master"))


@pytest.fixture
def db_url(worker_database: WorkerDatabase) -> str:
    """The URL of the database behind `db`, emptied for this test."""
    worker_database.empty()
    return worker_database.url


@pytest.fixture(scope="session")
def notifier(worker_database: WorkerDatabase) -> Iterator[Notifier]:
    """The sender of this worker's NOTIFYs, as a real process has one."""
    sender = Notifier(dial(worker_database.url))
    sender.start()
    yield sender
    sender.stop()


@pytest.fixture(scope="session")
def listener(worker_database: WorkerDatabase) -> Iterator[Listener]:
    """The one LISTEN of this worker on the database behind `db`."""
    hearer = Listener(dial(worker_database.url))
    hearer.start()
    assert hearer.is_listening(10)
    yield hearer
    hearer.stop()


@pytest.fixture
def db(db_url: str, worker_database: WorkerDatabase, notifier: Notifier) -> Database:
    """An empty, migrated database on the fast cluster.

    `db.feed.told` is what the verbs told the change feed; the notices are really sent, too.
    """
    return database_over(worker_database.pool, RecordingFeed(notifier))


@dataclass(frozen=True, slots=True)
class Fresh:
    """A database of one test's own: its URL and a `Database` on it."""

    url: str
    db: Database


@pytest.fixture
def fresh_database(fast_cluster: Databases, worker_id: str) -> Iterator[Fresh]:
    """A clone for one test, dropped after it: for real servers, or a clock moved under them."""
    name = f"fresh_{worker_id}_{next(_names)}"
    url = fast_cluster.create(name)
    with opened(url) as database:
        yield Fresh(url, database)
    fast_cluster.drop(name)


# --- the durable cluster -------------------------------------------------------------------------


@pytest.fixture(scope="session")
def _durable_session(worker_id: str) -> Iterator[Cluster]:
    home = Path(os.environ[HOME]) / f"durable-{worker_id}"  # goes with the run's folder
    home.mkdir()
    home.chmod(0o711)
    cluster = make_cluster(home, DURABLE)
    cluster.start()
    Databases(cluster.dsn(ANY)).make_template()
    yield cluster
    cluster.stop("immediate")
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def durable_cluster(_durable_session: Cluster) -> Iterator[Cluster]:
    """This worker's own cluster with safe settings; a test may stop("immediate") and start it."""
    _run(_durable_session)
    yield _durable_session
    _run(_durable_session)


def _run(cluster: Cluster) -> None:
    if not cluster.is_running():
        cluster.start()


@pytest.fixture
def durable_database(durable_cluster: Cluster) -> Iterator[Fresh]:
    """A clone on the durable cluster, after asserting that commits there are really kept."""
    databases = Databases(durable_cluster.dsn(ANY))
    name = f"durable_{next(_names)}"
    url = databases.create(name)
    assert_durable(url)
    with opened(url) as database:
        yield Fresh(url, database)
    _run(durable_cluster)
    databases.drop(name)


@pytest.fixture
def durable_db(durable_database: Fresh) -> Database:
    """A `Database` on the durable cluster."""
    return durable_database.db


def assert_durable(url: str) -> None:
    """Fails unless a commit on this cluster survives a crash; else crash tests prove nothing."""
    with psycopg.connect(url) as conn:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            row = conn.execute(sql.SQL("show {}").format(sql.Identifier(setting))).fetchone()
            assert row == ("on",), f"{setting} is {row}"
