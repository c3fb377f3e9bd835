"""Which of several servers runs the jobs: the holder of one advisory lock, for as long as it lives.

For economy only: every sweep is correct with two leaders. So where a pooler stands between and no
session is a candidate's own, the lock would outlive its holder, and everyone leads.
"""

from __future__ import annotations

import logging

import psycopg

from app.db.direct import Connect, bounded, is_pooled

_log = logging.getLogger(__name__)

LOCK = 5_017_000_301  # any number nobody else uses in this database


class Leader:
    """One candidate, with a direct connection of its own that holds the lock or asks for it."""

    def __init__(self, connect: Connect) -> None:
        """`connect` opens an autocommit connection direct to Postgres."""
        self._connect = connect
        self._connection: psycopg.Connection | None = None
        self._leads = False
        self._was_away = False

    def leads(self) -> bool:
        """Say whether this process leads now, trying to; asks the connection that holds the lock.

        An outage is False and logged once. Ask about every 0.5 s: a dead leader is replaced so.
        """
        try:
            if self._connection is None:
                self._connection = self._connect()
            with bounded(self._connection):
                has_it = self._leads or is_pooled(self._connection)
                query = "select true" if has_it else "select pg_try_advisory_lock(%(lock)s)"
                row = self._connection.execute(query, {"lock": LOCK}).fetchone()
        except psycopg.Error as error:
            self._note_outage(error)
            self.resign()
            return False
        self._was_away = False
        if row == (True,) and not self._leads:
            _log.info("this process leads the jobs")
        self._leads = row == (True,)
        return self._leads

    def resign(self) -> None:
        """Let go of the lock, by closing the connection that holds it."""
        self._leads = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _note_outage(self, error: psycopg.Error) -> None:
        if not self._was_away:
            _log.warning("jobs leader: database away: %s", error)
        self._was_away = True
