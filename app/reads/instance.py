"""Settings of the instance: rows of `settings`, changed by `switchboard admin setting`."""

from __future__ import annotations

from dataclasses import dataclass

from app.db.database import Database, many, value
from app.db.statements import load
from app.domain.instance_settings import Setting, settings_of

SQL = load("instance")

SSE_RETRY_MS = 3000


@dataclass(frozen=True, slots=True)
class _Row:
    key: str
    value: str


def stored_settings(db: Database) -> list[Setting]:
    """Every setting with its value or default, by name; raises Unavailable."""
    with db.reading() as conn:
        rows = many(conn, SQL["list_settings"], {}, _Row)
    return settings_of({row.key: row.value for row in rows})


def sse_retry_ms(db: Database) -> int:
    """How long a lost agent stream waits before it opens again; raises Unavailable."""
    with db.reading() as conn:
        found = value(conn, SQL["read_setting"], {"key": "sse_retry_ms"})
    return int(found) if isinstance(found, str) and found.isascii() and found.isdigit() else (
        SSE_RETRY_MS
    )
