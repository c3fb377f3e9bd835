"""Presence by the clock: edges of shifts and ends of overrides, whoever notices first settles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many
from app.db.statements import load
from app.domain.presence import has_lapsed, presence
from app.reads.presence import Timed
from app.transactions.presence import settle

SQL = load("presence_sweep")

PAGE = 200
_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """An endpoint as it was seen at `at`, and until when the clock changes nothing about it."""

    facts: Timed
    at: datetime
    until: datetime | None

    def holds(self, facts: Timed, at: datetime) -> bool:
        """Whether looking again would find the same."""
        return facts == self.facts and self.at <= at and (self.until is None or at < self.until)


@dataclass(slots=True)
class Sweep:
    """What one sweep did; `next_in` is in how many seconds (database time) to look again."""

    looks: dict[UUID, Look]
    settled: int = 0
    next_in: float | None = None


def settle_due(db: Database, known: dict[UUID, Look], *, most: int) -> Sweep:
    """Settle what the clock has changed, at most `most` endpoints in one turn.

    `known` are the looks of the sweep before: asking a shift costs a millisecond, and every notice
    starts a sweep. Raises Unavailable; what was committed before stands.
    """
    swept = Sweep(looks={})
    ends: list[float] = []
    for page, at in _pages(db):
        for facts in page:
            look = known.get(facts.endpoint_id)
            if look is None or not look.holds(facts, at):
                look = _look(facts, at)
            if look is None:
                if swept.settled == most:
                    swept.next_in = 0.0
                    return swept
                settle(db, facts.endpoint_id)
                swept.settled += 1
                continue
            swept.looks[facts.endpoint_id] = look
            if look.until is not None:
                ends.append((look.until - at).total_seconds())
    # What was settled has a next edge of its own, which only another look finds.
    swept.next_in = 0.0 if swept.settled else min(ends, default=None)
    return swept


def _look(facts: Timed, at: datetime) -> Look | None:
    """None when there is something to settle."""
    now = presence(facts, at)
    if now.word != facts.presence_seen or has_lapsed(facts, at):
        return None
    return Look(facts=facts, at=at, until=now.until)


def _pages(db: Database) -> Iterator[tuple[list[Timed], datetime]]:
    after = _FIRST
    while True:
        params = {"after": after, "limit": PAGE}
        with db.reading() as conn:
            page = many(conn, SQL["read_timed"], params, Timed)
            at = db.now(conn)
        yield page, at
        if len(page) < PAGE:
            return
        after = page[-1].endpoint_id
