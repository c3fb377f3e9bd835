"""The human who came first, for whom a start on a terminal prints a sign-in link."""

from __future__ import annotations

from app.db.database import Database, one
from app.db.statements import load
from app.domain.callers import Human

SQL = load("first_human")


def first_human(db: Database) -> Human | None:
    """The oldest human who may sign in; None on an empty database. (identity.md)"""
    with db.reading() as conn:
        return one(conn, SQL["read_first_human"], {}, Human)
