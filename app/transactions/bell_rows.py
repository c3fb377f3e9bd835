"""Doorbell rows: one process takes each and judges it again before it rings (push.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Connection, Database, many
from app.db.statements import load
from app.domain.admission import Deferral
from app.domain.bells import Bell, DigestReason, Kind, digest_bell, todo_bell
from app.domain.presence import is_in
from app.domain.values import Json
from app.reads import admission
from app.transactions import ringing
from app.transactions.reopening import Recipient

SQL = load("bell_rows")

TAKE = 50

_REASONS = frozenset(reason.value for reason in DigestReason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row this process has taken; `endpoint_id` is None for a team's creation bell."""

    id: int
    endpoint_id: UUID | None
    queue_id: int | None
    todo_id: str | None
    kind: str
    meta: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """A bell that may be written, to one of `endpoint_ids`, and what to stamp for it.

    `row_id` is the row it comes of, if one. `clears`: although its todo rang within a minute.
    """

    kind: Kind
    bell: Bell
    endpoint_ids: tuple[UUID, ...]
    row_id: int | None = None
    todo_id: str | None = None
    queue_ids: tuple[int, ...] = ()
    has_policy: bool = False
    clears: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RingingTodo:
    """What a bell says of its todo."""

    id: str
    queue_id: int
    queue: str
    has_policy: bool
    title: str
    kind: str | None
    source: str | None

    @property
    def bell(self) -> Bell:
        """Its bell."""
        return todo_bell(
            todo_id=self.id, queue=self.queue, title=self.title, kind=self.kind, source=self.source
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drain:
    endpoint_id: UUID
    queue_id: int


def held(db: Database, endpoint_ids: Sequence[UUID]) -> dict[UUID, bool]:
    """Which of these endpoints are alive, and whether each is in. Raises Unavailable."""
    with db.reading() as conn:
        found = many(conn, SQL["read_held"], {"held": list(endpoint_ids)}, Recipient)
        at: datetime = db.now(conn)
    return {each.endpoint_id: is_in(each, at) for each in found}


def take(
    db: Database, process: str, present: Mapping[UUID, bool], *, limit: int = TAKE
) -> list[Row]:
    """Take the rows owed to endpoints whose streams this process holds (`present`: who is in).

    Rows of endpoints that are out are taken too, and dropped: presence covers that work with a
    digest. Raises Unavailable.
    """
    params = {
        "process": process,
        "held": list(present),
        "present": [endpoint_id for endpoint_id, works in present.items() if works],
        "limit": limit,
    }
    with db.reading() as conn:
        taken = many(conn, SQL["mark_bells_taken"], params, Row)
    return sorted(taken, key=lambda row: row.id)


def judge(db: Database, rows: Sequence[Row], present: Mapping[UUID, bool]) -> list[Ring]:
    """What of the taken rows may ring now: endpoint in, queue admitted, todo pending still.

    A reopen row is not tied to its todo: the oldest eligible one rings. Each todo at most once,
    but for reopen rows. Raises Unavailable.
    """
    with db.reading() as conn:
        todos = _rung_todos(conn, rows)
        closed = _closed(conn, todos.values())
        drains = _drains(conn, rows, present)
    rings: list[Ring] = []
    for row in rows:
        if row.kind == Kind.DIGEST:
            rings += _digest(row, present)
            continue
        todo = todos.get(row.id)
        if todo is None or todo.queue_id in closed or _rings_now(row, todo, rings):
            continue
        targets = _targets(row, present, drains)
        if targets:
            rings.append(_ring(row, todo, targets))
    return rings


def read_todos(conn: Connection, todo_ids: Sequence[str]) -> dict[str, RingingTodo]:
    """The pending todos among these, by id."""
    found = many(conn, SQL["read_todos"], {"ids": list(todo_ids)}, RingingTodo)
    return {each.id: each for each in found}


def _rung_todos(conn: Connection, rows: Sequence[Row]) -> dict[int, RingingTodo]:
    """The pending todo each row rings for, by the row's id."""
    queue_ids = sorted({row.queue_id or 0 for row in rows if _reopens(row)})
    found = many(conn, SQL["read_oldest"], {"queue_ids": queue_ids}, RingingTodo)
    oldest = {each.queue_id: each for each in found}
    named = read_todos(conn, [row.todo_id for row in rows if row.todo_id and not _reopens(row)])
    todos = {
        row.id: oldest.get(row.queue_id or 0) if _reopens(row) else named.get(row.todo_id or "")
        for row in rows
    }
    return {row_id: todo for row_id, todo in todos.items() if todo is not None}


def _reopens(row: Row) -> bool:
    return row.kind == Kind.REOPEN


def _closed(conn: Connection, todos: Iterable[RingingTodo]) -> set[int]:
    asked = sorted({each.queue_id for each in todos if each.has_policy})
    found = admission.statuses(conn, asked, counts_all=False)
    return {
        queue_id for queue_id, status in found.items() if isinstance(status.decision, Deferral)
    }


def _drains(
    conn: Connection, rows: Sequence[Row], present: Mapping[UUID, bool]
) -> set[tuple[UUID, int]]:
    queue_ids = sorted({row.queue_id for row in rows if row.queue_id is not None})
    if not queue_ids:
        return set()
    params = {"endpoint_ids": list(present), "queue_ids": queue_ids}
    found = many(conn, SQL["read_drains"], params, _Drain)
    return {(each.endpoint_id, each.queue_id) for each in found}


def _targets(
    row: Row, present: Mapping[UUID, bool], drains: set[tuple[UUID, int]]
) -> tuple[UUID, ...]:
    """Whose streams may carry the bell: in, and draining the queue within live reach."""
    asked = present if row.endpoint_id is None else (row.endpoint_id,)
    return tuple(
        endpoint_id
        for endpoint_id in asked
        if present.get(endpoint_id) and (endpoint_id, row.queue_id) in drains
    )


def _rings_now(row: Row, todo: RingingTodo, rings: Sequence[Ring]) -> bool:
    """Whether another row of this batch rings the todo; a reopen bell ignores that."""
    return not _reopens(row) and any(each.todo_id == todo.id for each in rings)


def _ring(row: Row, todo: RingingTodo, targets: tuple[UUID, ...]) -> Ring:
    return Ring(
        kind=Kind(row.kind),
        bell=todo.bell,
        endpoint_ids=targets,
        row_id=row.id,
        todo_id=todo.id,
        queue_ids=(todo.queue_id,),
        has_policy=todo.has_policy,
        clears=_clears(row),
    )


def _digest(row: Row, present: Mapping[UUID, bool]) -> list[Ring]:
    if row.endpoint_id is None or not present.get(row.endpoint_id):
        return []
    match row.meta:
        case {
            "pending": int(pending),
            "queues": list(queues),
            "queue_ids": list(queue_ids),
            "oldest_seconds": int(oldest),
            "reason": str(reason),
        } if reason in _REASONS:
            bell = digest_bell(
                pending=pending,
                queues=[str(queue) for queue in queues],
                oldest_seconds=oldest,
                reason=DigestReason(reason),
            )
            ids = tuple(each for each in queue_ids if isinstance(each, int))
            to = (row.endpoint_id,)
            return [Ring(kind=Kind.DIGEST, bell=bell, endpoint_ids=to, queue_ids=ids)]
    return []


def _clears(row: Row) -> bool:
    return isinstance(row.meta, dict) and row.meta.get(ringing.CLEARS) is True
