"""Refused claims: counted once per call and queue, and said in one error for a claim by id."""

from __future__ import annotations

from app.db.database import Database
from app.domain.admission import Deferral, Reason
from app.transactions import reopening
from app.transactions.claims import Claimer


def count(db: Database, claimer: Claimer, queue_id: int, name: str, deferral: Deferral) -> None:
    """Count one refusal of a queue that had claimable work, once per call (R38).

    The queue owes a ring now: whoever was refused is told to wait for it.
    """
    if queue_id in claimer.request.counted:
        return
    claimer.request.counted.add(queue_id)
    db.counters.add(
        "switchboard_admission_refusals_total", queue=name, reason=deferral.reason.value
    )
    if deferral.reason is Reason.ADMISSION_UNAVAILABLE:
        # A busy lock closes nothing: the pending view may admit all the same.
        reopening.owe_if_closed(db, [queue_id])
    else:
        reopening.owe(db, queue_id, deferral.reason)
