"""Grouped commit, an option: claims of one queue share a disk flush, and nobody hears before it.

A hot queue can do one claim per flush, because its policy's lock is held through the commit. With
the option on, and only when somebody waits at the gate, the claim commits without its own flush
and this barrier follows before anything is answered, counted, rung or notified.
"""

from __future__ import annotations

import psycopg
from psycopg import errors, sql

from app.db.database import Connection, Database
from app.db.statements import load
from app.domain.errors import OutcomeUnknown, Unavailable

SQL = load("barrier")

# A cancelled wait for a missing standby makes COMMIT *succeed* with this warning.
_WARNING = "01000"


def defer_flush() -> sql.SQL:
    """The statement that makes the open transaction's commit return before its flush."""
    return SQL["defer_flush"]


def flush(conn: Connection) -> None:
    """Flush all that was committed before. Raises OutcomeUnknown when that is not certain."""
    doubts: list[str] = []

    def doubt(notice: errors.Diagnostic) -> None:
        if notice.sqlstate == _WARNING:
            doubts.append(notice.message_primary or _WARNING)

    conn.add_notice_handler(doubt)
    try:
        conn.execute(SQL["begin_barrier"])
        conn.execute(SQL["write_barrier"])
        conn.execute(SQL["commit_barrier"])
    except psycopg.Error as fault:
        raise OutcomeUnknown from fault
    finally:
        conn.remove_notice_handler(doubt)
    if doubts:
        raise OutcomeUnknown


def flush_for_replay(db: Database) -> None:
    """Before a claim is answered again: it may be looking at a commit not yet on disk (R61).

    Nothing to do while the option is off.
    """
    if not db.has_grouped_commit:
        return
    try:
        with db.reading() as conn:
            flush(conn)
    except Unavailable as away:
        raise OutcomeUnknown from away
