"""What a policy that is not saved yet would do: nothing is written to find out (board.md)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.db.database import Connection, Database, one, value
from app.db.statements import load
from app.domain.admission import Decision, Usage, decide, slot_hint
from app.domain.callers import Human
from app.domain.forecast import spans
from app.domain.policy import Policy
from app.domain.windows import Span, window_at
from app.reads import admission, queue_page
from app.reads.admission import QueueStatus
from app.reads.queue_page import SeenQueue

SQL = load("outlook")

_WINDOWS = 6
"""The window that is now and the next five."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A queue whose policy somebody is about to change, with the one in force, if any."""

    queue: SeenQueue
    status: QueueStatus | None
    now: datetime

    @property
    def revision(self) -> int:
        """What a save must find stored still; 0 without a policy."""
        return 0 if self.status is None or self.status.revision is None else self.status.revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What `policy` would do now. `spans` are the window that is now and the next five; empty,
    like the window's part of `usage`, without a window limit."""

    policy: Policy
    decision: Decision
    usage: Usage
    pending: int
    spans: tuple[Span, ...]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    at: datetime
    in_flight: int
    earliest_live_lease: datetime | None
    pending: int


def standing(db: Database, human: Human, ref: str) -> Standing:
    """The queue and its policy in force. Raises NotFound unless the human may configure it."""
    with db.reading() as conn:
        queue = queue_page.find_configurable(conn, human, ref)
        status = admission.statuses(conn, [queue.queue_id]).get(queue.queue_id)
        return Standing(queue=queue, status=status, now=db.now(conn))


def outlook(db: Database, human: Human, ref: str, policy: Policy) -> Outlook:
    """Judge one more claim by `policy` as if it were stored. Raises NotFound as `standing` does."""
    with db.reading() as conn:
        queue = queue_page.find_configurable(conn, human, ref)
        facts = one(conn, SQL["read_facts"], {"queue_id": queue.queue_id}, _Facts)
        assert facts is not None  # an aggregate over no rows is still a row
        window = policy.window if policy.window_limit_in_force else None
        span = None if window is None else window_at(window, facts.at)
        usage = Usage(
            in_flight=facts.in_flight,
            used=None if span is None else _used(conn, queue.queue_id, span),
            window_started_at=None if span is None else span.starts_at,
            window_resets_at=None if span is None else span.ends_at,
            slot_hint_at=slot_hint(facts.earliest_live_lease, facts.at),
        )
    return Outlook(
        policy=policy,
        decision=decide(policy, usage),
        usage=usage,
        pending=facts.pending,
        spans=() if window is None else spans(window, facts.at, _WINDOWS),
        now=facts.at,
    )


def _used(conn: Connection, queue_id: int, span: Span) -> int:
    params = {"queue_id": queue_id, "window_start": span.starts_at}
    found = value(conn, SQL["read_used"], params)
    return found if isinstance(found, int) else 0
