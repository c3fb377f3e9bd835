"""Which queues an endpoint may drain right now: its grant within its owner's live reach."""

from __future__ import annotations

from dataclasses import dataclass

from app.db import database
from app.db.database import Connection
from app.db.statements import load
from app.domain.callers import Endpoint
from app.domain.errors import Forbidden, NotFound
from app.domain.queues import parse_team_queue

SQL = load("grants")


@dataclass(frozen=True, slots=True)
class _Grant:
    queue_id: int
    is_granted: bool


def named_queue(conn: Connection, endpoint: Endpoint, queue: str | None) -> int | None:
    """The id of the queue a caller named; None when it named none, so means all it drains.

    Raises Forbidden for an own name that is not granted, NotFound for a team queue outside reach
    (R33, R50).
    """
    if queue is None:
        return None
    params = {"endpoint_id": endpoint.id, "queue": queue}
    grant = database.one(conn, SQL["read_queue_grant"], params, _Grant)
    if grant is not None and grant.is_granted:
        return grant.queue_id
    if parse_team_queue(queue):
        raise NotFound
    raise Forbidden("The grant does not include this queue.", field="queue")


def granted_queues(conn: Connection, endpoint: Endpoint, queue: str | None) -> tuple[int, ...]:
    """The ids of all granted queues, or of the named one. Raises as named_queue does."""
    params = {"endpoint_id": endpoint.id, "queue_id": named_queue(conn, endpoint, queue)}
    return tuple(row[0] for row in conn.execute(SQL["read_granted_queues"], params).fetchall())
