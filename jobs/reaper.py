"""Lapsed leases: pending again, or dead letter; sleeps to the earliest end of a lease."""

from __future__ import annotations

from app.db.database import Database
from app.transactions import sweeps
from app.transactions.sweeps import Swept

EVERY = 30.0  # seconds at the longest (todos.md, "Background jobs")


def run_once(db: Database) -> Swept:
    """End every lease that lapsed. Raises Unavailable."""
    return sweeps.reap(db)
