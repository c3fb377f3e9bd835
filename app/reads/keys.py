"""Whether this server's encryption key is the one that the stored secrets were sealed with."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db import database
from app.db.database import Connection, Database
from app.db.sealing import SealBroken, Sealer
from app.db.statements import load

SQL = load("keys")


@dataclass(frozen=True, slots=True)
class _Sealed:
    id: UUID
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """How many secrets are stored, and how many of them a key does not open."""

    stored: int
    shut: int


def opened_by(conn: Connection, sealer: Sealer) -> Opened:
    """Try the key on every stored secret of webhooks and notify hooks."""
    found = database.many(conn, SQL["list_sealed"], {}, _Sealed)
    return Opened(stored=len(found), shut=sum(not _opens(sealer, one) for one in found))


def opens_stored_secrets(db: Database) -> bool:
    """Say whether the newest stored secret opens; True when none is stored."""
    with db.reading() as conn:
        sealed = database.one(conn, SQL["read_one_sealed"], {}, _Sealed)
    return sealed is None or _opens(db.sealer, sealed)


def _opens(sealer: Sealer, sealed: _Sealed) -> bool:
    try:
        sealer.open(sealed.secret, str(sealed.id))
    except SealBroken:
        return False
    return True
