"""Events stored and todos created, each at most once per owner and key (todos.md, "Dedup").

`insert_event` and `create_todo` run inside the caller's transaction, `report_created` after its
commit. A caller that stores an event for a todo which turns out to be there already raises
Rollback, so that no orphan event stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from uuid import UUID

from app.db import journal, minting
from app.db.database import Connection, Database, jsonb, one, value
from app.db.statements import load
from app.domain.errors import Unavailable
from app.domain.values import Json
from app.transactions import repeats, ringing

SQL = load("creating")

# A row found in the way may be gone before it is read; then the insert is tried again.
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to store; exactly one of `endpoint_id` and `team_id` owns it."""

    source: str
    family: str
    event_type: str | None
    external_id: str | None
    trust_mode: str
    verified: bool
    verify_detail: str | None
    content_type: str | None
    headers: dict[str, str]
    payload: bytes | None
    source_ip: str | None
    webhook_id: UUID | None
    endpoint_id: UUID | None
    team_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTodo:
    """A todo to create in a queue; `endpoint_id` and `team_id` are the queue's owner.

    `has_payload` false stores no payload; with it, a `payload` of None is JSON null. A null or
    empty `idempotency_key` never dedups.
    """

    queue_id: int
    endpoint_id: UUID | None
    team_id: UUID | None
    source: str
    kind: str | None
    title: str
    payload: Json
    has_payload: bool
    event_id: int | None
    idempotency_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTodo:
    """The todo that bears the key now; `created` is false when it was there before."""

    id: str
    queue_id: int
    queue_name: str
    state: str
    event_id: int | None
    created: bool


def insert_event(conn: Connection, event: NewEvent) -> int:
    """Store an event, or find the one its owner holds under this source and external id."""
    params = _columns(event)
    params["headers"] = jsonb({**event.headers})
    params["payload_size"] = len(event.payload or b"")
    stored = SQL["read_team_event" if event.endpoint_id is None else "read_endpoint_event"]
    for _ in range(_TRIES):
        found = value(conn, SQL["insert_event"], params)
        if found is None:
            found = value(conn, stored, params)
        if isinstance(found, int):
            return found
    raise Unavailable


def create_todo(conn: Connection, todo: NewTodo) -> CreatedTodo:
    """Create a todo, or find the live one of its owner that bears the key (todos.md, "Dedup").

    20 parallel calls with one key: one creates, the others wait for its commit and find it.
    """
    params = _columns(todo) | {"id": minting.new_todo_id()}
    params["payload"] = jsonb(todo.payload) if todo.has_payload else None
    live = SQL["read_live_team_todo" if todo.endpoint_id is None else "read_live_endpoint_todo"]
    for _ in range(_TRIES):
        found = one(conn, SQL["insert_todo"], params, CreatedTodo)
        found = found or one(conn, live, params, CreatedTodo)
        if found is not None:
            return found
    raise Unavailable


def report_created(db: Database, todos: Sequence[CreatedTodo], *, source: str) -> None:
    """After the commit: wake who waits for the new todos, count them, ring. Never inside."""
    repeats.note(db, [todo.id for todo in todos if not todo.created])
    fresh = [todo for todo in todos if todo.created]
    if not fresh:
        return
    db.feed.ready(*{todo.queue_id for todo in fresh})
    for todo in fresh:
        db.counters.add(
            "switchboard_todos_created_total", queue=todo.queue_name, source=source
        )
        journal.note("todo_created", todo=todo.id, queue=todo.queue_name, outcome=todo.state)
    ringing.created(db, [todo.id for todo in fresh])


def _columns(new: NewEvent | NewTodo) -> dict[str, object]:
    # Not asdict: that would copy a payload of megabytes, deeply.
    return {field.name: getattr(new, field.name) for field in fields(new)}
