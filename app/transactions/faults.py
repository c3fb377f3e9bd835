"""Claims that could not be judged: noted for the owner, forgotten after the next admitted one."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from datetime import datetime

import psycopg

from app.db import database
from app.db.database import Connection, Database
from app.db.statements import load
from app.domain.admission import Deferral, Reason, sentence, slot_hint
from app.domain.errors import Deferred, Unavailable
from app.domain.values import rfc3339_or_none

SQL = load("faults")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Hint:
    queue: str
    earliest: datetime | None
    at: datetime


def note(db: Database, queue_id: int, kind: str) -> None:
    """After the rollback, in its own statement; a note that cannot be made is only logged (R64)."""
    db.memory.faults.put(queue_id, value=True)
    log.warning("admission_unavailable queue_id=%s kind=%s", queue_id, kind)
    try:
        with db.reading() as conn:
            database.run(conn, SQL["mark_fault"], {"queue_id": queue_id, "kind": kind})
    except (psycopg.Error, Unavailable):
        log.warning("admission_fault_not_noted queue_id=%s", queue_id)
        return
    db.feed.changed(queue_id)


def forget(db: Database, conn: Connection, queue_id: int) -> None:
    """After an admitted claim: the fault is over, if this process knows of one."""
    if db.memory.faults.pop(queue_id):
        database.run(conn, SQL["delete_fault"], {"queue_id": queue_id})


def refusal(db: Database, queue_id: int, deferral: Deferral) -> Deferred:
    """The `deferred` error of a claim by id, with the hint of a full queue (R23, R32)."""
    with db.reading() as conn:
        found = database.one(conn, SQL["read_slot_hint"], {"queue_id": queue_id}, _Hint)
    eligible_at = deferral.next_eligible_at
    if found is not None and deferral.reason is Reason.IN_FLIGHT_FULL:
        eligible_at = slot_hint(found.earliest, found.at)
    queue = found.queue if found else ""
    return Deferred(
        sentence(queue, deferral),
        queue=queue,
        reason=deferral.reason.value,
        next_eligible_at=rfc3339_or_none(eligible_at),
        exact=deferral.exact,
        retry_after=_seconds_until(eligible_at, found.at) if found and deferral.exact else None,
    )


def _seconds_until(instant: datetime | None, at: datetime) -> int | None:
    """Whole seconds, rounded up; a boundary that has passed since is worth one."""
    return None if instant is None else max(math.ceil((instant - at).total_seconds()), 1)
