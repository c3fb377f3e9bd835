"""One todo's page in words: its state, what may be done, what is known, what was tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from app.domain.admission import Admitted
from app.domain.callers import Human
from app.domain.errors import InvalidAttemptInput
from app.domain.todos import Attempt, State, Todo, check_artifact
from app.reads.todo_page import SeenTodo
from app.web.present import Instant, instant
from app.web.present_headers import ChipView
from app.web.todo_bodies import TextView, payload_view, result_view
from app.web.todo_words import StateView, ordinal, outcome_words, state_view, todo_chip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of a list of facts: words, or a moment, or both; `href` makes the words a link."""

    name: str
    words: str = ""
    at: Instant | None = None
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """Which controls the page offers: what would be refused for the todo's state is not there."""

    claim: bool
    extend: bool
    settle: bool
    release: bool
    retry: bool
    discard: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One row of the attempts; `artifact_href` is None unless the artifact is an https URL."""

    seq: int
    claimant: str
    kind: str
    claimed: Instant | None
    ended: Instant | None
    outcome: str
    summary: str
    artifact: str | None
    artifact_href: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoView:
    """Everything the page of one todo says; `attempts_note` says which attempts are not shown."""

    id: str
    title: str
    queue: str
    queue_id: int
    state: StateView
    chip: ChipView | None
    standing: list[Fact]
    acts: Acts
    details: list[Fact]
    payload: TextView | None
    result: TextView | None
    attempts: list[AttemptView]
    attempts_note: str


def todo_view(seen: SeenTodo, viewer: Human, zone: str | None) -> TodoView:
    """A todo in words for one viewer, times in the viewer's zone (board.md, "Todos view")."""
    todo, now = seen.todo, seen.facts.now
    chip = _chip(seen)
    state = state_view(
        todo.state,
        lease_expires_at=todo.lease_expires_at,
        next_retry_at=todo.next_retry_at,
        now=now,
        zone=zone,
    )
    return TodoView(
        id=todo.id,
        title=todo.title,
        queue=todo.queue,
        queue_id=todo.queue_id,
        state=state,
        chip=chip,
        standing=_standing(seen, viewer, zone),
        acts=_acts(seen, viewer),
        details=_details(seen, zone),
        payload=payload_view(seen.detail),
        result=result_view(todo),
        attempts=[_attempt(each, zone) for each in seen.detail.attempts],
        attempts_note=_attempts_note(seen),
    )


def holder(seen: SeenTodo, viewer: Human) -> str:
    """Who has, or last had, the todo: `you`, or the name of an agent or a person."""
    if seen.todo.owner == viewer.owner:
        return "you"
    return seen.facts.owner_name or "someone who is gone"


def is_claimable(todo: Todo, now: datetime) -> bool:
    """Whether a claim would be looked at, by the one predicate of todos.md, "Claimable"."""
    if todo.state == State.PENDING:
        return True
    due = todo.next_retry_at if todo.state == State.FAILED else todo.lease_expires_at
    return due is not None and due <= now and todo.attempt < todo.max_attempts


def _chip(seen: SeenTodo) -> ChipView | None:
    if seen.todo.state != State.PENDING:
        return None
    chip = todo_chip(seen.todo.id, seen.status, seen.facts.now)
    # Beside the list the row has this chip too: two elements must not have one id.
    return None if chip is None else replace(chip, id="todo-chip")


def _standing(seen: SeenTodo, viewer: Human, zone: str | None) -> list[Fact]:
    todo = seen.todo
    facts = []
    if todo.state == State.CLAIMED:
        is_over = todo.lease_expires_at is not None and todo.lease_expires_at <= seen.facts.now
        facts.append(Fact(name="Claimed by", words=holder(seen, viewer)))
        facts.append(
            Fact(
                name="Lease ended" if is_over else "Lease ends",
                at=instant(todo.lease_expires_at, zone),
            )
        )
    if todo.next_retry_at is not None:
        facts.append(Fact(name="Retry at", at=instant(todo.next_retry_at, zone)))
    if todo.state == State.PENDING:
        facts.append(Fact(name="Admission", words=_admission(seen)))
    if seen.place is not None:
        place = f"{ordinal(seen.place.place)} of {seen.place.pending}"
        facts.append(Fact(name="Position in the queue", words=place))
    return facts


def _admission(seen: SeenTodo) -> str:
    """`admitted`; a deferred todo's chip says the rest."""
    if seen.status is None:
        return "admitted (the queue has no budget)"
    return "admitted" if isinstance(seen.status.decision, Admitted) else "deferred"


def _acts(seen: SeenTodo, viewer: Human) -> Acts:
    todo = seen.todo
    is_own = todo.state == State.CLAIMED and todo.owner == viewer.owner
    is_parked = todo.next_retry_at is not None
    return Acts(
        claim=not is_own and is_claimable(todo, seen.facts.now),
        extend=is_own,
        settle=is_own,
        release=is_own,
        retry=todo.state == State.FAILED and seen.facts.is_alive,
        discard=seen.facts.may_configure and (todo.state == State.PENDING or is_parked),
    )


def _details(seen: SeenTodo, zone: str | None) -> list[Fact]:
    todo, facts = seen.todo, seen.facts
    found = [
        Fact(name="Id", words=todo.id),
        Fact(name="Queue", words=todo.queue, href=f"/queues/{todo.queue_id}"),
        _owner(todo, facts.endpoint),
        Fact(name="Source", words=todo.source or "none"),
        Fact(name="Kind", words=todo.kind or "none"),
        Fact(name="Attempt", words=f"{todo.attempt} of {todo.max_attempts}"),
        Fact(name="Claims in all", words=str(todo.attempts_total)),
        Fact(name="Created", at=instant(todo.created_at, zone)),
        Fact(name="Changed", at=instant(todo.updated_at, zone)),
        Fact(name="Last claimed", at=instant(todo.claimed_at, zone), words="never"),
        Fact(name="Completed", at=instant(todo.completed_at, zone), words="not completed"),
    ]
    key = todo.idempotency_key
    found.append(Fact(name="Idempotency key", words=key or "none"))
    if key:
        found.append(Fact(name="Duplicates", words=_repeats(facts.repeats)))
    return found


def _owner(todo: Todo, endpoint: str | None) -> Fact:
    if endpoint is None:
        href = None if todo.team is None else f"/teams/{todo.team}"
        return Fact(name="Team", words=todo.team or "gone", href=href)
    return Fact(name="Endpoint", words=endpoint, href=f"/endpoints/{todo.endpoint_id}")


def _repeats(count: int) -> str:
    """How many creates with the same key found this todo instead of making another."""
    if count == 0:
        return "none"
    if count == 1:
        return "1 todo with this key was not added, for this one was there"
    return f"{count} todos with this key were not added, for this one was there"


def _attempt(attempt: Attempt, zone: str | None) -> AttemptView:
    return AttemptView(
        seq=attempt.seq,
        claimant=attempt.claimant or "not given",
        kind="agent" if attempt.claimer_kind == "endpoint" else "person",
        claimed=instant(attempt.claimed_at, zone),
        ended=instant(attempt.ended_at, zone),
        outcome=outcome_words(attempt),
        summary=f"{attempt.summary or ''}{' (cut)' if attempt.summary_truncated else ''}",
        artifact=attempt.artifact,
        artifact_href=_https(attempt.artifact),
    )


def _https(url: str | None) -> str | None:
    """The artifact again if it may be a link; it was checked when stored, and is checked again."""
    try:
        return check_artifact(url)
    except InvalidAttemptInput:
        return None


def _attempts_note(seen: SeenTodo) -> str:
    shown, total = len(seen.detail.attempts), seen.todo.attempts_total
    if shown == total:
        return ""
    return f"The newest {shown} of {total} attempts."
