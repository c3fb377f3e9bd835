"""What arrived for a human: events of their own scope, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many, one
from app.db.statements import load
from app.domain.callers import Human
from app.domain.cursors import read_cursor, write_cursor
from app.domain.errors import InvalidArgument, NotFound
from app.domain.references import parse_row_number
from app.domain.values import Json

SQL = load("events")

_CURSOR_KIND = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One recorded delivery, without its body; `endpoint_id` or `team` is its owner."""

    id: int
    source: str
    family: str
    event_type: str | None
    external_id: str | None
    trust_mode: str
    verified: bool
    verify_detail: str | None
    content_type: str | None
    payload_size: int
    received_at: datetime
    webhook_id: UUID | None
    endpoint_id: UUID | None
    slug: str | None
    team: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDetail:
    """An event with its redacted headers, its body as received and the todos it became."""

    event: EventRow
    headers: Json
    payload: bytes | None
    todos: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """A page of events and the cursor of the next one, None at the end."""

    events: tuple[EventRow, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    headers: Json
    payload: bytes | None
    todos: list[str]


def page_events(db: Database, human: Human, cursor: str | None, limit: int) -> EventPage:
    """A page of at most `limit` events in the human's scope, newest first.

    Raises InvalidArgument on `cursor` for one this list never gave out.
    """
    before = None if cursor is None else _before(cursor)
    # One more than asked for says whether there is a next page.
    params = {"human_id": human.id, "before": before, "limit": limit + 1}
    with db.reading() as conn:
        rows = many(conn, SQL["read_events"], params, EventRow)
    return EventPage(events=tuple(rows[:limit]), next_cursor=_next(rows, limit))


def get_event(db: Database, human: Human, event_id: str) -> EventDetail:
    """One event of the human's scope; foreign, unknown and malformed are the same NotFound."""
    params = {"human_id": human.id, "event_id": parse_row_number(event_id)}
    with db.reading() as conn:
        event = one(conn, SQL["read_event"], params, EventRow)
        body = None if event is None else one(conn, SQL["read_event_body"], params, _Body)
    if event is None or body is None:
        raise NotFound
    return EventDetail(
        event=event, headers=body.headers, payload=body.payload, todos=tuple(body.todos)
    )


def _before(cursor: str) -> int:
    number = parse_row_number(read_cursor(cursor, _CURSOR_KIND))
    if number is None:
        raise InvalidArgument("cursor: not one this list gave out.", field="cursor")
    return number


def _next(rows: Sequence[EventRow], limit: int) -> str | None:
    return write_cursor(_CURSOR_KIND, str(rows[limit - 1].id)) if len(rows) > limit else None
