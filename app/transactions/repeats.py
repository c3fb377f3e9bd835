"""How often a todo's key was met again: what a page says, and nothing more (todos.md, "Dedup")."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import psycopg

from app.db.database import Database, run
from app.db.statements import load
from app.domain.errors import Unavailable

SQL = load("repeats")

log = logging.getLogger(__name__)


def note(db: Database, todo_ids: Iterable[str]) -> None:
    """After the commit, in a statement of its own: these todos answered one more create.

    It takes no lock on a todo, so a redelivery never waits for a claim; what cannot be counted
    is only logged, for the create has its answer.
    """
    ids = sorted(set(todo_ids))
    if not ids:
        return
    try:
        with db.reading() as conn:
            run(conn, SQL["count_repeats"], {"todo_ids": ids})
    except (psycopg.Error, Unavailable):
        log.warning("todo_repeats_not_counted count=%s", len(ids))
