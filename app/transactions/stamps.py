"""When a credential was last used, written at most once a minute and never in a claim's way."""

from __future__ import annotations

import logging

from app.db.database import Database, run
from app.db.statements import load
from app.domain.callers import Endpoint
from app.domain.errors import OutcomeUnknown, Unavailable

SQL = load("stamps")

log = logging.getLogger(__name__)


def touch_endpoint(db: Database, endpoint: Endpoint, *, grant_hash: str | None) -> None:
    """Stamp `last_seen_at`, and the agent grant's `last_used_at` when one was shown.

    Its own transaction, so that it never shares a lock or a fate with the call it precedes
    (agent-api.md, "Transport").
    """
    _stamp(db, "mark_endpoint_seen", {"endpoint_id": endpoint.id})
    if grant_hash is not None:
        touch_token(db, grant_hash)


def touch_token(db: Database, token_hash: str) -> None:
    """Stamp `last_used_at` of an operator token or a grant (data.md, oauth_tokens)."""
    _stamp(db, "mark_token_used", {"token_hash": token_hash})


def touch_session(db: Database, token_hash: str) -> None:
    """Move a session's end to 12 hours from now, 30 days after sign-in at the latest."""
    _stamp(db, "mark_session_used", {"token_hash": token_hash})


def _stamp(db: Database, statement: str, params: dict[str, object]) -> None:
    try:
        with db.transaction() as conn:
            run(conn, SQL[statement], params)
    except (Unavailable, OutcomeUnknown) as error:
        # A stamp is a convenience: the request it belongs to still deserves its own answer.
        log.warning("stamp_missed statement=%s reason=%s", statement, error.code)
