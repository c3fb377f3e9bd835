"""Whether a pooler stands between, told by the process it names; on a session of our own: no."""

from __future__ import annotations

import psycopg
import pytest

from app.db import direct
from app.db.database import open_pool
from app.db.direct import dial, is_pooled
from jobs.leader import Leader


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every connection names a process of its own, as a pooler's does."""
    monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", property(lambda _: 1))


def test_a_session_of_our_own_is_kept_alive_by_the_server_and_one_behind_a_pooler_left_alone(
    db_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[object] = []
    monkeypatch.setattr(direct, "is_pooled", lambda conn: said.append(conn) or len(said) > 1)
    changed = ("select count(*) from pg_settings where source = 'session'"
               " and name like 'tcp_keepalives%%'")

    with dial(db_url, server_keepalives=True)() as own:
        kept = own.execute(changed).fetchone()
    with dial(db_url, server_keepalives=True)() as pooled:
        left = pooled.execute(changed).fetchone()

    assert (kept, left) == ((3,), (0,))


@pytest.mark.usefixtures("hidden")
def test_behind_a_pooler_nothing_is_prepared_though_nobody_said_so(db_url: str) -> None:
    pool = open_pool(db_url, size=1, prepare=True)
    with pool.connection() as conn:
        assert is_pooled(conn)
        for _ in range(10):
            conn.execute("select 1 where %s = 1", [1])
        prepared = conn.execute("select count(*) from pg_prepared_statements").fetchone()
    pool.close()

    assert prepared == (0,)


@pytest.mark.usefixtures("hidden")
def test_behind_a_pooler_everyone_leads_and_no_lock_outlives_its_holder(db_url: str) -> None:
    one, other = Leader(dial(db_url)), Leader(dial(db_url))

    assert (one.leads(), other.leads()) == (True, True)
    with psycopg.connect(db_url) as conn:
        held = conn.execute("select count(*) from pg_locks where locktype = 'advisory'"
                            " and database = (select oid from pg_database"
                            " where datname = current_database())").fetchone()
    one.resign()
    other.resign()

    assert held == (0,)
