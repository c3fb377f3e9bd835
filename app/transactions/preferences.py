"""What a person sets for themselves: the zone and look of their pages, and what is announced."""

from __future__ import annotations

import logging
from collections.abc import Container

from app.db.database import Database, run
from app.db.statements import load
from app.domain import zones
from app.domain.callers import Human
from app.domain.errors import InvalidArgument, NotFound, OutcomeUnknown, Unavailable
from app.domain.tokens import hash_token

SQL = load("preferences")

THEMES = ("system", "light", "dark")
ANNOUNCEMENTS = ("counts_and_status", "status_only")

log = logging.getLogger(__name__)


def save(db: Database, human: Human, *, zone: str, theme: str, announce: str) -> None:
    """Save a person's own settings; they hold from the next page on, in every browser.

    Raises InvalidArgument on `zone` (not an embedded one), `theme` or `announce`; NotFound when
    the person is suspended. (board.md, "Shell")
    """
    _require_one_of(zone, zones.zone_names(), "zone")
    _require_one_of(theme, THEMES, "theme")
    _require_one_of(announce, ANNOUNCEMENTS, "announce")
    params = {"human_id": human.id, "zone": zone, "theme": theme, "announce": announce}
    with db.transaction() as conn:
        if run(conn, SQL["mark_preferences"], params) == 0:
            raise NotFound


def offer_zone(db: Database, session_token: str, zone: str) -> None:
    """Take the browser's zone for the person of a session who has none set; never replace one.

    An offer, so nothing of it is an error: not a zone we do not know, nor a database that is
    away, for the request it came with has done more than this. (board.md, "Queue header")
    """
    if zone not in zones.zone_names():
        return
    try:
        with db.transaction() as conn:
            run(conn, SQL["mark_zone"], {"token_hash": hash_token(session_token), "zone": zone})
    except (Unavailable, OutcomeUnknown) as error:
        log.warning("zone_missed reason=%s", error.code)


def _require_one_of(value: str, allowed: Container[str], field: str) -> None:
    if value not in allowed:
        raise InvalidArgument(f"{field}: not one that can be chosen.", field=field)
