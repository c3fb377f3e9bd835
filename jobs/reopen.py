"""Rings for queues that open by the clock, and makes up for every mark or ring that was lost.

A timer is armed for the first boundary among marked queues, so that the ring goes out within a
second of it; the sweep every 30 s is the backstop (contract push.md, "Reopen").
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from app.db.database import Database
from app.transactions import reopen_sweep

EVERY = 30.0
MOST = 100  # rings in one turn, and queues looked at for a lost mark

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Reopener:
    """Remembers when lost marks were looked for, and how far that look has come."""

    looked_at: float = float("-inf")
    after: int = 0

    def run_once(self, db: Database) -> reopen_sweep.Sweep:
        """One bounded turn. Raises Unavailable."""
        swept = reopen_sweep.ring_due(db, most=MOST)
        # Notices come twice a second; a lost mark is rare and may wait.
        if time.monotonic() - self.looked_at >= EVERY:
            swept.marked, self.after = reopen_sweep.mark_lost(db, after=self.after, most=MOST)
            if self.after == 0:
                self.looked_at = time.monotonic()
            else:
                swept.next_in = 0.0
        if swept.reopened or swept.marked:
            _log.info("reopen rang=%s marked=%s", len(swept.reopened), swept.marked)
        return swept
