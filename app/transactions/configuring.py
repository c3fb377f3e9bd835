"""The endpoint a human names in a request, if it is one they may configure."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db.database import Connection, one
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import Conflict, NotFound
from app.domain.references import endpoint_reference

SQL = load("configuring")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configurable:
    """An endpoint the human may configure; `state` counts an expired one as revoked."""

    id: UUID
    slug: str
    agent_name: str
    state: str
    queues: list[str]
    owner_human_id: UUID | None
    owner_team_id: UUID | None


def find(conn: Connection, human: Human, ref: str) -> Configurable:
    """The endpoint by slug or id; foreign, unknown and malformed are the same NotFound."""
    params = {"human_id": human.id, **endpoint_reference(ref)}
    found = one(conn, SQL["read_configurable"], params, Configurable)
    if found is None:
        raise NotFound
    return found


def find_active(conn: Connection, human: Human, ref: str) -> Configurable:
    """As `find`; a revoked or expired one raises Conflict with `state` (operator-api.md)."""
    found = find(conn, human, ref)
    require_active(found.state)
    return found


def require_active(state: str) -> None:
    """Raise Conflict with `state` unless the endpoint is active."""
    if state != "active":
        raise Conflict("The endpoint is revoked.", state=state)
