"""The operator tokens a person holds: the list in Settings, and one of them before it goes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.db.database import Database, many, one
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.references import storable

SQL = load("tokens")

MOST_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldToken:
    """A live operator token; `name` is None when it was minted without one."""

    token_hash: str
    name: str | None
    created_at: datetime
    last_used_at: datetime | None
    in_all: int


def held(db: Database, human: Human) -> list[HeldToken]:
    """The person's live operator tokens, newest first, at most 100; each says how many in all."""
    params = {"human_id": human.id, "most": MOST_SHOWN}
    with db.reading() as conn:
        return many(conn, SQL["read_tokens"], params, HeldToken)


def held_token(db: Database, human: Human, token_hash: str) -> HeldToken:
    """One of the person's live operator tokens; NotFound for anybody else's and a revoked one."""
    params = {"human_id": human.id, "token_hash": storable(token_hash)}
    with db.reading() as conn:
        found = one(conn, SQL["read_token"], params, HeldToken)
    if found is None:
        raise NotFound
    return found
