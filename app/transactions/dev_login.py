"""The development sign-in: one fixed human, no proof asked. Off unless a setting turns it on."""

from __future__ import annotations

from uuid import UUID

from app.db import minting
from app.db.database import Database, value
from app.db.statements import load
from app.transactions import people

SQL = load("dev_login")


def sign_in(db: Database) -> str:
    """Start a session of the development human, made on first use: the cookie token.

    The door has checked `SWITCHBOARD_DEV_LOGIN` (identity.md, routes).
    """
    with db.transaction() as conn:
        human_id = value(conn, SQL["insert_developer"], {"id": minting.new_id()})
    return people.create_session(db, UUID(str(human_id)), issuer="dev", provider_sub="dev")
