"""Moving time: `clock()` of the test's own database is replaced, and every timer is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

# Read from a table, so that a statement that is under way (a claim that waits for a lock inside a
# function) sees the clock move; a replaced function would be seen only by the next statement.
_INSTALL = """
create table if not exists moved_clock (
  frozen_at timestamptz, shift interval not null default '0', one boolean primary key default true
);
create or replace function clock() returns timestamptz language sql volatile
as $clock$
  select coalesce(c.frozen_at, clock_timestamp() + c.shift) from moved_clock c
$clock$
"""
_REAL = """
create or replace function clock() returns timestamptz language sql volatile
as $clock$ select clock_timestamp() $clock$
"""
_MOVE = """
insert into moved_clock (frozen_at, shift) values (%s, %s)
on conflict (one) do update set frozen_at = excluded.frozen_at, shift = excluded.shift
"""


class Clock:
    """The clock of one database, as a test moves it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._frozen_at: datetime | None = None
        self._offset = timedelta()

    def set(self, instant: datetime | str) -> datetime:
        """Stops the clock at `instant` (aware, or RFC 3339 text) and returns that."""
        at = datetime.fromisoformat(instant) if isinstance(instant, str) else instant
        assert at.tzinfo is not None, "an instant has a zone"
        self._frozen_at = at.astimezone(UTC)
        self._move()
        return self._frozen_at

    def advance(self, seconds: float) -> None:
        """Moves the clock by `seconds`; a stopped clock stays stopped, a running one runs on."""
        if self._frozen_at is not None:
            self.set(self._frozen_at + timedelta(seconds=seconds))
            return
        self._offset += timedelta(seconds=seconds)
        self._move()

    def real(self) -> None:
        """Gives the clock back to Postgres."""
        self._frozen_at, self._offset = None, timedelta()
        with psycopg.connect(self._url, autocommit=True) as conn:
            conn.execute(_REAL)
            conn.execute("notify queue_changed, '{}'")

    def now(self) -> datetime:
        """Reads the clock."""
        with psycopg.connect(self._url) as conn:
            row = conn.execute("select clock()").fetchone()
        assert row is not None
        assert isinstance(row[0], datetime)
        return row[0].astimezone(UTC)

    def _move(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as conn:
            if "moved_clock" not in _definition(conn):
                with conn.transaction():
                    conn.execute(_INSTALL)
                    conn.execute(_MOVE, (self._frozen_at, self._offset))
            else:
                conn.execute(_MOVE, (self._frozen_at, self._offset))
            conn.execute("notify queue_changed, '{}'")


def _definition(conn: psycopg.Connection) -> str:
    row = conn.execute("select pg_get_functiondef('clock()'::regprocedure)").fetchone()
    return str(row[0]) if row else ""


@pytest.fixture
def clock(db_url: str) -> Clock:
    """The clock of the database behind `db`; emptying that database makes it real again."""
    return Clock(db_url)
