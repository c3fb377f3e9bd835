"""One leader at a time, and another within a second when it dies."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from app.db.direct import dial
from jobs.leader import Leader
from tests.support.wait import wait_for

ROOT = Path(__file__).parents[2]
_LEAD = """
import sys
from app.db.direct import dial
from jobs.leader import Leader
leader = Leader(dial(sys.argv[1], server_keepalives=True))
print(leader.leads(), flush=True)
sys.stdin.read()
"""


def test_one_leads_and_the_next_when_it_resigns(db_url: str) -> None:
    one, other = Leader(dial(db_url)), Leader(dial(db_url))

    assert (one.leads(), one.leads(), other.leads(), other.leads()) == (True, True, False, False)
    one.resign()
    wait_for(other.leads)
    assert not one.leads()
    one.resign()
    other.resign()


def test_a_leader_that_loses_its_connection_leads_no_longer(db_url: str) -> None:
    leader = Leader(dial(db_url))
    assert leader.leads()
    with psycopg.connect(db_url, autocommit=True) as conn:
        conn.execute(
            "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' "
            "and database = (select oid from pg_database where datname = current_database())"
        )

    assert not leader.leads()
    wait_for(leader.leads)
    leader.resign()


def test_a_killed_leader_is_replaced_within_a_second(db_url: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _LEAD, db_url], cwd=ROOT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        heir = Leader(dial(db_url, server_keepalives=True))
        assert not heir.leads()

        process.kill()
        killed = time.monotonic()
        wait_for(heir.leads)
        assert time.monotonic() - killed < 1.0
    heir.resign()


def test_an_outage_is_no_leadership_and_is_logged_once(
    db_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    is_away = True

    def connect() -> psycopg.Connection:
        if is_away:
            raise psycopg.OperationalError("away")
        return dial(db_url)()

    leader = Leader(connect)

    assert [leader.leads() for _ in range(3)] == [False] * 3
    assert caplog.text.count("database away") == 1
    is_away = False
    assert leader.leads()
    leader.resign()
