"""Whether this process could serve a request now."""

from __future__ import annotations

from app.db import migrate
from app.db.database import Database
from app.domain.errors import Unavailable


def require_ready(db: Database) -> None:
    """Raise Unavailable unless a connection is to be had and every migration is applied.

    Waiting for a connection has the limit every request has, so a pool that stays exhausted for
    that long is not ready. (contract/cli.md, "Health")
    """
    with db.reading() as conn:
        behind = migrate.pending(conn)
    if behind:
        raise Unavailable
