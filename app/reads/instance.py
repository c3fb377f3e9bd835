"""Settings of the instance: rows of `settings`, changed by `switchboard admin setting`."""

from __future__ import annotations

from app.db.database import Database, value
from app.db.statements import load

SQL = load("instance")

SSE_RETRY_MS = 3000


def sse_retry_ms(db: Database) -> int:
    """How long a lost agent stream waits before it opens again; raises Unavailable."""
    with db.reading() as conn:
        found = value(conn, SQL["read_setting"], {"key": "sse_retry_ms"})
    return int(found) if isinstance(found, str) and found.isascii() and found.isdigit() else (
        SSE_RETRY_MS
    )
