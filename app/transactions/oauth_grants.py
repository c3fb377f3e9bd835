"""The end of an OAuth grant, by the human who may end it: access and refresh tokens together."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db import journal
from app.db.database import Database, one
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.references import parse_uuid

SQL = load("oauth_grants")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedGrant:
    """A grant that ended just now; an agent grant's streams close with it."""

    grant_id: UUID
    endpoint_id: UUID | None


def revoke(db: Database, human: Human, grant_id: str) -> UUID:
    """End a grant at once in every process, its open streams too; its id.

    Raises NotFound for a foreign, an unknown and an ended one. (identity.md, "OAuth server")
    """
    params = {"grant_id": parse_uuid(grant_id), "human_id": human.id}
    with db.transaction() as conn:
        ended = one(conn, SQL["mark_grant_revoked"], params, EndedGrant)
        if ended is None:
            raise NotFound
    announce(db, ended)
    return ended.grant_id


def announce(db: Database, ended: EndedGrant) -> None:
    """After the commit: say so in the log, and have its streams looked at in every process."""
    journal.note("oauth_grant_revoked", grant=ended.grant_id)
    if ended.endpoint_id is not None:
        db.feed.endpoints(ended.endpoint_id)
