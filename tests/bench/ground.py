"""The ground the bench stands on: a durable cluster, a real server, and todos by the million."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
class Place:
    """A database with one endpoint, whose queue is filled, among ten others."""

    name: str
    url: str
    endpoint: Endpoint
    queue_id: int
    token: str
    others: list[tuple[Endpoint, int]]
    conn: psycopg.Connection[tuple[object, ...]]

    def where(self, server_url: str = "") -> dict[str, object]:
        """What a caller's task needs to know."""
        return {"database_url": self.url, "endpoint": self.endpoint, "token": self.token,
                "server_url": server_url}

    def fill(self, pending: int) -> None:
        """Adds pending todos to the endpoint's queue."""
        self._insert(pending, "pending")
        self._settle()

    def fill_terminal(self, terminal: int = TERMINAL, parked: int = PARKED) -> None:
        """Adds the terminal todos, and the parked retries, that every table has after a while."""
        self._insert(terminal, "done")
        for endpoint, queue_id in self.others:
            self._park(parked // OTHERS, endpoint, queue_id)
        self._settle()

    def reset(self) -> None:
        """Puts what a sample claimed back, so that the next one finds what this one found."""
        self.conn.execute("truncate todo_attempts")
        self.conn.execute(
            "update todos set state = 'pending', owner = null, lease_expires_at = null, "
            "attempt = 0, attempts_total = 0, claimed_at = null, claimed_by_endpoint_id = null "
            "where queue_id = %(queue)s and state = 'claimed'", {"queue": self.queue_id})
        self.conn.execute("vacuum todos, bench_rows")

    def _settle(self) -> None:
        """Vacuums and analyses, as autovacuum would have by the time it matters."""
        self.conn.execute("vacuum (analyze) todos, todo_attempts, bench_rows")
        self.conn.execute("checkpoint")

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


class Ground:
    """One durable cluster and the places on it."""

    def __init__(self, databases: Databases, folder: Path) -> None:
        """Use ground() instead."""
        self._databases = databases
        self.folder = folder

    def place(self, name: str) -> Place:
        """A migrated database with its endpoints, and no todos yet."""
        url = self._databases.create(name)
        assert_durable(url)
        make = Make(url)
        endpoint = make.endpoint()
        others = [(other, int(make.queue_id(other)))
                  for other in (make.endpoint() for _ in range(OTHERS))]
        make.run("create table bench_rows (id int primary key, n bigint not null)")
        make.run("insert into bench_rows select n, 0 from generate_series(1, %s) n",
                 CALLERS_AT_MOST + 2)
        queue_id, token = int(make.queue_id(endpoint)), make.credential(endpoint)
        make.close()
        return Place(name, url, endpoint, queue_id, token, others, _filler(url))

    def clone(self, place: Place, name: str) -> Place:
        """A copy of a place nobody is connected to any more."""
        place.conn.close()
        url = self._databases.create(name, template=place.name)
        return replace(place, name=name, url=url, conn=_filler(url))

    @contextmanager
    def server(self, place: Place) -> Iterator[str]:
        """The URL of a real server on a place's database."""
        with opened(place.url) as database:
            fleet = Fleet(Fresh(place.url, database), self.folder)
            try:
                yield fleet.add(**RETENTION).url
            finally:
                fleet.close()


@contextmanager
def ground() -> Iterator[Ground]:
    """A durable cluster with a migrated template; then nothing."""
    home, folder = new_home(), Path(tempfile.mkdtemp(prefix="sbbench-"))
    cluster = make_cluster(home, DURABLE)
    try:
        cluster.start()
        databases = Databases(cluster.dsn(ANY))
        databases.make_template()
        yield Ground(databases, folder)
    finally:
        cluster.stop("immediate")
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def _filler(url: str) -> psycopg.Connection[tuple[object, ...]]:
    conn = psycopg.connect(url, autocommit=True)
    # Rows come in by the million, all of queues that exist: no check per row.
    conn.execute("set session_replication_role = replica")
    return conn
