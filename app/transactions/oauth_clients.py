"""Registration of an app: a public client with a name and its exact redirect URIs (RFC 7591)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.db import journal, minting
from app.db.database import Database, one
from app.db.statements import load
from app.domain.errors import Unavailable
from app.domain.oauth_clients import check_client_name, check_redirect_uris

SQL = load("oauth_clients")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A client as it stands in our books; it has no secret."""

    client_id: str
    client_name: str
    redirect_uris: list[str]
    created_at: datetime


def register(db: Database, name: str | None, redirect_uris: Sequence[str]) -> Registered:
    """Write a client down. Anyone may ask: it opens nothing until a human consents.

    Raises InvalidArgument on `client_name` or `redirect_uris`, Unavailable.
    """
    params = {
        "client_id": str(minting.new_id()),
        "client_name": check_client_name(name),
        "redirect_uris": list(check_redirect_uris(redirect_uris)),
    }
    with db.transaction() as conn:
        made = one(conn, SQL["insert_client"], params, Registered)
        if made is None:
            raise Unavailable
    journal.note("oauth_client_registered", client=made.client_id)
    return made
