"""Budgets that were spent when last asked: looked at unlocked first, so that they hold nobody up.

A refusal under the lock costs two trips and a turn at the gate, and pollers of a spent queue would
crowd out its admissions. Memory only says which queues are worth the look; the look decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg

from app.db import database
from app.db.database import Database
from app.db.memory import Spent
from app.db.statements import load
from app.domain.admission import Deferral, Reason, Usage, decide
from app.domain.errors import Unavailable
from app.domain.policy import Policy, PolicyBroken, stored_policy
from app.transactions.heads import Head
from app.transactions.looks import Look, Verdict

SQL = load("spent")


@dataclass(frozen=True, slots=True)
class _Now:
    queue_id: int
    max_in_flight: int | None
    max_claims_per_window: int | None
    window_period: str | None
    window_tz: str | None
    window_start: str | None
    window_weekday: str | None
    used: int
    at: datetime


def remember(db: Database, queue_id: int, seen: Look, verdict: Verdict) -> None:
    """After a refusal under the lock: an exhausted window is worth a look before the next one."""
    decision, policy, span = verdict.decision, verdict.policy, verdict.span
    if not isinstance(decision, Deferral) or decision.reason is not Reason.WINDOW_EXHAUSTED:
        return
    if policy is None or span is None or seen.policy_id is None:
        return
    db.memory.spent.put(queue_id, Spent(seen.policy_id, policy, span))


def still(db: Database, heads: Sequence[Head]) -> list[tuple[Head, Deferral]]:
    """Which of these queues are still exhausted, by a fresh unlocked look at their windows.

    Touches no admission table unless this process saw one of them exhausted.
    """
    known = {h.queue_id: db.memory.spent.get(h.queue_id) for h in heads if h.has_policy}
    asked = {queue_id: each for queue_id, each in known.items() if each is not None}
    if not asked:
        return []
    params = {
        "policy_ids": [each.policy_id for each in asked.values()],
        "starts": [each.span.starts_at for each in asked.values()],
    }
    try:
        with db.reading() as conn:
            rows = database.many(conn, SQL["read_spent"], params, _Now)
    except (psycopg.Error, Unavailable):
        return []  # the look under the lock will say what is wrong, queue by queue (R39)
    found = {row.queue_id: _decide(asked[row.queue_id], row) for row in rows}
    refused = []
    for head in heads:
        decision = found.get(head.queue_id)
        if decision is not None:
            refused.append((head, decision))
        elif head.queue_id in asked:
            db.memory.spent.pop(head.queue_id)
    return refused


def _decide(spent: Spent, now: _Now) -> Deferral | None:
    """None when the policy or its window is another by now: then the locked look is due."""
    span = spent.span
    if _policy(now) != spent.policy or not span.starts_at <= now.at < span.ends_at:
        return None
    usage = Usage(
        in_flight=0,
        used=now.used,
        window_started_at=span.starts_at,
        window_resets_at=span.ends_at,
    )
    decision = decide(spent.policy, usage)
    return decision if isinstance(decision, Deferral) else None


def _policy(now: _Now) -> Policy | None:
    try:
        return stored_policy(
            now.max_in_flight,
            now.max_claims_per_window,
            now.window_period,
            now.window_tz,
            now.window_start,
            now.window_weekday,
        )
    except PolicyBroken:
        return None
