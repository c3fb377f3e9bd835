"""Whether an endpoint is in, by what and until when, and how much waits for it (push.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Connection, Database, one, value
from app.db.statements import load
from app.domain.callers import Endpoint, Human
from app.domain.errors import NotFound
from app.domain.presence import Presence, PresenceFacts, presence
from app.domain.references import endpoint_reference

SQL = load("presence_read")

CONFIGURING = ("owner", "admin")
SEEING = (*CONFIGURING, "member")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed(PresenceFacts):
    """An endpoint with its presence columns; `presence_seen` is what was last acted on."""

    endpoint_id: UUID
    presence_seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An endpoint's presence at `at`; `pending` is the plain count of what waits for it."""

    endpoint_id: UUID
    presence: Presence
    pending: int
    at: datetime


def read(db: Database, endpoint: Endpoint) -> Standing:
    """The endpoint's own presence. Raises Unavailable."""
    with db.reading() as conn:
        found = one(conn, SQL["read_own"], {"endpoint_id": endpoint.id}, Timed)
        return _standing(db, conn, found)


def read_as(
    db: Database, human: Human, ref: str, roles: Sequence[str] = CONFIGURING
) -> Standing:
    """An endpoint's presence, revoked or not, by slug or id; NotFound unless the human has one of
    the roles in it.
    """
    params = {"human_id": human.id, "roles": [*roles], **endpoint_reference(ref)}
    with db.reading() as conn:
        return _standing(db, conn, one(conn, SQL["read_seen"], params, Timed))


def is_in(db: Database, endpoint: Endpoint) -> bool:
    """Whether the endpoint is in now. Raises Unavailable."""
    with db.reading() as conn:
        found = one(conn, SQL["read_own"], {"endpoint_id": endpoint.id}, Timed)
        return found is not None and presence(found, db.now(conn)).is_in


def pending(conn: Connection, endpoint_id: UUID) -> int:
    """How many todos wait in the queues it drains; 0 for one that has ended."""
    counted = value(conn, SQL["count_pending"], {"endpoint_id": endpoint_id})
    return counted if isinstance(counted, int) else 0


def _standing(db: Database, conn: Connection, found: Timed | None) -> Standing:
    if found is None:
        raise NotFound
    waiting = pending(conn, found.endpoint_id)
    at = db.now(conn)
    return Standing(
        endpoint_id=found.endpoint_id, presence=presence(found, at), pending=waiting, at=at
    )
