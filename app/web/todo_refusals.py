"""Why an act on a todo was refused, in words, with the chip of a deferred claim."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.admission import Deferral, Reason
from app.domain.callers import Human
from app.domain.errors import Conflict, Deferred
from app.domain.isolating import isolate
from app.domain.phrases import both_words, zone_of
from app.domain.todos import State
from app.reads.todo_page import SeenTodo
from app.web import present_headers
from app.web.present import instant
from app.web.present_headers import ChipView
from app.web.todo_page_view import holder

_BUSY = frozenset({"lock_timeout", "gate_timeout"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What was not done and why; `chip` is there when a policy refused a claim."""

    heading: str
    sentence: str
    chip: ChipView | None = None


def refused(
    act: str,
    error: Conflict | Deferred,
    seen: SeenTodo,
    viewer: Human,
    zone: str | None,
    fault: str | None = None,
) -> Refusal:
    """The refusal of `act`, an infinitive: what the verb said, and the todo as it is now. `fault`
    is the kind noted of a claim that could not be judged (R64).
    """
    heading = f"Could not {act} this todo"
    if isinstance(error, Deferred):
        deferral = deferral_of(error)
        return Refusal(
            heading=heading,
            sentence=_deferred(deferral, seen, zone, fault),
            chip=_chip(deferral, seen),
        )
    return Refusal(heading=heading, sentence=f"{error.sentence} {_now(seen, viewer, zone)}")


def deferral_of(error: Deferred) -> Deferral:
    """The decision a `deferred` error was made from: a later look might tell another story."""
    extras = error.extras
    eligible = extras.get("next_eligible_at")
    return Deferral(
        reason=Reason(str(extras["reason"])),
        next_eligible_at=datetime.fromisoformat(eligible) if isinstance(eligible, str) else None,
        exact=extras.get("exact") is True,
    )


def _chip(deferral: Deferral, seen: SeenTodo) -> ChipView | None:
    policy = None if seen.status is None else seen.status.policy
    return present_headers.chip("refused", deferral, zone_of(policy), seen.facts.now)


def _deferred(deferral: Deferral, seen: SeenTodo, zone: str | None, fault: str | None) -> str:
    queue = seen.todo.queue
    at = deferral.next_eligible_at
    when = "" if at is None else _both_zones(at, seen, zone)
    match deferral.reason:
        case Reason.WINDOW_EXHAUSTED:
            return f"The budget of {isolate(queue)} is used up: no claim is admitted until {when}."
        case Reason.IN_FLIGHT_FULL:
            hint = f" A slot may be free at about {when}." if when else ""
            return f"{isolate(queue)} has as many todos in flight as its budget admits.{hint}"
        case Reason.PAUSED:
            return f"{isolate(queue)} is paused: no claim is admitted until someone resumes it."
        case _:
            return _unjudged(seen, fault)


def _unjudged(seen: SeenTodo, fault: str | None) -> str:
    """A budget that is broken stays so until it is edited; one that was busy is free again."""
    queue = seen.todo.queue
    if seen.status is None or seen.status.policy is None:
        return f"The budget of {isolate(queue)} could not be judged, so no claim is admitted now."
    why = "was busy" if fault in _BUSY else "could not be judged"
    return (
        f"The budget of {isolate(queue)} {why} when you claimed, so this claim was refused"
        " and nothing was charged. What is said of it below is from a later look. Try again."
    )


def _both_zones(at: datetime, seen: SeenTodo, zone: str | None) -> str:
    policy = None if seen.status is None else seen.status.policy
    now = seen.facts.now
    return both_words(at, zone_of(policy), zone, now)


def _now(seen: SeenTodo, viewer: Human, zone: str | None) -> str:
    todo = seen.todo
    if todo.state == State.CLAIMED:
        ends = instant(todo.lease_expires_at, zone)
        until = "" if ends is None else f"; the lease ends {ends.words}"
        return f"It is claimed by {holder(seen, viewer)}{until}."
    if todo.dead_letter:
        return "It is a dead letter."
    if todo.next_retry_at is not None:
        at = instant(todo.next_retry_at, zone)
        return "It has failed." if at is None else f"It has failed and is retried {at.words}."
    return f"It is {todo.state}."
