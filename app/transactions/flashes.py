"""The sentence that the next page says once: kept in the session, so any process may show it."""

from __future__ import annotations

import logging

from app.db.database import Database, jsonb, run, value
from app.db.statements import load
from app.domain.errors import OutcomeUnknown, Unavailable

SQL = load("flashes")

log = logging.getLogger(__name__)


def keep(db: Database, token_hash: str, sentence: str) -> None:
    """Keep what an act has to say for the session's next page; a later one takes its place.

    A database that is away now is no error: the act itself is done, and its answer must not
    read as if it were not. (identity.md, "Sessions and pages")
    """
    params = {"token_hash": token_hash, "flash": jsonb(sentence)}
    try:
        with db.transaction() as conn:
            run(conn, SQL["mark_flash"], params)
    except (Unavailable, OutcomeUnknown) as error:
        log.warning("flash_missed reason=%s", error.code)


def take(db: Database, token_hash: str) -> str | None:
    """The sentence kept for the session, taken out of it: of many readers one gets it.

    None when there is none, or when the database is away: the page has more to show.
    """
    try:
        with db.transaction() as conn:
            said = value(conn, SQL["mark_flash_said"], {"token_hash": token_hash})
    except (Unavailable, OutcomeUnknown) as error:
        log.warning("flash_unread reason=%s", error.code)
        return None
    return said if isinstance(said, str) else None
