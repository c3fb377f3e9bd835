"""Heartbeat and attach: rings of the process that holds the streams, for its own endpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg import sql

from app.db.database import Connection, Database, many
from app.db.statements import load
from app.domain.admission import Deferral
from app.domain.bells import Kind
from app.reads import admission
from app.transactions import bell_rows, bell_stamps, reopening
from app.transactions.bell_rows import Ring

SQL = load("bell_rounds")

MOST = 3
"""Todos in one heartbeat sweep of a process, and in one attach ring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _WaitingQueue:
    queue_id: int
    has_policy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rung:
    id: str
    endpoint_id: UUID


def heartbeat(db: Database, endpoint_ids: Sequence[UUID]) -> list[Ring]:
    """Ring again for at most 3 todos that wait, of endpoints that are in. Raises Unavailable.

    Each ring is spent and stamped by the statement that chose it.
    """
    return _round(db, endpoint_ids, SQL["mark_due_rung"], {"endpoint_ids": list(endpoint_ids)})


def attach(db: Database, endpoint_id: UUID) -> list[Ring]:
    """Up to 3 rings for the oldest work of an endpoint whose stream opens. Raises Unavailable.

    The endpoint is in. A queue that suppresses its share owes a ring.
    """
    return _round(db, [endpoint_id], SQL["mark_attach_rung"], {"endpoint_id": endpoint_id})


def _round(
    db: Database, endpoint_ids: Sequence[UUID], mark: sql.SQL, params: Mapping[str, object]
) -> list[Ring]:
    with db.reading() as conn:
        admitted, closed = _judged(conn, endpoint_ids)
        rung: list[_Rung] = []
        if admitted:
            asked = {**params, "queue_ids": admitted, "limit": MOST}
            rung = many(conn, mark, asked, _Rung)
        todos = bell_rows.read_todos(conn, [each.id for each in rung])
    for queue_id, deferral in closed.items():
        reopening.owe(db, queue_id, deferral.reason)
    rings = [
        Ring(
            kind=Kind.TODO,
            bell=todos[each.id].bell,
            endpoint_ids=(each.endpoint_id,),
            todo_id=each.id,
            queue_ids=(todos[each.id].queue_id,),
            has_policy=todos[each.id].has_policy,
        )
        for each in rung
        if each.id in todos
    ]
    bell_stamps.tell_skipped(db, rings)
    return sorted(rings, key=lambda ring: ring.todo_id or "")


def _judged(
    conn: Connection, endpoint_ids: Sequence[UUID]
) -> tuple[list[int], dict[int, Deferral]]:
    """The queues where work waits: those that admit a claim now, and why the others do not."""
    params = {"endpoint_ids": list(endpoint_ids)}
    waiting = many(conn, SQL["read_waiting_queues"], params, _WaitingQueue)
    asked = [each.queue_id for each in waiting if each.has_policy]
    found = admission.statuses(conn, asked, counts_all=False)
    closed = {
        queue_id: status.decision
        for queue_id, status in found.items()
        if isinstance(status.decision, Deferral)
    }
    return [each.queue_id for each in waiting if each.queue_id not in closed], closed
