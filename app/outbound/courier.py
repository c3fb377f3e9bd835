"""Tells notify hooks of what this process changed: two bounded queues and eight workers (REQ-8).

Nothing is persisted: a hook is a hint, and what is lost here is found by the claims that ask.
"""

from __future__ import annotations

import logging
import math
import queue
import random
import threading
import time
from dataclasses import replace
from datetime import UTC

import psycopg
from standardwebhooks import Webhook

from app.db.database import Database
from app.db.outbox import Backlog, Ready
from app.domain.errors import DomainError
from app.domain.hooks import RETRY_AFTER, Type, Verdict
from app.outbound.deliveries import Deliveries, Delivery
from app.outbound.dialing import Dialer
from app.transactions import hook_calls
from app.transactions.hook_calls import Call, NoCall

MOST_WAITING = 1024
WORKERS = 8
_AT_ONCE = 64  # notices whose hooks are asked for in one statement

log = logging.getLogger(__name__)


class Courier:
    """The outbox of a process that changes todos; daemon threads between start() and stop()."""

    def __init__(self, dialer: Dialer, *, version: str) -> None:
        """Takes notices at once, and sends them once started. Make it after the fork."""
        self._dialer = dialer
        self._agent = f"switchboard/{version}"
        self._notices: queue.Queue[Ready | Backlog | None] = queue.Queue(MOST_WAITING)
        self._deliveries = Deliveries(MOST_WAITING)
        self._spreader = threading.Thread()
        self._workers: list[threading.Thread] = []
        self._db: Database | None = None

    def start(self, db: Database) -> None:
        """Start the workers over `db`, whose counters they move."""
        self._db = db
        self._spreader = threading.Thread(
            target=self._spread, args=(db,), name="hooks", daemon=True
        )
        self._workers = [
            threading.Thread(target=self._work, args=(db,), name=f"hook-{number}", daemon=True)
            for number in range(WORKERS)
        ]
        for thread in (self._spreader, *self._workers):
            thread.start()

    def offer(self, notice: Ready | Backlog) -> None:
        """Take one notice, or drop and count it when 1024 wait already. Never blocks."""
        try:
            self._notices.put_nowait(notice)
        except queue.Full:
            self._count(_type_of(notice), "dropped")

    def stop(self, seconds: float = 2.0) -> None:
        """Make the calls that are due, for `seconds` at most; what takes longer is let go of."""
        ends_at = time.monotonic() + seconds
        try:
            self._notices.put(None, timeout=seconds / 4)
            self._spreader.join(seconds / 4)
        except queue.Full:
            log.warning("notify_hooks_busy_at_stop")
        self._deliveries.finish()
        for thread in self._workers:
            thread.join(max(ends_at - time.monotonic(), 0.0))
        left = self._deliveries.close()
        if left:
            log.warning("notify_hook_calls_dropped count=%s", left)

    def _spread(self, db: Database) -> None:
        """Turn notices into deliveries, one per hook that hears of them, until told to stop."""
        while batch := self._next_notices():
            notices = [each for each in batch if each is not None]
            try:
                self._owe(db, notices)
            except Exception:
                # A mistake with one notice must not silence the hooks of a process for good.
                log.exception("notify_hooks_not_spread")
            if len(notices) < len(batch):
                return

    def _next_notices(self) -> list[Ready | Backlog | None]:
        """Wait for one, and take what else is there; None among them is the end."""
        batch = [self._notices.get()]
        while len(batch) < _AT_ONCE and batch[-1] is not None:
            try:
                batch.append(self._notices.get_nowait())
            except queue.Empty:
                break
        return batch

    def _owe(self, db: Database, notices: list[Ready | Backlog]) -> None:
        try:
            owed = hook_calls.owed(db, notices)
        except (DomainError, psycopg.Error) as away:
            log.warning("notify_hooks_unknown fault=%s", type(away).__name__)
            for notice in notices:
                self._count(_type_of(notice), "dropped")
            return
        for each in owed:
            if not self._deliveries.put(Delivery(owed=each)):
                self._count(each.type, "dropped")

    def _work(self, db: Database) -> None:
        while (delivery := self._deliveries.take()) is not None:
            try:
                self._attempt(db, delivery)
            except Exception:
                # The same for one call: the worker goes on with the next.
                log.exception("notify_hook_not_called hook_id=%s", delivery.owed.hook_id)

    def _attempt(self, db: Database, delivery: Delivery) -> None:
        try:
            call = hook_calls.prepare(db, delivery.owed, delivery.message)
        except (DomainError, psycopg.Error) as away:
            log.warning("notify_hook_not_judged fault=%s", type(away).__name__)
            call = NoCall.DROPPED
        if isinstance(call, NoCall):
            self._give_up(db, delivery, call)
            return
        verdict = self._dialer.post(
            call.url, _headers(call, self._agent), call.message.body.encode()
        )
        db.counters.add("switchboard_notify_hook_attempts_total", result=verdict.result)
        tried = replace(
            delivery, attempts=delivery.attempts + 1, message=call.message, last=verdict
        )
        if verdict.is_retried and tried.attempts <= len(RETRY_AFTER):
            _record(db, tried, verdict, is_last=False)
            pause = RETRY_AFTER[delivery.attempts] * random.uniform(0.8, 1.2)
            self._deliveries.put(tried, after=pause)
        else:
            self._end(db, tried, verdict)

    def _give_up(self, db: Database, delivery: Delivery, why: NoCall) -> None:
        """End what is not to be tried (again); it failed only if it was tried before."""
        if delivery.last is not None:
            self._end(db, delivery, delivery.last)
        elif why is NoCall.DROPPED:
            self._count(delivery.owed.type, "dropped")

    def _end(self, db: Database, delivery: Delivery, verdict: Verdict) -> None:
        self._count(delivery.owed.type, "delivered" if verdict.failure is None else "failed")
        _record(db, delivery, verdict, is_last=True)

    def _count(self, about: Type, outcome: str) -> None:
        if self._db is not None:
            self._db.counters.add(
                "switchboard_notify_hook_notifications_total", type=about.value, outcome=outcome
            )


def _type_of(notice: Ready | Backlog) -> Type:
    return Type.READY if isinstance(notice, Ready) else Type.BACKLOG


def _record(db: Database, delivery: Delivery, verdict: Verdict, *, is_last: bool) -> None:
    """Write the hook's health; without a database the call was made all the same."""
    try:
        hook_calls.record(db, delivery.owed.hook_id, verdict, is_last=is_last)
    except (DomainError, psycopg.Error) as away:
        log.warning("notify_hook_not_recorded fault=%s", type(away).__name__)


def _headers(call: Call, agent: str) -> dict[str, str]:
    """The headers of one attempt: a fresh timestamp, one signature per secret (push.md)."""
    at = call.at.astimezone(UTC)
    signatures = [
        Webhook(secret).sign(call.message.id, at, call.message.body) for secret in call.secrets
    ]
    return {
        "Content-Type": "application/json",
        "User-Agent": agent,
        "Webhook-Id": call.message.id,
        "Webhook-Timestamp": str(math.floor(at.timestamp())),
        "Webhook-Signature": " ".join(signatures),
    }
