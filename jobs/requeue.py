"""The retry scheduler: failed todos whose wait is over; sleeps to the earliest of them."""

from __future__ import annotations

from app.db.database import Database
from app.transactions import sweeps
from app.transactions.sweeps import Swept

EVERY = 30.0  # seconds at the longest (todos.md, "Background jobs")


def run_once(db: Database) -> Swept:
    """Make every due retry pending. Raises Unavailable."""
    return sweeps.requeue(db)
