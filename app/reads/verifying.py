"""Whether every unit that was charged has its attempt, and every marked attempt its unit (R62)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Connection, Database, many, value
from app.db.statements import load
from app.domain.errors import NotFound
from app.domain.references import endpoint_reference, storable

SQL = load("verifying")

_TEAM = "team:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One window of one policy: the units it has spent and the attempts marked as charged to it.

    `scope` and `queue` are None when the policy is gone, which only a fault can bring about.
    """

    scope: str | None
    queue: str | None
    policy_id: UUID
    window_start: datetime
    used: int
    marked: int

    @property
    def difference(self) -> int:
        """Units more than attempts; below 0, attempts more than units; 0 when they are equal."""
        return self.used - self.marked


def charges(db: Database, address: tuple[str, str] | None = None) -> list[Charge]:
    """Every window younger than 35 days whose attempts cannot have been pruned, by queue and time.

    `address` is an endpoint's slug or id, or team:<slug>, and one of its queues; NotFound when
    there is none. Whoever asks holds the server's host: nothing is hidden from them.
    """
    with db.reading() as conn:
        params = {"queue_id": None if address is None else _queue_id(conn, *address)}
        return many(conn, SQL["read_charges"], params, Charge)


def pruned_through(db: Database) -> str | None:
    """The instant up to which attempts were pruned, as the pruner wrote it; None before that."""
    with db.reading() as conn:
        found = value(conn, SQL["read_pruned_through"], {})
        return found if isinstance(found, str) else None


def _queue_id(conn: Connection, owner: str, queue: str) -> object:
    is_team = owner.startswith(_TEAM)
    named = endpoint_reference("" if is_team else owner)
    found = value(conn, SQL["read_queue"], {
        "queue": storable(queue),
        "slug": named["ref"],
        "endpoint_id": named["ref_id"],
        "team": storable(owner.removeprefix(_TEAM)) if is_team else None,
    })  # fmt: skip
    if found is None:
        raise NotFound
    return found
