"""Todos by API: the human's list, one todo, and what its owner may do to it."""

from __future__ import annotations

from typing import Literal

from flask import jsonify
from flask.typing import ResponseReturnValue
from pydantic import Field

from app.api import shapes
from app.api.arguments import AnyJson, Arguments, Text
from app.api.operator.door import asked_or_empty, bp, queried
from app.api.operator.page import Page, read_place, write_place
from app.domain.admission import Decision
from app.domain.todos import Todo, attempts_limit, summary_of
from app.domain.values import Json
from app.edge.deps import database, human, state
from app.reads import admission, todos
from app.reads.todos import TodoFilters
from app.transactions import settling
from app.transactions.settling import Settlement


class ListTodos(Page):
    """Query of GET /todos."""

    queue: Text | None = None
    state: Literal["pending", "claimed", "done", "failed"] | None = None
    endpoint: Text | None = None
    team: Text | None = None


class GetTodo(Arguments):
    """Query of GET /todos/{id}."""

    attempts_limit: int | None = None


class Release(Arguments):
    """Body of release, and what every settlement may carry."""

    summary: Text | None = None
    artifact: Text | None = None


class Settle(Release):
    """Body of complete and fail."""

    result: AnyJson = Field(default=None)


@bp.get("/todos")
def list_todos() -> ResponseReturnValue:
    """A page of todos within the human's reach, newest first, without their payloads."""
    query = queried(ListTodos)
    filters = TodoFilters(
        queue=query.queue, state=query.state, endpoint=query.endpoint, team=query.team
    )
    after = None if query.cursor is None else read_place(query.cursor)
    page = todos.page_for_human(database(), human(), filters, after, query.limit)
    next_cursor = None if page.after is None else write_place(page.after)
    statuses = admission.of_todos(database(), page.todos)
    rows = [_shown(todo, statuses.get(todo.id)) for todo in page.todos]
    return jsonify(todos=rows, next_cursor=next_cursor)


@bp.get("/todos/<todo_id>")
def read_todo(todo_id: str) -> ResponseReturnValue:
    """One todo with payload, result and attempts."""
    limit = attempts_limit(queried(GetTodo).attempts_limit)
    detail = todos.get_for_human(database(), human(), todo_id, limit)
    status = admission.of_todo(database(), detail.todo)
    return jsonify(shapes.todo_detail(detail, status) | _owner(detail.todo))


@bp.post("/todos/<todo_id>/retry")
def retry_todo(todo_id: str) -> ResponseReturnValue:
    """Make a failed todo pending again, with a fresh set of attempts."""
    asked_or_empty(Arguments)
    return jsonify(_row(settling.retry_now(database(), human(), todo_id)))


@bp.post("/todos/<todo_id>/discard")
def discard_todo(todo_id: str) -> ResponseReturnValue:
    """Dead-letter a pending todo or a parked retry."""
    asked_or_empty(Arguments)
    return jsonify(_row(settling.discard(database(), human(), todo_id)))


@bp.post("/todos/<todo_id>/release")
def release_todo(todo_id: str) -> ResponseReturnValue:
    """Hand back a todo the human claimed on the board."""
    body = asked_or_empty(Release)
    settlement = Settlement(summary=body.summary, artifact=body.artifact)
    return jsonify(_row(settling.release_as(database(), human(), todo_id, settlement)))


@bp.post("/todos/<todo_id>/complete")
def complete_todo(todo_id: str) -> ResponseReturnValue:
    """Finish a todo the human claimed on the board."""
    settlement = _settlement(asked_or_empty(Settle))
    return jsonify(_row(settling.complete_as(database(), human(), todo_id, settlement)))


@bp.post("/todos/<todo_id>/fail")
def fail_todo(todo_id: str) -> ResponseReturnValue:
    """Fail a todo the human claimed on the board."""
    settlement = _settlement(asked_or_empty(Settle))
    return jsonify(_row(settling.fail_as(database(), human(), todo_id, settlement)))


def _settlement(body: Settle) -> Settlement:
    """What was said; by setting, a missing summary is taken from the result (todos.md)."""
    taken = summary_of(body.result) if state().config.attempt_summary_from_result else None
    return Settlement(
        result=body.result,
        has_result="result" in body.model_fields_set,
        summary=body.summary or taken,
        artifact=body.artifact,
    )


def _row(todo: Todo) -> dict[str, Json]:
    return _shown(todo, admission.of_todo(database(), todo))


def _shown(todo: Todo, status: Decision | None) -> dict[str, Json]:
    return shapes.todo_row(todo, admission=status, with_payload=False) | _owner(todo)


def _owner(todo: Todo) -> dict[str, Json]:
    """The owning endpoint; a team's todo has none and names its team instead."""
    return {} if todo.endpoint_id is None else {"endpoint_id": str(todo.endpoint_id)}
