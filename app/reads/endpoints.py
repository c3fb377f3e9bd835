"""A human's endpoints and agents, as lists."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many, one
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.references import endpoint_reference

SQL = load("endpoint_list")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRow:
    """One endpoint as its owner sees it; `state` is `revoked` as soon as its lifetime is over."""

    id: UUID
    slug: str
    agent_name: str
    state: str
    queues: list[str]
    verbs: list[str]
    expires_at: datetime | None
    default_lease_ttl_seconds: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow:
    """One agent of the human, or of a team where they are admin or owner."""

    id: UUID
    name: str
    description: str | None


def list_endpoints(db: Database, human: Human) -> list[EndpointRow]:
    """The endpoints the human may configure, own and of their teams, newest first."""
    with db.reading() as conn:
        return many(conn, SQL["read_endpoints"], {"human_id": human.id}, EndpointRow)


def get_endpoint(db: Database, human: Human, ref: str) -> EndpointRow:
    """One endpoint the human may configure, by slug or id; NotFound for any other."""
    params = {"human_id": human.id, **endpoint_reference(ref)}
    with db.reading() as conn:
        row = one(conn, SQL["read_endpoint"], params, EndpointRow)
    if row is None:
        raise NotFound
    return row


def list_agents(db: Database, human: Human) -> list[AgentRow]:
    """The agents the human may configure, by name."""
    with db.reading() as conn:
        return many(conn, SQL["read_agents"], {"human_id": human.id}, AgentRow)
