"""Whether the pages of one session update themselves (board.md, "Pause live updates")."""

from __future__ import annotations

from app.db.database import Database, run
from app.db.statements import load

SQL = load("live_pause")


def pause_live(db: Database, token_hash: str) -> None:
    """Stop the live updates of a session, from now; a session already paused keeps its time."""
    with db.transaction() as conn:
        run(conn, SQL["mark_live_paused"], {"token_hash": token_hash})


def resume_live(db: Database, token_hash: str) -> None:
    """Let the pages of a session update themselves again."""
    with db.transaction() as conn:
        run(conn, SQL["mark_live_resumed"], {"token_hash": token_hash})
