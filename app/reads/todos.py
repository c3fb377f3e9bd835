"""Todos as lists and one by one, within the reach of whoever asks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.db import database
from app.db.database import Connection, Database
from app.db.statements import load
from app.domain.callers import Endpoint, Human
from app.domain.errors import NotFound
from app.domain.todos import Attempt, Todo, is_todo_id
from app.reads.grants import named_queue

SQL = load("todos")


@dataclass(frozen=True, slots=True)
class Body:
    """The first 64 KiB of a delivery that was not JSON."""

    first_bytes: bytes
    content_type: str | None
    is_truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoDetail:
    """One todo with its newest attempts and, when its delivery was not JSON, that body."""

    todo: Todo
    attempts: tuple[Attempt, ...]
    body: Body | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoFilters:
    """What a human's list is narrowed to; `queue` is a display name, `endpoint` a slug or id."""

    queue: str | None = None
    state: str | None = None
    endpoint: str | None = None
    team: str | None = None


@dataclass(frozen=True, slots=True)
class After:
    """Where a page ended: the list goes on with rows older than this one."""

    created_at: datetime
    todo_id: str


@dataclass(frozen=True, slots=True)
class TodoPage:
    """Todos, newest first, and where to go on; None at the end."""

    todos: tuple[Todo, ...]
    after: After | None


def list_for_endpoint(
    db: Database, endpoint: Endpoint, queue: str | None, state: str | None, limit: int
) -> list[Todo]:
    """Newest first, granted queues only. Raises Forbidden, NotFound for the named queue."""
    with db.reading() as conn:
        params = {
            "endpoint_id": endpoint.id,
            "queue_id": named_queue(conn, endpoint, queue),
            "state": state,
            "limit": limit,
        }
        return database.many(conn, SQL["read_newest_of_endpoint"], params, Todo)


def page_for_human(
    db: Database, human: Human, filters: TodoFilters, after: After | None, limit: int
) -> TodoPage:
    """One page of the todos within the human's reach, newest first."""
    params = {
        "human_id": human.id,
        "queue": filters.queue,
        "state": filters.state,
        "endpoint": filters.endpoint,
        "team": filters.team,
        "before_at": after.created_at if after else None,
        "before_id": after.todo_id if after else None,
        "limit": limit + 1,
    }
    with db.reading() as conn:
        rows = database.many(conn, SQL["read_newest_of_human"], params, Todo)
    page = tuple(rows[:limit])
    has_more = len(rows) > limit
    return TodoPage(page, After(page[-1].created_at, page[-1].id) if has_more else None)


def get_for_endpoint(
    db: Database, endpoint: Endpoint, todo_id: str, attempts_limit: int
) -> TodoDetail:
    """One todo of a granted queue. Raises NotFound: foreign, unknown and ungranted are one."""
    with db.reading() as conn:
        params = {"endpoint_id": endpoint.id, "todo_id": _safe(todo_id)}
        todo = database.one(conn, SQL["read_of_endpoint"], params, Todo)
        return _detail(conn, todo, attempts_limit)


def get_for_human(db: Database, human: Human, todo_id: str, attempts_limit: int) -> TodoDetail:
    """One todo within the human's reach. Raises NotFound."""
    with db.reading() as conn:
        params = {"human_id": human.id, "todo_id": _safe(todo_id)}
        todo = database.one(conn, SQL["read_of_human"], params, Todo)
        return _detail(conn, todo, attempts_limit)


def _detail(conn: Connection, todo: Todo | None, attempts_limit: int) -> TodoDetail:
    if todo is None:
        raise NotFound
    params = {"todo_id": todo.id, "limit": attempts_limit}
    attempts = database.many(conn, SQL["read_attempts"], params, Attempt)
    body = None
    if todo.payload is None and todo.event_id is not None:
        body = database.one(conn, SQL["read_body"], params, Body)
    return TodoDetail(todo=todo, attempts=tuple(attempts), body=body)


def _safe(todo_id: str) -> str:
    """A text that cannot be an id asks the same question, of nothing (foreign = unknown)."""
    return todo_id if is_todo_id(todo_id) else ""
