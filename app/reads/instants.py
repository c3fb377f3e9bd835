"""What time it is, by the only clock that decides anything (data.md, "The clock")."""

from __future__ import annotations

from datetime import datetime

from app.db.database import Database


def now(db: Database) -> datetime:
    """The database's `clock()`, aware. Raises Unavailable."""
    with db.reading() as conn:
        return db.now(conn)
