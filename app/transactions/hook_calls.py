"""Calls to notify hooks: who is owed one, whether it may still be made, and what became of it.

The bytes are sent elsewhere (app/outbound/): nothing here holds a connection while one is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from app.db import minting
from app.db.database import Connection, Database, many, one, run, value
from app.db.outbox import Backlog, Ready
from app.db.sealing import SealBroken
from app.db.statements import load
from app.domain.admission import Deferral
from app.domain.hooks import (
    FAILURES_UNTIL_DISABLED,
    ReadyFacts,
    Type,
    Verdict,
    backlog_body,
    ready_body,
)
from app.domain.presence import PresenceFacts, is_in
from app.reads import admission

SQL = load("hook_calls")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """One notification: a hook, and what it is to be told."""

    hook_id: UUID
    notice: Ready | Backlog

    @property
    def type(self) -> Type:
        """What it is about."""
        return Type.READY if isinstance(self.notice, Ready) else Type.BACKLOG


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is sent, the same at every attempt: its id, and its body as JSON."""

    id: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An attempt that may be made now: where to, and what to sign with, the newest secret first."""

    url: str
    secrets: tuple[str, ...]
    message: Message
    at: datetime


class NoCall(Enum):
    """Why an attempt is not made."""

    NOT_DUE = "not due"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hears:
    """A hook, and the queue or the endpoint it hears of."""

    hook_id: UUID
    of: int | UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hook(PresenceFacts):
    id: UUID
    url: str
    queues: list[str]
    secret: str
    previous_secret: str | None
    ignore_presence: bool
    slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Todo:
    todo_id: str
    queue: str
    title: str
    kind: str | None
    source: str | None
    attempt: int
    has_policy: bool


def owed(db: Database, notices: Sequence[Ready | Backlog]) -> list[Owed]:
    """One notification per notice and hook that is to hear of it; raises Unavailable."""
    queue_ids = sorted({each.queue_id for each in notices if isinstance(each, Ready)})
    endpoint_ids = list({each.endpoint_id for each in notices if isinstance(each, Backlog)})
    hears: list[_Hears] = []
    with db.reading() as conn:
        if queue_ids:
            hears += many(conn, SQL["read_hooks_of_queues"], {"queue_ids": queue_ids}, _Hears)
        if endpoint_ids:
            asked = {"endpoint_ids": endpoint_ids}
            hears += many(conn, SQL["read_hooks_of_endpoints"], asked, _Hears)
    return [
        Owed(hook_id=each.hook_id, notice=notice)
        for notice in notices
        for each in hears
        if each.of == (notice.queue_id if isinstance(notice, Ready) else notice.endpoint_id)
    ]


def prepare(db: Database, owing: Owed, message: Message | None) -> Call | NoCall:
    """Judge once more, right before an attempt: hook, presence, todo, admission, rate (R46).

    `message` is that of the attempt before; the first one takes a token of the hook's rate. The
    answer is DROPPED over that rate, NOT_DUE when the hook is not to hear of it any more. Raises
    Unavailable.
    """
    with db.reading() as conn:
        hook = one(conn, SQL["read_hook"], {"hook_id": owing.hook_id}, _Hook)
        at = db.now(conn)
        if hook is None or not (hook.ignore_presence or is_in(hook, at)):
            return NoCall.NOT_DUE
        body = _body(conn, hook, owing.notice, at)
        if body is None:
            return NoCall.NOT_DUE
        if message is None:
            if run(conn, SQL["mark_token_taken"], {"hook_id": hook.id}) == 0:
                return NoCall.DROPPED
            message = Message(id=minting.message_id(), body=body)
    secrets = _secrets(db, hook)
    if not secrets:
        return NoCall.DROPPED
    return Call(url=hook.url, secrets=secrets, message=message, at=at)


def record(db: Database, hook_id: UUID, verdict: Verdict, *, is_last: bool) -> None:
    """Write down how an attempt ended; the last failed one may switch the hook off.

    Raises Unavailable.
    """
    failure = None if verdict.failure is None else verdict.failure.value
    params: dict[str, object] = {
        "hook_id": hook_id,
        "status": verdict.status,
        "failure": failure,
        "most": FAILURES_UNTIL_DISABLED,
    }
    is_disabled = False
    with db.reading() as conn:
        if verdict.failure is None:
            run(conn, SQL["mark_delivered"], params)
        elif is_last:
            is_disabled = value(conn, SQL["mark_failed"], params) is True
        else:
            run(conn, SQL["mark_tried"], params)
    if is_disabled:
        log.warning("notify_hook_disabled hook_id=%s last_error=%s", hook_id, failure)
        db.counters.add("switchboard_notify_hooks_disabled_total", reason="consecutive_failures")


def _body(
    conn: Connection, hook: _Hook, notice: Ready | Backlog, at: datetime
) -> str | None:
    if isinstance(notice, Ready):
        return _ready(conn, hook, notice, at)
    return _backlog(conn, hook, notice, at)


def _ready(conn: Connection, hook: _Hook, notice: Ready, at: datetime) -> str | None:
    params = {"hook_id": hook.id, "queue_id": notice.queue_id, "todo_id": notice.todo_id}
    todo = one(conn, SQL["read_todo"], params, _Todo)
    if todo is None or (todo.has_policy and _closed(conn, [notice.queue_id])):
        return None
    facts = ReadyFacts(
        todo_id=todo.todo_id,
        queue=todo.queue,
        title=todo.title,
        kind=todo.kind,
        source=todo.source,
        attempt=todo.attempt,
    )
    return ready_body(facts, why=notice.why, endpoint=hook.slug, at=at)


def _backlog(conn: Connection, hook: _Hook, notice: Backlog, at: datetime) -> str | None:
    """The share of a backlog in the hook's own queues that admit claims still."""
    heard = [each for each in notice.waiting if not hook.queues or each.queue in hook.queues]
    closed = _closed(conn, [each.queue_id for each in heard])
    open_ones = [each for each in heard if each.queue_id not in closed]
    if not open_ones or hook.ignore_presence:
        return None
    return backlog_body(
        [each.queue for each in open_ones],
        reason=notice.reason,
        endpoint=hook.slug,
        pending=sum(each.pending for each in open_ones),
        oldest_pending_seconds=max(each.oldest_pending_seconds for each in open_ones),
        at=at,
    )


def _closed(conn: Connection, queue_ids: Sequence[int]) -> set[int]:
    found = admission.statuses(conn, queue_ids, counts_all=False)
    return {
        queue_id for queue_id, status in found.items() if isinstance(status.decision, Deferral)
    }


def _secrets(db: Database, hook: _Hook) -> tuple[str, ...]:
    """The secrets in clear; none when the server's key does not open them."""
    sealed = [each for each in (hook.secret, hook.previous_secret) if each is not None]
    try:
        return tuple(db.sealer.open(each, str(hook.id)) for each in sealed)
    except SealBroken:
        log.error("notify_hook_secret_unreadable hook_id=%s", hook.id)
        return ()
