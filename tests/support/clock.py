"""Moving time: `clock()` of the test's own database is replaced, and every timer is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

_BODY = """
create or replace function clock() returns timestamptz language sql volatile
as $clock$ select {expression} $clock$
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
        self._replace(f"'{self._frozen_at.isoformat()}'::timestamptz")
        return self._frozen_at

    def advance(self, seconds: float) -> None:
        """Moves the clock by `seconds`; a stopped clock stays stopped, a running one runs on."""
        if self._frozen_at is not None:
            self.set(self._frozen_at + timedelta(seconds=seconds))
            return
        self._offset += timedelta(seconds=seconds)
        microseconds = round(self._offset.total_seconds() * 1_000_000)
        self._replace(f"clock_timestamp() + {microseconds} * interval '1 microsecond'")

    def real(self) -> None:
        """Gives the clock back to Postgres."""
        self._frozen_at, self._offset = None, timedelta()
        self._replace("clock_timestamp()")

    def now(self) -> datetime:
        """Reads the clock."""
        with psycopg.connect(self._url) as conn:
            row = conn.execute("select clock()").fetchone()
        assert row is not None
        assert isinstance(row[0], datetime)
        return row[0].astimezone(UTC)

    def _replace(self, expression: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as conn:
            conn.execute(_BODY.format(expression=expression))
            conn.execute("notify queue_changed, '{}'")


@pytest.fixture
def clock(db_url: str) -> Clock:
    """The clock of the database behind `db`; emptying that database makes it real again."""
    return Clock(db_url)
