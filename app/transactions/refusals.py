"""Refused claims: counted once per call and queue, and said in one error for a claim by id."""

from __future__ import annotations

from app.db.database import Database
from app.domain.admission import Deferral
from app.transactions.claims import Claimer


def count(db: Database, claimer: Claimer, queue_id: int, name: str, deferral: Deferral) -> None:
    """Count one refusal of a queue that had claimable work, once per call (R38)."""
    if queue_id in claimer.request.counted:
        return
    claimer.request.counted.add(queue_id)
    db.counters.add(
        "switchboard_admission_refusals_total", queue=name, reason=deferral.reason.value
    )
