"""How often a human or an endpoint may change policies, over all servers at once (R43)."""

from __future__ import annotations

from app.db.database import Database, value
from app.db.statements import load
from app.domain.callers import Endpoint, Human
from app.domain.errors import RateLimited

SQL = load("write_limit")


def take(db: Database, caller: Human | Endpoint) -> None:
    """Take one of the caller's writes: 1 per second, 10 at once; raises RateLimited.

    Its own transaction, taken before anything is looked at: a refused write spends too.
    """
    of = "upsert_bucket_of_human" if isinstance(caller, Human) else "upsert_bucket_of_endpoint"
    with db.transaction() as conn:
        is_taken = value(conn, SQL[of], {"id": caller.id})
    if not is_taken:
        raise RateLimited("Policies may be changed once a second; try again shortly.")
