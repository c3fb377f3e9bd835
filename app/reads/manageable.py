"""Which queue an address names, if the caller may give it a policy (R34, R37)."""

from __future__ import annotations

from dataclasses import dataclass

from app.db.database import Connection, Database, one
from app.db.statements import load
from app.domain.callers import Endpoint, Human
from app.domain.errors import Conflict, NotFound
from app.domain.queues import QueueAddress, is_queue_name, refuse_reserved
from app.domain.references import parse_uuid, storable

SQL = load("manageable")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedQueue:
    """A queue the caller may configure; `state` is its endpoint's, an expired one `revoked`."""

    queue_id: int
    scope: str
    queue: str
    state: str


def find(conn: Connection, caller: Human | Endpoint, address: QueueAddress) -> ManagedQueue:
    """The queue at an address.

    Raises NotFound: foreign, unknown and malformed are one. InvalidArgument for the reserved name,
    which tells nothing about anybody's queues.
    """
    refuse_reserved(address.queue, field="queue")
    kind, _, ref = address.scope.partition(":")
    params: dict[str, object] = {
        "kind": storable(kind),
        "ref": storable(ref),
        "ref_id": parse_uuid(ref),
        "queue": address.queue if is_queue_name(address.queue) else "",
    }
    if isinstance(caller, Human):
        params["human_id"] = caller.id
        found = one(conn, SQL["read_queue_of_human"], params, ManagedQueue)
    else:
        params["endpoint_id"] = caller.id
        found = one(conn, SQL["read_queue_of_endpoint"], params, ManagedQueue)
    if found is None:
        raise NotFound
    return found


def find_active(conn: Connection, caller: Human | Endpoint, address: QueueAddress) -> ManagedQueue:
    """As `find`; a queue of a revoked endpoint raises Conflict with `state` (R35)."""
    found = find(conn, caller, address)
    if found.state != "active":
        raise Conflict("The endpoint is revoked.", state=found.state)
    return found


def require_active(db: Database, caller: Human | Endpoint, address: QueueAddress) -> None:
    """Refuse as `find_active` does, for a door that must ask before it reads a body (R57)."""
    with db.reading() as conn:
        find_active(conn, caller, address)
