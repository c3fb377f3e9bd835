"""Whether this server's encryption key is the one that the stored secrets were sealed with."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db import database
from app.db.database import Database
from app.db.sealing import SealBroken
from app.db.statements import load

SQL = load("keys")


@dataclass(frozen=True, slots=True)
class _Sealed:
    id: UUID
    secret: str


def opens_stored_secrets(db: Database) -> bool:
    """Say whether the newest stored secret opens; True when none is stored."""
    with db.reading() as conn:
        sealed = database.one(conn, SQL["read_one_sealed"], {}, _Sealed)
    if sealed is None:
        return True
    try:
        db.sealer.open(sealed.secret, str(sealed.id))
    except SealBroken:
        return False
    return True
