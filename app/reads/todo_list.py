"""The todos page: one viewer's todos, narrowed by queue, state and text, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Connection, Database, many
from app.db.statements import load
from app.domain.todos import State

SQL = load("todo_list")

PAGE_SIZE = 50
# So many are sorted in no time; a walk for them would look at nearly every todo of the owner.
FEW = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilters:
    """What the list is narrowed to. `queue` is a queue's id or a display name: digits that are
    the id of a visible queue name that one, any other text every visible queue of that name.
    `text` is looked for in id, title, source and kind, in whatever case.
    """

    queue: str | None = None
    state: State | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleQueue:
    """A queue the viewer may see; `endpoint` is None for a team's, `is_namesake` says that the
    viewer sees another of that display name.
    """

    queue_id: int
    queue: str
    endpoint: str | None
    is_namesake: bool
    has_policy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTodo:
    """One row: a todo without its payload and result."""

    id: str
    queue_id: int
    queue: str
    title: str
    source: str | None
    kind: str | None
    state: str
    attempt: int
    max_attempts: int
    lease_expires_at: datetime | None
    next_retry_at: datetime | None
    created_at: datetime
    has_policy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of the list. `chosen` are the queues the filter lets through; `counts` are by state,
    of every todo that passes the filters but the state's own; `pages` is at least 1.
    """

    queues: tuple[VisibleQueue, ...]
    chosen: tuple[VisibleQueue, ...]
    counts: Mapping[State, int]
    todos: tuple[ListedTodo, ...]
    total: int
    page: int
    pages: int
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    state: str
    n: int


def list_todos(
    db: Database, human_id: UUID, filters: ListFilters, page: int, *, with_rows: bool = True
) -> Listing:
    """One page, from 1, newest first; a page past the end is the last one. Raises Unavailable.

    (board.md, "Todos view")
    """
    with db.reading() as conn:
        queues = many(conn, SQL["read_queues"], {"human_id": human_id}, VisibleQueue)
        chosen = _choose(queues, filters.queue)
        params: dict[str, object] = {
            "human_id": human_id,
            "queue_ids": None if filters.queue is None else [each.queue_id for each in chosen],
            "pattern": like_pattern(filters.text),
        }
        counts = _counts(conn, params)
        total = sum(counts.values()) if filters.state is None else counts[filters.state]
        pages = max(1, -(-total // PAGE_SIZE))
        shown = min(page, pages)
        start = (shown - 1) * PAGE_SIZE
        has_rows = with_rows and start < total
        todos = _page(conn, params, filters.state, start, total) if has_rows else []
        now = db.now(conn)
    return Listing(
        queues=tuple(queues),
        chosen=tuple(chosen),
        counts=counts,
        todos=tuple(todos),
        total=total,
        page=shown,
        pages=pages,
        now=now,
    )


def like_pattern(text: str | None) -> str | None:
    """A pattern that finds `text` anywhere, its wildcards taken as themselves; None finds all."""
    if not text:
        return None
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _choose(queues: list[VisibleQueue], wanted: str | None) -> list[VisibleQueue]:
    if wanted is None:
        return queues
    by_id = [each for each in queues if str(each.queue_id) == wanted]
    return by_id or [each for each in queues if each.queue == wanted]


def _counts(conn: Connection, params: Mapping[str, object]) -> dict[State, int]:
    found = {each.state: each.n for each in many(conn, SQL["read_counts"], params, _Counted)}
    return {state: found.get(state, 0) for state in State}


def _page(
    conn: Connection, asked: Mapping[str, object], state: State | None, start: int, total: int
) -> list[ListedTodo]:
    """The rows from `start` on, by the way that looks at the fewest todos for them."""
    params = {**asked, "state": state, "size": PAGE_SIZE, "start": start}
    is_narrowed = any(asked[name] is not None for name in ("queue_ids", "pattern")) or state
    if is_narrowed and total <= FEW:
        return many(conn, SQL["read_page_of_few"], params, ListedTodo)
    rest = total - start
    if rest < start:
        size = min(PAGE_SIZE, rest)
        params |= {"size": size, "start": rest - size, "reach": rest}
        return many(conn, SQL["read_page_from_end"], params, ListedTodo)
    return many(conn, SQL["read_page"], {**params, "reach": start + PAGE_SIZE}, ListedTodo)
