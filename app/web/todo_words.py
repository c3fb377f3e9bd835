"""What state a todo is in, who has it and what became of an attempt, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.isolating import isolate
from app.domain.phrases import zone_of
from app.domain.todos import Attempt, State
from app.reads.admission import QueueStatus
from app.web import present_headers
from app.web.present import Instant, instant
from app.web.present_headers import ChipView

_OUTCOMES = {
    "completed": "completed",
    "failed": "failed",
    "released": "released",
    "lease_expired": "lease ended, taken over",
    "reaped": "lease ended",
    "revoked": "endpoint revoked",
}
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
_ENDINGS = {
    "done": "",
    "retry_scheduled": ", retry planned",
    "dead_lettered": ", dead letter",
    "requeued": ", pending again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """A state in a word, and the moment that belongs to it: `lead` comes before that moment."""

    word: str
    lead: str | None = None
    at: Instant | None = None


def state_view(
    state: str,
    *,
    lease_expires_at: datetime | None,
    next_retry_at: datetime | None,
    now: datetime,
    zone: str | None,
) -> StateView:
    """`Claimed, lease ends 14:05`; a parked retry and a dead letter are both failed."""
    if state == State.CLAIMED:
        is_over = lease_expires_at is not None and lease_expires_at <= now
        lead = "lease ended" if is_over else "lease ends"
        return StateView(word="Claimed", lead=lead, at=instant(lease_expires_at, zone))
    if state == State.FAILED and next_retry_at is not None:
        return StateView(word="Failed", lead="retry at", at=instant(next_retry_at, zone))
    if state == State.FAILED:
        return StateView(word="Failed, dead letter")
    return StateView(word=state.capitalize())


def queue_name(queue: str, endpoint: str | None, *, is_namesake: bool) -> str:
    """A queue as the page calls it: with its endpoint when there is another of that name."""
    return f"{isolate(queue)} of {endpoint}" if is_namesake and endpoint else isolate(queue)


def todo_chip(todo_id: str, status: QueueStatus | None, now: datetime) -> ChipView | None:
    """Why a pending todo waits; None when its queue admits, or has no policy."""
    if status is None:
        return None
    return present_headers.chip(todo_id, status.decision, zone_of(status.policy), now)


def outcome_words(attempt: Attempt) -> str:
    """`failed, retry planned`; `under way` for the open attempt."""
    if attempt.outcome is None:
        return "under way"
    ending = _ENDINGS.get(attempt.disposition or "", "")
    return f"{_OUTCOMES.get(attempt.outcome, attempt.outcome)}{ending}"


def ordinal(number: int) -> str:
    """`1st`, `12th`, `102nd`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{_SUFFIXES.get(number % 10, 'th')}"
