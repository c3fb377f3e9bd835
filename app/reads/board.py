"""What the board shows one human: their endpoints, and how many todos each queue holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many
from app.db.statements import load

SQL = load("board")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEndpoint:
    """One endpoint; `team` is the slug of the team that owns it, None for one's own."""

    slug: str
    agent_name: str
    team: str | None
    queues: list[str]
    state: str
    expires_at: datetime | None
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """How many todos a queue holds by state; `endpoint` is its owner's slug, None for a team."""

    queue: str
    endpoint: str | None
    pending: int
    claimed: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Everything the first page of one human says."""

    endpoints: list[SeenEndpoint]
    queues: list[QueueCounts]


def board(db: Database, human_id: UUID) -> Board:
    """The endpoints and queues in the human's scope; raises Unavailable.

    Two looks of one statement each; each counts what was committed when it ran.
    """
    params = {"human_id": human_id}
    with db.reading() as conn:
        endpoints = many(conn, SQL["read_endpoints"], params, SeenEndpoint)
        queues = many(conn, SQL["read_queue_counts"], params, QueueCounts)
    return Board(endpoints=endpoints, queues=queues)
