"""Retention: delete what is old or too many, never a live todo nor the event it came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from psycopg import sql

from app.db.database import Database, Params, Rollback, many, one, run, value
from app.db.statements import load

SQL = load("pruning")

BATCH = 1_000
AGE_DAYS = 30
ROWS = 500_000
PER_OWNER = 50_000
UNUSED_CLIENTS = 10_000

_MOST_DAYS = 36_500
_MOST_ROWS = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Caps per owner (endpoint or team), from SWITCHBOARD_RETENTION_*_PER_OWNER."""

    events_per_owner: int = PER_OWNER
    todos_per_owner: int = PER_OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """How many rows one run deleted."""

    events: int
    todos: int
    credentials: int
    windows: int = 0
    faults: int = 0
    doorbells: int = 0
    next_in: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cutoff:
    """Rows at or before this (instant, id) may go."""

    at: datetime
    id: int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owner:
    owner_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class _EventId:
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _TodoId:
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """One kind of rows: how to find its cutoffs, and how to delete one batch up to one."""

    last_id: int | str
    cutoff: sql.SQL
    owners: sql.SQL
    owner_cutoff: sql.SQL
    delete: Callable[[Database, Params], int]


def prune(db: Database, retention: Retention, *, batch: int = BATCH) -> Pruned:
    """Apply data.md "Retention" once, in transactions of at most `batch` rows each.

    Raises Unavailable; what was deleted before stays deleted.
    """
    before = _age_cutoff(db)
    keep = _setting(db, "retention_max_rows", ROWS, _MOST_ROWS)
    return Pruned(
        todos=_prune(db, _TODOS, before, keep, retention.todos_per_owner, batch),
        events=_prune(db, _EVENTS, before, keep, retention.events_per_owner, batch),
        credentials=sum(
            _sweep(db, name, batch)
            for name in (
                "delete_login_links", "delete_sessions", "delete_tokens", "delete_codes",
                "delete_clients", "delete_surplus_clients", "delete_drafts",
            )
        ),
        windows=_sweep(db, "delete_windows", batch),
        faults=_sweep(db, "delete_faults", batch),
        doorbells=_sweep(db, "delete_doorbells", batch),
    )


def _sweep(db: Database, name: str, batch: int) -> int:
    params = {"batch": batch, "keep": UNUSED_CLIENTS}
    return _in_batches(db, partial(_delete, SQL[name]), params)


def _prune(
    db: Database, rule: _Rule, before: datetime, keep: int, cap: int, batch: int
) -> int:
    """First the too old, then the too many, then owner by owner; the rows deleted."""

    def delete(cutoff: _Cutoff | None, owner_id: UUID | None) -> int:
        if cutoff is None:
            return 0
        params = {"at": cutoff.at, "id": cutoff.id, "owner_id": owner_id, "batch": batch}
        return _in_batches(db, rule.delete, params)

    deleted = delete(_Cutoff(at=before, id=rule.last_id), None)
    deleted += delete(_cutoff(db, rule.cutoff, {"keep": keep}), None)
    for owner_id in _owners(db, rule, cap):
        params = {"keep": cap, "owner_id": owner_id}
        deleted += delete(_cutoff(db, rule.owner_cutoff, params), owner_id)
    return deleted


def _in_batches(db: Database, delete: Callable[[Database, Params], int], params: Params) -> int:
    """Delete until a batch is not full; the rows deleted."""
    deleted = 0
    while True:
        count = delete(db, params)
        deleted += count
        if count < int(str(params["batch"])):
            return deleted


def _delete(query: sql.SQL, db: Database, params: Params) -> int:
    with db.transaction() as conn:
        return run(conn, query, params)


def _delete_events(db: Database, params: Params) -> int:
    """Delete one batch of events, holding their todos so that none comes back to life (data.md)."""
    with db.transaction() as conn:
        picked = [row.id for row in many(conn, SQL["pick_old_events"], params, _EventId)]
        if not picked:
            raise Rollback
        run(conn, SQL["lock_event_todos"], {"ids": picked})
        return run(conn, SQL["delete_events"], {"ids": picked})
    return 0


def _delete_todos(db: Database, params: Params) -> int:
    """Delete one batch of todos, and say up to which window their attempts are gone (R62)."""
    with db.transaction() as conn:
        picked = [row.id for row in many(conn, SQL["pick_old_todos"], params, _TodoId)]
        if not picked:
            raise Rollback
        run(conn, SQL["mark_attempts_pruned_through"], {"ids": picked})
        return run(conn, SQL["delete_todos"], {"ids": picked})
    return 0


def _cutoff(db: Database, query: sql.SQL, params: Params) -> _Cutoff | None:
    with db.reading() as conn:
        return one(conn, query, params, _Cutoff)


def _owners(db: Database, rule: _Rule, cap: int) -> list[UUID]:
    with db.reading() as conn:
        return [row.owner_id for row in many(conn, rule.owners, {"keep": cap}, _Owner)]


def _age_cutoff(db: Database) -> datetime:
    days = _setting(db, "retention_max_age_days", AGE_DAYS, _MOST_DAYS)
    with db.reading() as conn:
        instant = value(conn, SQL["read_age_cutoff"], {"days": days})
    assert isinstance(instant, datetime)  # a select without a from always answers
    return instant


def _setting(db: Database, key: str, default: int, most: int) -> int:
    """A setting as a whole number of at least 1; anything else falls back to the default."""
    with db.reading() as conn:
        text = value(conn, SQL["read_setting"], {"key": key})
    if not isinstance(text, str) or not (text.isascii() and text.isdigit() and len(text) < 19):
        return default
    return min(int(text), most) if int(text) else default


_TODOS = _Rule(
    last_id="td_" + "f" * 32,
    cutoff=SQL["read_todo_cutoff"],
    owners=SQL["read_todo_owners"],
    owner_cutoff=SQL["read_owner_todo_cutoff"],
    delete=_delete_todos,
)
_EVENTS = _Rule(
    last_id=_MOST_ROWS,
    cutoff=SQL["read_event_cutoff"],
    owners=SQL["read_event_owners"],
    owner_cutoff=SQL["read_owner_event_cutoff"],
    delete=_delete_events,
)
