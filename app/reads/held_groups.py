"""The groups that a human's own last sign-in through the provider carried."""

from __future__ import annotations

from dataclasses import dataclass

from app.db.database import Database, one
from app.db.statements import load
from app.domain.callers import Human

SQL = load("held_groups")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    groups: list[str]


def held(db: Database, human: Human) -> list[str]:
    """By name; empty for who never came through the provider (identity.md, "Teams")."""
    with db.reading() as conn:
        row = one(conn, SQL["read_held_groups"], {"human_id": human.id}, _Held)
    return [] if row is None else sorted(set(row.groups))
