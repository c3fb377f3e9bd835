"""Changing a setting of the instance; every server reads it afresh, so none is restarted."""

from __future__ import annotations

from app.db.database import Database, run
from app.db.statements import load
from app.domain import instance_settings

SQL = load("instance_write")


def set_setting(db: Database, key: str, text: str) -> str:
    """Store a setting and answer its value as stored.

    Raises InvalidArgument for an unknown key or a value that will not do. (cli.md, `admin setting`)
    """
    stored = instance_settings.checked(key, text)
    with db.transaction() as conn:
        run(conn, SQL["upsert_setting"], {"key": key, "value": stored})
    return stored
