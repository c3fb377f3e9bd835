"""Todos that became ready ring, and hooks are told: sender gate, admission, presence (REQ-8, R46).

Called after the commit that made them ready. Whatever goes wrong here is logged and never changes
the answer of that call: attach and heartbeat make up for a bell that was not written.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import psycopg

from app.db.database import Connection, Database, jsonb, many, run
from app.db.outbox import Ready
from app.db.statements import load
from app.domain.admission import Deferral
from app.domain.bells import Why
from app.domain.errors import DomainError
from app.domain.presence import PresenceFacts, is_in
from app.reads import admission
from app.transactions import reopening

SQL = load("ringing")

CLEARS = "clears_silence"
"""The key in `meta` of a bell that rings although its todo rang within the last minute."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting(PresenceFacts):
    id: str
    queue_id: int
    has_policy: bool
    is_team: bool
    endpoint_id: UUID | None


def created(db: Database, todo_ids: Sequence[str]) -> None:
    """New todos ring and are told to hooks. Never raises."""
    _announce(db, todo_ids, why=Why.CREATED)


def requeued(
    db: Database,
    todo_ids: Sequence[str],
    *,
    tells_hooks: bool,
    clears_silence: bool = False,
    rung: Collection[int] = (),
) -> None:
    """Todos that are pending again ring, unless their queue is in `rung`: one bell is enough.

    `clears_silence`: also when the todo rang within the last minute (the retry scheduler).
    `tells_hooks`: only the reaper and the retry scheduler do. Never raises.
    """
    why = Why.REQUEUED if tells_hooks else None
    _announce(db, todo_ids, why=why, clears_silence=clears_silence, rung=rung)


def _announce(
    db: Database,
    todo_ids: Sequence[str],
    *,
    why: Why | None,
    clears_silence: bool = False,
    rung: Collection[int] = (),
) -> None:
    if not todo_ids:
        return
    try:
        waiting = _admitted(db, todo_ids)
        told = [each for each in waiting if each.queue_id not in rung]
        _ring(db, told, clears_silence=clears_silence)
    except (psycopg.Error, DomainError) as fault:
        log.warning("bells_not_written fault=%s", type(fault).__name__)
        return
    if why is not None:
        for each in told:
            db.hooks.offer(Ready(todo_id=each.id, queue_id=each.queue_id, why=why))


def _admitted(db: Database, todo_ids: Sequence[str]) -> list[_Waiting]:
    """Those that may ring by sender and by admission; a queue that suppressed one owes a ring."""
    with db.reading() as conn:
        ready = many(conn, SQL["read_ready"], {"ids": list(todo_ids)}, _Waiting)
        closed = _closed(conn, ready)
    for queue_id, deferral in closed.items():
        reopening.owe(db, queue_id, deferral.reason)
    return [each for each in ready if each.queue_id not in closed]


def _closed(conn: Connection, ready: Iterable[_Waiting]) -> dict[int, Deferral]:
    asked = sorted({each.queue_id for each in ready if each.has_policy})
    found = admission.statuses(conn, asked, counts_all=False)
    return {
        queue_id: status.decision
        for queue_id, status in found.items()
        if isinstance(status.decision, Deferral)
    }


def _ring(db: Database, told: Sequence[_Waiting], *, clears_silence: bool) -> None:
    if not told:
        return
    with db.reading() as conn:
        at = db.now(conn)
        bells = [each for each in told if each.is_team or _is_in(each, at)]
        if not bells:
            return
        run(
            conn,
            SQL["insert_bells"],
            {
                "endpoint_ids": [each.endpoint_id for each in bells],
                "queue_ids": [each.queue_id for each in bells],
                "todo_ids": [each.id for each in bells],
                "meta": jsonb({CLEARS: True}) if clears_silence else None,
            },
        )
    # Told again, now that the rows are there: the first notice may have gone out before them.
    db.feed.ready(*sorted({each.queue_id for each in bells}))


def _is_in(each: _Waiting, at: datetime) -> bool:
    """Whether the one endpoint that drains the queue is there and in."""
    return each.endpoint_id is not None and is_in(each, at)
