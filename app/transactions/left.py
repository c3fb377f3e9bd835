"""What a claim left of its queue's limits: headroom to answer with, or a queue it closed."""

from __future__ import annotations

from app.db import database
from app.db.database import Connection
from app.db.statements import load
from app.domain.admission import Deferral, Headroom, Reason, Usage, decide, headroom
from app.transactions.claims import Pick
from app.transactions.looks import Look, Verdict

SQL = load("left")


def closed_by(verdict: Verdict, seen: Look, used: int | None) -> list[Reason]:
    """Why the queue is closed now, when this claim took the last unit or the last slot."""
    if verdict.policy is None:
        return []
    left = Usage(
        in_flight=0 if seen.in_flight is None else seen.in_flight + 1,
        used=used,
        window_started_at=verdict.span.starts_at if verdict.span else None,
        window_resets_at=verdict.span.ends_at if verdict.span else None,
    )
    decision = decide(verdict.policy, left)
    return [decision.reason] if isinstance(decision, Deferral) else []


def headroom_of(
    conn: Connection, pick: Pick, verdict: Verdict, seen: Look, used: int | None
) -> Headroom | None:
    """After the commit: what is left, in flight counted then and there without a cap (R42)."""
    if verdict.policy is None:
        return None
    in_flight = _in_flight(conn, pick) if seen.in_flight is None else seen.in_flight + 1
    resets_at = verdict.span.ends_at if verdict.span else None
    return headroom(verdict.policy, in_flight, used, resets_at)


def _in_flight(conn: Connection, pick: Pick) -> int:
    counted = database.value(conn, SQL["count_in_flight"], {"queue_id": pick.todo.queue_id})
    return counted if isinstance(counted, int) else 0
