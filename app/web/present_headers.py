"""A queue header and a chip in words: what is seen, and the one sentence that is heard.

Source: board.md, "Queue header" and "Chip"; accessibility.md 1.2 and 7. Both layers are made here
from the same facts, so that they cannot disagree (H2).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain import phrases
from app.domain.admission import Admitted, Decision, Usage
from app.domain.isolating import isolate
from app.domain.phrases import ADMITTED
from app.domain.policy import Policy
from app.reads.admission import QueueStatus
from app.reads.headers import Counts, SeenHeader

# What `mark` of macros/page.html draws: shape tells the states apart without colour.
_MARKS = {
    ADMITTED: "",
    "in_flight_full": "half",
    "window_exhausted": "full",
    "paused": "bars",
    "admission_unavailable": "alert",
}
_BAR_WIDTH = 100
NO_STATE = "none"
_OVER = "the endpoint is revoked or has expired, so no agent can claim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """How much of a window is used, on a track 100 wide; `notch` is where an exceeded limit is."""

    width: int
    notch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearly:
    """A window of which 80 % is spent: its mark and its words."""

    mark: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderView:
    """One queue header. `name` is the queue as controls and sentences call it: with its owner when
    the viewer sees another queue of that name.

    `state` is a class (`none` without a status word), `figures` the visible line, `now` the short
    one for the link that is always current, `notes` what else is to be known, `sentence` all of it
    to be heard: one text. `edit_label` is None for someone who may not configure the queue,
    `may_add` says whether their todo would be taken.
    """

    queue_id: int
    queue: str
    name: str
    state: str
    word: str
    mark: str
    figures: str
    bar: Bar | None
    nearly: Nearly | None
    notes: tuple[str, ...]
    now: str
    todos: str
    sentence: str
    edit_text: str
    edit_label: str | None
    may_add: bool
    has_policy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipView:
    """Why a pending todo is deferred; `id` is what its card's link is described by."""

    id: str
    text: str
    state: str


def header(seen: SeenHeader, zone: str | None) -> HeaderView:
    """A queue header in words, times in the policy's zone and in the viewer's (None is UTC)."""
    name = _name(seen)
    status = seen.status
    state = _state(seen)
    parts, notes = _parts(seen, zone), _notes(seen, zone)
    word = phrases.WORDS.get(state, "")
    act = "Add budget" if status is None else "Edit budget"
    return HeaderView(
        queue_id=seen.queue_id,
        queue=seen.queue,
        name=name,
        state=state,
        word=word,
        mark=_MARKS.get(state, ""),
        figures=" · ".join(parts),
        bar=_bar(status),
        nearly=_nearly(status),
        notes=tuple(notes),
        now=", ".join(_figures(status)) or word.lower(),
        todos=todos_words(seen.counts),
        sentence=_sentence(name, word, seen, zone),
        edit_text=act,
        edit_label=f"{act} for {name}" if seen.may_configure else None,
        may_add=not seen.is_revoked and (seen.endpoint is None or seen.may_configure),
        has_policy=status is not None,
    )


def chip(todo_id: str, decision: Decision | None, tz: str | None, now: datetime) -> ChipView | None:
    """The chip of a pending todo: None when it is admitted or its queue has no policy.

    `tz` is the policy's zone (`phrases.zone_of`), `now` the database's clock.
    """
    if decision is None or isinstance(decision, Admitted):
        return None
    return ChipView(
        id=f"todo-{todo_id}-chip",
        text=phrases.chip_words(decision, tz, now),
        state=phrases.state_of(decision),
    )


def todos_words(counts: Counts) -> str:
    """`12 pending, 2 claimed, 1 waiting for a retry, 3 dead letters`; no zeros but the pending."""
    dead = "dead letter" if counts.dead == 1 else "dead letters"
    said = [(counts.claimed, "claimed"), (counts.retrying, "waiting for a retry"),
            (counts.dead, dead)]  # fmt: skip
    return ", ".join([f"{counts.pending} pending", *(f"{n} {what}" for n, what in said if n)])


def _name(seen: SeenHeader) -> str:
    return f"{isolate(seen.queue)} of {seen.endpoint}" if seen.is_namesake else isolate(seen.queue)


def _state(seen: SeenHeader) -> str:
    """As `phrases.state_of`; `none` without a policy, and where a policy that admits admits
    nobody, because the queue's endpoint is over.
    """
    state = NO_STATE if seen.status is None else phrases.state_of(seen.status.decision)
    return NO_STATE if seen.is_revoked and state == ADMITTED else state


def _figures(status: QueueStatus | None) -> list[str]:
    """Used and in flight; nothing for a budget that cannot be judged, which has no figures."""
    if status is None or status.policy is None or status.usage is None:
        return []
    policy, usage = status.policy, status.usage
    return [
        phrases.used_words(usage.used or 0, policy.max_claims_per_window),
        phrases.in_flight_words(usage.in_flight, policy.max_in_flight),
    ]


def _resets_at(policy: Policy | None, usage: Usage | None) -> datetime | None:
    """When the window ends; None without one, and for a limit of 0, which no window lifts."""
    if policy is None or usage is None or not policy.max_claims_per_window:
        return None
    return usage.window_resets_at


def _parts(seen: SeenHeader, zone: str | None) -> list[str]:
    status = seen.status
    if status is None:
        return []
    at, tz = _resets_at(status.policy, status.usage), phrases.zone_of(status.policy)
    resets = [phrases.resets_words(at, tz, zone, seen.now)] if at else []
    return [*_figures(status), *resets]


def _sentence(name: str, word: str, seen: SeenHeader, zone: str | None) -> str:
    """`investigations: budget used up, 100 of 100 used, ...`; a pause is said by its note."""
    status = seen.status
    if status is None:
        return f"{name}: no budget"
    at, tz = _resets_at(status.policy, status.usage), phrases.zone_of(status.policy)
    nearly, notes = _nearly(status), _notes(seen, zone)
    said = notes[:1] if seen.pause else [word.lower()] if word else []
    said += [nearly.words] if nearly else []
    said += _figures(status)
    said += [phrases.spoken_resets_words(at, tz, zone, seen.now)] if at else []
    return f"{name}: {', '.join([*said, *(notes[1:] if seen.pause else notes)])}"


def _notes(seen: SeenHeader, zone: str | None) -> list[str]:
    status = seen.status
    if status is None:
        return []
    notes = [*_pause(seen, zone), *phrases.also_words(status.decision)]
    if phrases.state_of(status.decision) == "admission_unavailable":
        notes.append(phrases.unavailable_words(status.fault))
    if seen.fault:
        notes.append(phrases.refused_words(seen.fault.kind, seen.fault.at, zone, seen.now))
    if seen.is_revoked:
        notes.append(_OVER)
    return notes


def _pause(seen: SeenHeader, zone: str | None) -> list[str]:
    by = seen.pause
    if by is None:
        return []
    who = None if by.human is None else isolate(by.human)
    who = who if by.endpoint is None else f"{who}, through endpoint {by.endpoint}"
    return [phrases.paused_words(who, by.at, by.reason, zone, seen.now)]


def _nearly(status: QueueStatus | None) -> Nearly | None:
    if status is None or status.policy is None or status.usage is None:
        return None
    if not phrases.is_nearly_used_up(status.usage.used, status.policy.max_claims_per_window):
        return None
    return Nearly(mark="most", words="nearly used up")


def _bar(status: QueueStatus | None) -> Bar | None:
    if status is None or status.policy is None or status.usage is None:
        return None
    limit, used = status.policy.max_claims_per_window, status.usage.used or 0
    if not limit:
        return None
    notch = _BAR_WIDTH * limit // used if used > limit else None
    return Bar(width=min(_BAR_WIDTH, _BAR_WIDTH * used // limit), notch=notch)

