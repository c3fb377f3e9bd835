"""Finding a human by what a person at the server would type."""

from __future__ import annotations

from uuid import UUID

from app.db.database import Database, many
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import Conflict, NotFound

SQL = load("humans")


def by_id_or_name(db: Database, text: str) -> Human:
    """The human whose id is `text`, or the only one whose display name it is (cli.md).

    Raises NotFound when there is none, Conflict when several share the name.
    """
    id_ = _uuid(text)
    with db.reading() as conn:
        found = many(conn, SQL["read_by_id_or_name"], {"id": id_, "name": text}, Human)
    if not found:
        raise NotFound(f"No human has the id or the name {text!r}.")
    if len(found) > 1 and found[0].id != id_:
        raise Conflict(f"Several humans are named {text!r}; give the id instead.")
    return found[0]


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
