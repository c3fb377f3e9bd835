"""A person writes a todo for one of their endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db.database import Connection, Database, Rollback, value
from app.db.statements import load
from app.domain import strictjson
from app.domain.authoring import NewWork, check_work
from app.domain.callers import Human
from app.domain.errors import Conflict, InvalidArgument
from app.transactions import configuring, creating
from app.transactions.configuring import Configurable
from app.transactions.creating import CreatedTodo, NewEvent, NewTodo

SQL = load("authoring")

SOURCE = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """The todo that bears the key now, new or not, and the endpoint it is for."""

    endpoint_id: UUID
    slug: str
    todo: CreatedTodo


def add_todo(db: Database, human: Human, ref: str, work: NewWork) -> Authored:
    """Record a verified event and create its todo, or find the live one with the same key.

    Raises NotFound, Conflict with `state` on a revoked endpoint, InvalidArgument naming the
    field. (operator-api.md, "POST /endpoints/{ref}/todos")
    """
    with db.transaction() as conn:
        found = configuring.find_active(conn, human, ref)
        checked = check_work(work)
        queue_id = _lock_queue(conn, found, checked)
        todo = creating.create_todo(conn, _todo(conn, found, queue_id, checked))
        if not todo.created:
            raise Rollback  # takes the event of this repeat along
    creating.report_created(db, [todo], source=SOURCE)
    return Authored(endpoint_id=found.id, slug=found.slug, todo=todo)


def _lock_queue(conn: Connection, found: Configurable, work: NewWork) -> int:
    """The queue's id, holding the endpoint against a revoke until the commit."""
    name = found.queues[0] if work.queue is None else work.queue
    if name not in found.queues:
        raise InvalidArgument("queue: outside the endpoint's scope.", field="queue")
    queue_id = value(conn, SQL["lock_queue"], {"endpoint_id": found.id, "name": name})
    if not isinstance(queue_id, int):
        raise Conflict("The endpoint is revoked.", state="revoked")
    return queue_id


def _todo(conn: Connection, found: Configurable, queue_id: int, work: NewWork) -> NewTodo:
    return NewTodo(
        queue_id=queue_id,
        endpoint_id=found.id,
        team_id=None,
        source=SOURCE,
        kind=work.kind,
        title=work.title,
        payload=work.payload,
        has_payload=work.payload is not None,
        event_id=creating.insert_event(conn, _event(found, work)),
        idempotency_key=work.key,
    )


def _event(found: Configurable, work: NewWork) -> NewEvent:
    has_payload = work.payload is not None
    return NewEvent(
        source=SOURCE,
        family=SOURCE,
        event_type=work.kind,
        # The key dedups todos while they live; a later todo of the same key is a new event.
        external_id=None,
        trust_mode=SOURCE,
        verified=True,
        verify_detail="written by the operator",
        content_type="application/json" if has_payload else None,
        headers={},
        payload=strictjson.dumps(work.payload).encode() if has_payload else None,
        source_ip=None,
        webhook_id=None,
        endpoint_id=found.id,
        team_id=None,
    )
