"""Digests: what waits for an endpoint, told once in counts and queue names (push.md)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

import psycopg

from app.db.database import Connection, Database, Rollback, jsonb, many, run
from app.db.outbox import Backlog, QueueBacklog
from app.db.statements import load
from app.domain.admission import Deferral
from app.domain.bells import DigestReason
from app.domain.errors import DomainError
from app.reads import admission
from app.transactions import reopening

SQL = load("digests")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    queue_id: int
    queue: str
    has_policy: bool
    pending: int
    oldest_seconds: int


def owe(conn: Connection, endpoint_id: UUID, reason: DigestReason) -> Backlog | None:
    """Write the endpoint's digest row, in the transaction that won the edge; None: nothing waits.

    Counts eligible todos in admitted queues only (R29). Hand the backlog to the hooks after the
    commit, except a reconnect's.
    """
    waiting = _admitted(conn, endpoint_id)
    if not waiting:
        return None
    backlog = Backlog(
        endpoint_id=endpoint_id,
        reason=reason,
        waiting=tuple(
            QueueBacklog(
                queue_id=each.queue_id,
                queue=each.queue,
                pending=each.pending,
                oldest_pending_seconds=each.oldest_seconds,
            )
            for each in waiting
        ),
    )
    meta = jsonb({
        "pending": backlog.pending,
        "queues": list(backlog.queues),
        "queue_ids": [each.queue_id for each in waiting],
        "oldest_seconds": backlog.oldest_pending_seconds,
        "reason": reason.value,
    })  # fmt: skip
    run(conn, SQL["insert_digest"], {"endpoint_id": endpoint_id, "meta": meta})
    return backlog


def owe_reconnect(db: Database, endpoint_id: UUID) -> bool:
    """A first stream of an endpoint that is in: its digest, at most once in ten minutes.

    Raises Unavailable.
    """
    backlog = None
    with db.transaction() as conn:
        if run(conn, SQL["mark_reconnected"], {"endpoint_id": endpoint_id}) == 0:
            raise Rollback
        backlog = owe(conn, endpoint_id, DigestReason.RECONNECT)
        if backlog is None:
            raise Rollback  # nothing waits, so nothing was sent
    if backlog is not None:
        db.feed.endpoints(endpoint_id)
    return backlog is not None


def mark_left_out(db: Database, endpoint_id: UUID) -> None:
    """After the commit: the closed queues a digest left out owe a ring for when they open.

    Never raises; the sweep makes up for it (push.md, "Admission gates every push").
    """
    try:
        with db.reading() as conn:
            found = many(conn, SQL["read_backlog"], {"endpoint_id": endpoint_id}, _Waiting)
    except (psycopg.Error, DomainError) as fault:
        log.warning("reopen_not_marked fault=%s", type(fault).__name__)
        return
    asked = [each.queue_id for each in found if each.has_policy]
    if asked:
        reopening.owe_if_closed(db, asked)


def _admitted(conn: Connection, endpoint_id: UUID) -> list[_Waiting]:
    found = many(conn, SQL["read_backlog"], {"endpoint_id": endpoint_id}, _Waiting)
    asked = [each.queue_id for each in found if each.has_policy]
    statuses = admission.statuses(conn, asked, counts_all=False)
    closed = {
        queue_id for queue_id, status in statuses.items() if isinstance(status.decision, Deferral)
    }
    return [each for each in found if each.queue_id not in closed]
