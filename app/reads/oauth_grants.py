"""The apps a person has let in: OAuth grants that live, for the page that ends them.

An operator grant is its human's. An agent grant belongs to the endpoint, like its credential: it is
shown to everyone who may configure that endpoint, whoever of them consented.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many, one, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.oauth import Kind
from app.domain.references import parse_uuid

SQL = load("oauth_grant_list")

MOST_SHOWN = 100
NO_GRANT = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldGrant:
    """A live grant. `verbs` are those in effect, empty for an operator grant; `expires_at` is when
    it ends unless the app refreshes it before; `granted_by` the name of who consented.
    """

    grant_id: UUID
    client_name: str
    kind: Kind
    endpoint_slug: str | None
    verbs: list[str]
    granted_by: str | None
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    in_all: int


def held(db: Database, human: Human) -> list[HeldGrant]:
    """Grants the human may end, newest first, at most 100; each says how many there are in all."""
    params = {"human_id": human.id, "grant_id": None, "most": MOST_SHOWN}
    with db.reading() as conn:
        return many(conn, SQL["read_grants"], params, HeldGrant)


def held_grant(db: Database, human: Human, grant_id: str) -> HeldGrant:
    """One of them; NotFound for a foreign, an unknown and an ended one, and for no id at all."""
    wanted = parse_uuid(grant_id) or NO_GRANT  # null would stand for all of them
    params = {"human_id": human.id, "grant_id": wanted, "most": 1}
    with db.reading() as conn:
        found = one(conn, SQL["read_grants"], params, HeldGrant)
    if found is None:
        raise NotFound
    return found


def is_ended(db: Database, human: Human, grant_id: str) -> bool:
    """Whether a grant that the human may end was ended; not so for a foreign and an unknown one."""
    params = {"human_id": human.id, "grant_id": parse_uuid(grant_id)}
    with db.reading() as conn:
        return bool(value(conn, SQL["read_is_ended"], params))
