"""The pruner: terminal todos, old events, windows, spent credentials; at start, then hourly."""

from __future__ import annotations

from app.db.database import Database
from app.transactions import pruning
from app.transactions.pruning import Pruned, Retention

EVERY = 3600.0  # seconds (data.md, "Retention")


def run_once(db: Database, retention: Retention) -> Pruned:
    """Delete what retention allows. Raises Unavailable."""
    return pruning.prune(db, retention)
