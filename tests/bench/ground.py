"""The ground the bench stands on: a durable cluster, a real server, and todos by the million."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from app.domain.callers import Endpoint
from tests.support.cluster import ANY, DURABLE, make_cluster, new_home
from tests.support.make import Make
from tests.support.pg import Databases, Fresh, assert_durable, opened
from tests.support.servers import Fleet

TERMINAL = 1_000_000
PARKED = 20_000  # retries that are not due, in other queues: the due index must not be empty
OTHERS = 10
CALLERS_AT_MOST = 50
# The pruner deletes beyond these, and would measure itself.
RETENTION = {"SWITCHBOARD_RETENTION_TODOS_PER_OWNER": "100000000",
             "SWITCHBOARD_RETENTION_EVENTS_PER_OWNER": "100000000"}


@dataclass(frozen=True, slots=True)
class Ground:
    """A database with one endpoint whose queue is filled, and a server on it."""

    url: str
    endpoint: Endpoint
    queue_id: int
    server_url: str
    token: str
    others: list[tuple[Endpoint, int]]
    conn: psycopg.Connection[tuple[object, ...]]

    def where(self) -> dict[str, object]:
        """What a caller's task needs to know."""
        return {"database_url": self.url, "endpoint": self.endpoint, "token": self.token,
                "server_url": self.server_url}

    def fill(self, pending: int) -> None:
        """Brings the queue to exactly `pending` pending todos and nothing in flight."""
        self._put_back()
        self.conn.execute(
            "delete from todos where id in (select id from todos where state = 'pending' "
            "and queue_id = %(queue)s order by created_at, id offset %(kept)s)",
            {"queue": self.queue_id, "kept": pending})
        self._insert(pending - self._pending(), "pending")
        self._settle()

    def fill_terminal(self) -> None:
        """Adds the terminal todos, and the parked retries, that every table has after a while."""
        self._insert(TERMINAL, "done")
        for endpoint, queue_id in self.others:
            self._park(PARKED // OTHERS, endpoint, queue_id)
        self._settle()

    def reset(self) -> None:
        """Puts what a sample claimed back, so that the next one finds what this one found."""
        self._put_back()
        self.conn.execute("vacuum todos, bench_rows")

    def _settle(self) -> None:
        """Vacuums and analyses, as autovacuum would have by the time it matters."""
        self.conn.execute("vacuum (analyze) todos, todo_attempts, bench_rows")
        self.conn.execute("checkpoint")

    def _put_back(self) -> None:
        self.conn.execute("truncate todo_attempts")
        self.conn.execute(
            "update todos set state = 'pending', owner = null, lease_expires_at = null, "
            "attempt = 0, attempts_total = 0, claimed_at = null, claimed_by_endpoint_id = null "
            "where queue_id = %(queue)s and state = 'claimed'", {"queue": self.queue_id})

    def _insert(self, number: int, state: str) -> None:
        self.conn.execute(
            "insert into todos (id, queue_id, endpoint_id, source, title, state, created_at, "
            "updated_at, completed_at) "
            "select 'td_' || replace(gen_random_uuid()::text, '-', ''), %(queue)s, %(endpoint)s, "
            "'operator', 'todo ' || n, %(state)s, at, at, "
            "case when %(state)s = 'done' then at end "
            "from (select n, clock() - interval '1 day' + n * interval '1 millisecond' as at "
            "from generate_series(1, %(number)s) n) rows",
            {"queue": self.queue_id, "endpoint": self.endpoint.id, "state": state,
             "number": number})

    def _park(self, number: int, endpoint: Endpoint, queue_id: int) -> None:
        self.conn.execute(
            "insert into todos (id, queue_id, endpoint_id, source, title, state, attempt, "
            "attempts_total, next_retry_at) "
            "select 'td_' || replace(gen_random_uuid()::text, '-', ''), %(queue)s, %(endpoint)s, "
            "'operator', 'todo ' || n, 'failed', 1, 1, clock() + interval '1 day' "
            "from generate_series(1, %(number)s) n",
            {"queue": queue_id, "endpoint": endpoint.id, "number": number})

    def _pending(self) -> int:
        row = self.conn.execute(
            "select count(*) from todos where state = 'pending' and queue_id = %(queue)s",
            {"queue": self.queue_id}).fetchone()
        assert row is not None
        return int(str(row[0]))


@contextmanager
def ground() -> Iterator[Ground]:
    """A durable cluster with one migrated database, one endpoint and one server; then nothing."""
    home, folder = new_home(), Path(tempfile.mkdtemp(prefix="sbbench-"))
    cluster = make_cluster(home, DURABLE)
    try:
        cluster.start()
        databases = Databases(cluster.dsn(ANY))
        databases.make_template()
        url = databases.create("bench")
        assert_durable(url)
        with opened(url) as database:
            fleet = Fleet(Fresh(url, database), folder)
            try:
                yield from _with_server(fleet)
            finally:
                fleet.close()
    finally:
        cluster.stop("immediate")
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def _with_server(fleet: Fleet) -> Iterator[Ground]:
    make: Make = fleet.make
    endpoint = make.endpoint()
    queue_id = make.queue_id(endpoint)
    others = [(other, int(make.queue_id(other))) for other in (
        make.endpoint() for _ in range(OTHERS))]
    make.run("create table bench_rows (id int primary key, n bigint not null)")
    make.run("insert into bench_rows select n, 0 from generate_series(1, %s) n",
             CALLERS_AT_MOST + 2)
    server = fleet.add(**RETENTION)
    with psycopg.connect(fleet.database_url, autocommit=True) as conn:
        # Rows come in by the million, all of one queue that exists: no check per row.
        conn.execute("set session_replication_role = replica")
        yield Ground(fleet.database_url, endpoint, int(queue_id), server.url,
                     make.credential(endpoint), others, conn)
