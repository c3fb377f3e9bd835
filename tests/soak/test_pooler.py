"""Behind pgbouncer in transaction mode: the suite's database tests, and what a start-up says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from app.db import migrate
from app.db.database import open_pool
from app.db.direct import dial, is_pooled
from jobs.leader import Leader
from tests.support import pooler
from tests.support.cluster import new_home, own_account
from tests.support.pg import Databases, Fresh
from tests.support.servers import Fleet, agent
from tests.support.wait import wait_for

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests/db", "tests/jobs", "tests/reads", "tests/transactions", "tests/api")
RACES = (
    "tests/race/test_budget_races.py", "tests/race/test_claims.py",
    "tests/race/test_doorbells.py", "tests/race/test_hooks.py", "tests/race/test_live.py",
    "tests/race/test_metrics.py", "tests/race/test_presence.py",
)
_PASSED = re.compile(r"^(\d+) passed", re.MULTILINE)


@pytest.fixture(scope="module")
def front(fast_cluster: Databases) -> Iterator[Path]:
    """A pooler before the fast cluster: its folder."""
    home = new_home()
    with pooler.running(home, fast_cluster.url("postgres"), own_account()) as folder:
        yield folder
    shutil.rmtree(home)


@pytest.fixture
def way(front: Path, fresh_database: Fresh) -> str:
    """A database of the test's own, by way of the pooler."""
    return pooler.through(front, fresh_database.url)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("tests", "least"), [(FOLDERS, 1000), (RACES, 40)], ids=["folders", "races"])
@pytest.mark.rule("issue D: behind pgbouncer with a direct URL everything works, nothing leaks")
def test_the_database_tests_pass_behind_a_pooler_and_nothing_stays_on_its_sessions(
    tests: tuple[str, ...], least: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--color=no", "-rfE", "-p", "no:cacheprovider",
         "--tb=short", *tests],
        cwd=ROOT, env=child_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    passed = _PASSED.search(done.stdout)
    assert passed is not None
    assert int(passed[1]) >= least


def child_environment() -> dict[str, str]:
    """Ours, for a short run of its own behind a pooler; each database is searched as it goes."""
    ours = {name: value for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "TESTS_"))}
    return {**ours, pooler.SWITCH: "1"}


@pytest.mark.parametrize(("left", "found"), [
    ("set lock_timeout = '1s'", "setting lock_timeout = 1000"),
    ("set statement_timeout = '1s'", "setting statement_timeout = 1000"),
    ("set idle_in_transaction_session_timeout = '1s'",
     "setting idle_in_transaction_session_timeout = 1000"),
    ("set session characteristics as transaction isolation level serializable",
     "setting default_transaction_isolation = serializable"),
    ("set session characteristics as transaction read only",
     "setting default_transaction_read_only = on"),
    ("prepare kept as select 1", "prepared statement kept"),
    ("listen kept", "channel kept"),
    ("select pg_advisory_lock(1)", "advisory lock 0/1"),
    ("create temporary table kept (one integer)", "temporary table kept"),
])
@pytest.mark.rule("house.md: a test that cannot fail proves nothing")
def test_what_a_client_leaves_on_a_session_is_found(
    way: str, left: LiteralString, found: str
) -> None:
    pooler.assert_nothing_leaked(way)
    with psycopg.connect(way, autocommit=True, prepare_threshold=None) as conn:
        conn.execute(left)

    with pytest.raises(AssertionError, match=re.escape(found)):
        pooler.assert_nothing_leaked(way)


@pytest.mark.rule("issue D: without a direct URL start-up says what is missing, polling serves")
def test_without_a_direct_url_start_up_says_so_and_claims_and_jobs_go_on(
    fleet: Fleet, front: Path
) -> None:
    way = pooler.through(front, fleet.database_url)
    server = fleet.add(SWITCHBOARD_DATABASE_URL=way)
    make, endpoint = fleet.make, fleet.make.endpoint()
    calls = agent(server.url, make.credential(endpoint))

    assert "set SWITCHBOARD_DATABASE_DIRECT_URL" in server.words()
    for _ in range(40):  # more than psycopg waits for before it would prepare
        todo = make.todo(endpoint)
        claimed = calls.call("claim_next", wait_seconds=2)
        assert claimed.status == 200
        assert todo in claimed.body.decode()
        assert calls.call("complete", id=todo).status == 200
    todo = make.todo(endpoint)
    assert calls.call("claim_next").status == 200
    fleet.clock.advance(3600)
    wait_for(lambda: make.value("select state from todos where id = %s", todo) == "pending", 60,
             what="the jobs took back a lease that ran out")


def test_two_leaders_behind_a_pooler_both_lead_and_hold_no_lock(way: str) -> None:
    one, other = (Leader(dial(way, server_keepalives=True)) for _ in range(2))

    assert one.leads()
    assert other.leads()
    one.resign()
    other.resign()
    pooler.assert_nothing_leaked(way)


def test_a_pool_that_meets_a_pooler_prepares_nothing(way: str) -> None:
    pool = open_pool(way, size=4, prepare=True)
    for _ in range(40):  # each of its connections more often than psycopg waits for
        with pool.connection() as conn:
            conn.execute("select 1 where %s = 1", [1])
            assert is_pooled(conn)
    pool.close()

    pooler.assert_nothing_leaked(way)


def test_a_new_database_is_migrated_by_way_of_a_pooler(
    front: Path, fast_cluster: Databases
) -> None:
    url = fast_cluster.create("unmigrated", template="template0")
    way = pooler.through(front, url)

    assert migrate.migrate(way)
    assert migrate.migrate(way) == []
    pooler.assert_nothing_leaked(way)
    fast_cluster.drop("unmigrated")
