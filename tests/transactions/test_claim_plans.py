"""A claim reads the pending and the due index of its queue and no other, however skewed the table.

`python3 tests bench` shows the same at a million; this is the guard of every day.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from app.db.statements import load
from tests.bench.ground import Place
from tests.bench.plans import MAY_READ, explain, plans
from tests.support.make import Make

TERMINAL, PARKED, PENDING, OTHERS = 20_000, 300, 2_000, 10


@pytest.fixture
def skewed(make: Make, db_url: str) -> Iterator[Place]:
    """One queue with nearly all todos, and the parked retries in ten others."""
    endpoint = make.endpoint()
    others = [(other, int(make.queue_id(other)))
              for other in (make.endpoint() for _ in range(OTHERS))]
    make.run("create table if not exists bench_rows (id int primary key, n bigint not null)")
    with psycopg.connect(db_url, autocommit=True) as conn:
        conn.execute("set session_replication_role = replica")
        place = Place("skewed", db_url, endpoint, int(make.queue_id(endpoint)), "", others, conn)
        place.fill_terminal(TERMINAL, PARKED)
        place.fill(PENDING)
        yield place
        conn.execute("drop table bench_rows")


def test_a_claim_reads_only_the_pending_and_the_due_index_of_its_queue(skewed: Place) -> None:
    read = {name: indexes for name, indexes, _ in plans(skewed)}

    assert read == MAY_READ


def test_the_scheduler_has_an_index_of_its_own(skewed: Place) -> None:
    sweeps = load("sweeps")

    assert explain(skewed.conn, sweeps["read_next_retry"], {})[0] == {"todos_next_retry"}
    assert explain(skewed.conn, sweeps["pick_due"], {"batch": 10})[0] == {"todos_next_retry"}
