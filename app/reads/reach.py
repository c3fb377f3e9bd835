"""Where an endpoint may act right now (identity.md, "Teams"): evaluated per call, never cached."""

from __future__ import annotations

from dataclasses import dataclass

from app.db.database import Database, many
from app.db.statements import load
from app.domain.callers import Endpoint

SQL = load("reach")


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueueRow:
    queue: str


def queues_of(db: Database, endpoint: Endpoint) -> tuple[str, ...]:
    """The names of every queue the endpoint drains: its own scope, then its teams' by name."""
    with db.reading() as conn:
        rows = many(conn, SQL["read_team_queues"], {"endpoint_id": endpoint.id}, _QueueRow)
    return (*endpoint.queues, *(row.queue for row in rows))
