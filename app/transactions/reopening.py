"""A closed queue owes one ring for when it opens: marks, and the decision to ring (REQ-8, R28).

It needs no knowledge of streams: it writes `doorbells` rows, which the processes that hold streams
take. A mark or a detection that fails is logged and never changes the answer of the call that
caused it (push.md, "Admission gates every push"); the sweep makes up for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import psycopg

from app.db.database import Connection, Database, Rollback, many, run, value
from app.db.outbox import Ready
from app.db.statements import load
from app.domain.admission import Deferral
from app.domain.bells import Why
from app.domain.errors import DomainError
from app.domain.presence import PresenceFacts, is_in
from app.reads import admission
from app.reads.admission import QueueStatus

SQL = load("reopening")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """A mark that was removed: whose oldest eligible todo rings at how many endpoints."""

    queue_id: int
    todo_id: str | None = None
    bells: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient(PresenceFacts):
    """An endpoint that drains a queue, with its presence columns."""

    endpoint_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueId:
    """A queue by its id."""

    queue_id: int


def owe(db: Database, queue_id: int, reason: str) -> None:
    """Mark a queue that was just seen closed, then look again (R59); never raises.

    The look covers a slot that was freed between the event and the mark: whoever freed it found
    no mark, so the one who sets it rings.
    """
    try:
        with db.reading() as conn:
            params = {"queue_id": queue_id, "reason": reason}
            if run(conn, SQL["mark_closed"], params) == 0:
                return
            is_open = not is_closed(admission.statuses(conn, [queue_id], counts_all=False))
        if is_open:
            decide(db, queue_id)
    except (psycopg.Error, DomainError) as fault:
        log.warning("reopen_not_marked queue_id=%s fault=%s", queue_id, type(fault).__name__)


def owe_if_closed(db: Database, queue_ids: Iterable[int]) -> None:
    """Mark those queues with a policy that admit no claim now; never raises."""
    try:
        with db.reading() as conn:
            found = admission.statuses(conn, sorted(set(queue_ids)), counts_all=False)
    except (psycopg.Error, DomainError) as fault:
        log.warning("reopen_not_marked fault=%s", type(fault).__name__)
        return
    for queue_id, status in found.items():
        if isinstance(status.decision, Deferral):
            owe(db, queue_id, status.decision.reason)


def detect(db: Database, queue_ids: Iterable[int]) -> frozenset[int]:
    """After something that may open these queues with a policy: the queues that ring for it.

    At most one caller, of all processes, gets a queue. Never raises.
    """
    rung: set[int] = set()
    try:
        with db.reading() as conn:
            params = {"queue_ids": sorted(set(queue_ids))}
            marked = many(conn, SQL["read_marked"], params, QueueId)
        for each in marked:
            reopened = decide(db, each.queue_id)
            if reopened is not None and reopened.todo_id is not None:
                rung.add(each.queue_id)
    except (psycopg.Error, DomainError) as fault:
        log.warning("reopen_not_detected fault=%s", type(fault).__name__)
    return frozenset(rung)


def is_closed(found: Mapping[int, QueueStatus]) -> bool:
    """Whether the one queue that was asked for has a policy that admits no claim."""
    return any(isinstance(status.decision, Deferral) for status in found.values())


def decide(db: Database, queue_id: int) -> Reopened | None:
    """Delete the mark, then evaluate; None when nobody owes, or the queue is closed still.

    One transaction, READ COMMITTED, holding no policy lock. Raises Unavailable, OutcomeUnknown.
    """
    reopened: Reopened | None = None
    with db.transaction() as conn:
        if run(conn, SQL["delete_mark"], {"queue_id": queue_id}) == 0:
            raise Rollback  # somebody else rings, or nobody owes
        if is_closed(admission.statuses(conn, [queue_id], counts_all=False)):
            raise Rollback  # the mark stays
        reopened = _ring(db, conn, queue_id)
    if reopened is None:
        return None
    log.info(
        "queue_reopened queue_id=%s todo_id=%s bells=%s",
        queue_id, reopened.todo_id, reopened.bells,
    )  # fmt: skip
    db.feed.reopened(queue_id)
    if reopened.todo_id is not None:
        db.hooks.offer(Ready(todo_id=reopened.todo_id, queue_id=queue_id, why=Why.REQUEUED))
    return reopened


def _ring(db: Database, conn: Connection, queue_id: int) -> Reopened:
    todo_id = value(conn, SQL["pick_oldest_eligible"], {"queue_id": queue_id})
    if not isinstance(todo_id, str):
        return Reopened(queue_id=queue_id)
    present = present_recipients(db, conn, queue_id)
    params = {"queue_id": queue_id, "todo_id": todo_id, "endpoint_ids": present}
    if present:
        run(conn, SQL["insert_reopen_bells"], params)
    return Reopened(queue_id=queue_id, todo_id=todo_id, bells=len(present))


def present_recipients(db: Database, conn: Connection, queue_id: int) -> list[UUID]:
    """The endpoints that drain a queue and are in now; a digest covers the others (R29)."""
    found = many(conn, SQL["read_recipients"], {"queue_id": queue_id}, Recipient)
    at = db.now(conn)
    return [each.endpoint_id for each in found if is_in(each, at)]
