"""What every paged list takes, and the place in the list of todos as an opaque cursor."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from app.api.arguments import Arguments, Text
from app.domain.cursors import read_cursor, write_cursor
from app.domain.errors import InvalidArgument
from app.domain.todos import is_todo_id
from app.reads.todos import After

_KIND = "todo"


class Page(Arguments):
    """Query of a paged list."""

    limit: int = Field(default=50, ge=1, le=200)
    cursor: Text | None = None


def write_place(after: After) -> str:
    """Where a page of todos ended."""
    return write_cursor(_KIND, f"{after.todo_id} {after.created_at.isoformat()}")


def read_place(cursor: str) -> After:
    """Where the next page begins; InvalidArgument on `cursor` for any other text."""
    todo_id, _, instant = read_cursor(cursor, _KIND).partition(" ")
    created_at = _instant(instant)
    if created_at is None or not is_todo_id(todo_id):
        raise InvalidArgument("cursor: not one this list gave out.", field="cursor")
    return After(created_at, todo_id)


def _instant(text: str) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if instant.tzinfo is None else instant
