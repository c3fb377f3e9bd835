"""What a webhook is known by: its URL token and its signing secret, minted, sealed, replaced."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db import minting
from app.db.database import Connection, Database, run
from app.db.statements import load
from app.domain.signatures import TRUST, Source, TrustMode

SQL = load("webhook_secrets")


@dataclass(frozen=True, slots=True, kw_only=True)
class MintedWebhook:
    """A webhook with its fresh URL token; `signing_secret` is shown this once, signed types only.

    The HMAC key is the secret's text as shown: 64 hex digits.
    """

    id: UUID
    ingest_token: str
    source_type: str
    target_queue: str
    trust_mode: str
    signing_secret: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """A webhook that was judged and may be inserted."""

    endpoint_id: UUID
    source: Source
    target_queue: str
    team_queue_id: int | None = None


def insert(db: Database, conn: Connection, new: NewWebhook) -> MintedWebhook:
    """Insert a webhook with fresh secrets, inside the caller's transaction."""
    webhook_id = minting.new_id()
    trust_mode = TRUST[new.source]
    secret = _secret(trust_mode)
    minted = MintedWebhook(
        id=webhook_id,
        ingest_token=minting.ingest_token(),
        source_type=str(new.source),
        target_queue=new.target_queue,
        trust_mode=str(trust_mode),
        signing_secret=secret,
    )
    params = {
        "id": webhook_id,
        "endpoint_id": new.endpoint_id,
        "source_type": minted.source_type,
        "target_queue": minted.target_queue,
        "team_queue_id": new.team_queue_id,
        "trust_mode": minted.trust_mode,
        "ingest_token": minted.ingest_token,
        "secret": _sealed(db, webhook_id, secret),
    }
    run(conn, SQL["insert_webhook"], params)
    return minted


def replace(
    db: Database,
    conn: Connection,
    *,
    webhook_id: UUID,
    source_type: str,
    target_queue: str,
    trust_mode: str,
) -> MintedWebhook:
    """Give a locked webhook new secrets; the old ones stop with the caller's commit."""
    minted = MintedWebhook(
        id=webhook_id,
        ingest_token=minting.ingest_token(),
        source_type=source_type,
        target_queue=target_queue,
        trust_mode=trust_mode,
        signing_secret=_secret(trust_mode),
    )
    params = {
        "webhook_id": webhook_id,
        "ingest_token": minted.ingest_token,
        "secret": _sealed(db, webhook_id, minted.signing_secret),
    }
    run(conn, SQL["mark_rotated"], params)
    return minted


def _secret(trust_mode: str) -> str | None:
    return minting.signing_secret() if trust_mode == TrustMode.SIGNED else None


def _sealed(db: Database, webhook_id: UUID, secret: str | None) -> str | None:
    return None if secret is None else db.sealer.seal(secret, str(webhook_id))
