"""Who clocks in and out, and the digest owed to an endpoint that comes in (push.md, "Presence").

A write is one transaction: lock the endpoint, change its columns, evaluate, settle the edge. Out
to in is won by one conditional update of `presence_seen`, once across servers and restarts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.db.database import Connection, Database, one, run
from app.db.outbox import Backlog
from app.db.statements import load
from app.domain import clocking
from app.domain.bells import DigestReason
from app.domain.callers import Endpoint, Human
from app.domain.errors import Conflict, InvalidArgument
from app.domain.presence import PresenceFacts, has_lapsed, presence
from app.reads.presence import Standing, Timed, pending
from app.transactions import configuring, digests

SQL = load("presence")

log = logging.getLogger(__name__)

Change = Callable[[Timed, datetime], Timed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a transaction decided; `turned` is the edge this caller won, `in` or `out`."""

    endpoint_id: UUID
    turned: str | None
    backlog: Backlog | None = None


def clock_out(db: Database, endpoint: Endpoint) -> Standing:
    """The agent is out until its shift says otherwise or it clocks in. Raises Conflict."""
    return _write(db, _own(endpoint), clocking.clocked_out, DigestReason.CLOCK_IN)


def clock_in(db: Database, endpoint: Endpoint, stay: timedelta | None = None) -> Standing:
    """The agent is in: out of shift for `stay`, an hour unless given; else an `out` is over.

    Raises InvalidArgument on `for` beyond 8 hours, Conflict for an endpoint that ended.
    """
    lasts = clocking.STAY if stay is None else clocking.check_stay(stay)

    def change(facts: Timed, at: datetime) -> Timed:
        return clocking.clocked_in(facts, lasts, at)

    return _write(db, _own(endpoint), change, DigestReason.CLOCK_IN)


def set_override(
    db: Database, human: Human, ref: str, word: str, until: datetime | str | None = None
) -> Standing:
    """The owner says `in` or `out`, until an instant to come or for as long as it holds.

    Raises NotFound, Conflict, and InvalidArgument on `presence` or `until`.
    """

    def change(facts: Timed, at: datetime) -> Timed:
        if word not in clocking.WORDS:
            raise InvalidArgument("presence: say in or out.", field="presence")
        if isinstance(until, datetime):
            ends_at: datetime | None = clocking.check_until(until, at)
        else:
            ends_at = clocking.parse_until(until, at)
        return clocking.overridden(facts, word, ends_at, f"operator:{human.id}", at)

    return _write(db, _owned(human, ref), change, DigestReason.OPERATOR)


def end_override(db: Database, human: Human, ref: str) -> Standing:
    """The shift decides again, or in without one; without an override nothing changes."""

    def change(facts: Timed, at: datetime) -> Timed:
        del at
        return clocking.without_override(facts)

    return _write(db, _owned(human, ref), change, DigestReason.OPERATOR)


def set_shift(db: Database, human: Human, ref: str, shift: str | None) -> Standing:
    """Another shift, or None for none. Raises NotFound, Conflict, InvalidArgument on `shift`."""

    def change(facts: Timed, at: datetime) -> Timed:
        kept = None if shift is None else clocking.tidy_shift(shift)
        return facts if kept == facts.shift else clocking.with_shift(facts, kept, at)

    return _write(db, _owned(human, ref), change, DigestReason.OPERATOR)


def settle(db: Database, endpoint_id: UUID) -> bool:
    """Act on what the clock has changed; True when this caller won an edge. Raises Unavailable."""
    settled = None
    with db.transaction() as conn:
        locked = one(conn, SQL["lock_own"], {"endpoint_id": endpoint_id}, Timed)
        if locked is not None:
            at = db.now(conn)
            settled = _settle(conn, locked, at, clocking.reason_by_clock(locked, at))
            if has_lapsed(locked, at):
                _store(conn, endpoint_id, clocking.without_override(locked))
    if settled is None or settled.turned is None:
        return False
    _announce(db, settled)
    return True


def _write(
    db: Database, lock: Callable[[Connection], Timed], change: Change, reason: DigestReason
) -> Standing:
    with db.transaction() as conn:
        locked = lock(conn)
        at = db.now(conn)
        changed = change(locked, at)
        if changed != locked:
            _store(conn, locked.endpoint_id, changed)
        settled = _settle(conn, changed, at, reason)
        waiting = pending(conn, locked.endpoint_id)
    _announce(db, settled)
    now = presence(changed, at)
    log.info(
        "presence endpoint_id=%s is=%s source=%s", locked.endpoint_id, now.word, now.source
    )
    return Standing(endpoint_id=locked.endpoint_id, presence=now, pending=waiting, at=at)


def _own(endpoint: Endpoint) -> Callable[[Connection], Timed]:
    def lock(conn: Connection) -> Timed:
        locked = one(conn, SQL["lock_own"], {"endpoint_id": endpoint.id}, Timed)
        if locked is None:
            raise Conflict("The endpoint is revoked.", state="revoked")
        return locked

    return lock


def _owned(human: Human, ref: str) -> Callable[[Connection], Timed]:
    def lock(conn: Connection) -> Timed:
        found = configuring.find_active(conn, human, ref)
        params = {"endpoint_id": found.id, "human_id": human.id}
        locked = one(conn, SQL["lock_owned"], params, Timed)
        if locked is None:
            configuring.find_active(conn, human, ref)  # says which of the two it became
            raise Conflict
        return locked

    return lock


def _store(conn: Connection, endpoint_id: UUID, facts: PresenceFacts) -> None:
    params = {
        "endpoint_id": endpoint_id,
        "shift": facts.shift,
        "presence_override": facts.presence_override,
        "override_until": facts.override_until,
        "override_by": facts.override_by,
        "override_set_at": facts.override_set_at,
    }
    run(conn, SQL["mark_presence"], params)


def _settle(conn: Connection, facts: Timed, at: datetime, reason: DigestReason) -> Settled:
    """Decide the edge between what was last acted on and what holds at `at`."""
    now = presence(facts, at)
    params = {"endpoint_id": facts.endpoint_id, "word": now.word}
    if run(conn, SQL["mark_seen"], params) == 0:
        return Settled(endpoint_id=facts.endpoint_id, turned=None)
    backlog = digests.owe(conn, facts.endpoint_id, reason) if now.is_in else None
    return Settled(endpoint_id=facts.endpoint_id, turned=now.word, backlog=backlog)


def _announce(db: Database, settled: Settled) -> None:
    """After the commit: streams everywhere read the presence again, hooks hear of the backlog."""
    db.feed.endpoints(settled.endpoint_id)
    if settled.backlog is not None:
        db.hooks.offer(settled.backlog)
    if settled.turned == "in":
        digests.mark_left_out(db, settled.endpoint_id)
