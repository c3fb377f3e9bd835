"""Watches the clock for everyone with a shift or an override: who is in, who is out (push.md).

A timer is armed for the next edge; the sweep every 30 s is the backstop. Correct with two leaders:
each edge is won by one conditional update.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from uuid import UUID

from app.db.database import Database
from app.transactions import presence_sweep
from app.transactions.presence_sweep import Look, Sweep

EVERY = 30.0
MOST = 100  # endpoints settled in one turn, each in a transaction of its own

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Timekeeper:
    """Remembers what the sweep before saw, and until when that holds."""

    looks: dict[UUID, Look] = field(default_factory=dict)

    def run_once(self, db: Database) -> Sweep:
        """One bounded turn. Raises Unavailable."""
        swept = presence_sweep.settle_due(db, self.looks, most=MOST)
        self.looks = swept.looks
        if swept.settled:
            _log.info("presence settled=%s", swept.settled)
        return swept
