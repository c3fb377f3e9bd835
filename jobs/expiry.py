"""Endpoints whose lifetime is over end as if revoked; sleeps to the earliest of them."""

from __future__ import annotations

from app.db.database import Database
from app.transactions import sweeps
from app.transactions.sweeps import Expired

EVERY = 30.0  # seconds at the longest (todos.md, "Background jobs")


def run_once(db: Database) -> Expired:
    """Revoke every endpoint that expired. Raises Unavailable."""
    return sweeps.expire(db)
