"""When an open page is shown new figures, and when it is told a sentence (REQ-11).

The rule of accessibility.md 1.3, by instants that the caller gives in seconds of any one clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from app.domain.admission import Reason

ALARMS = frozenset({Reason.WINDOW_EXHAUSTED, Reason.PAUSED, Reason.ADMISSION_UNAVAILABLE})
"""The states a person must hear of at once. All others are open: work may go on."""

SHOWN_EVERY = 1.0
HOLD_DOWN = 2.0
COUNT_WAITS = 60.0
COUNTS_EVERY = 10.0
_STEP_UNITS = 5
_STEP_PERCENT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one queue's header says: `state` as phrases.state_of spells it, units used of `limit`
    (None without a window limit), the whole visible layer, and the sentence to be heard.
    """

    state: str
    used: int | None
    limit: int | None
    visible: str
    sentence: str


class Act(Enum):
    """What to do with a queue on the page: show the visible layer, or say the sentence."""

    SHOW = "show"
    SAY = "say"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing to send to the page; the figures are those to send."""

    act: Act
    queue_id: int
    figures: Figures


@dataclass(slots=True)
class _Queue:
    """One queue: what it says now, what the page shows, what the reader was told last.

    `open_since` is set while the reader still believes in an alarm that is over; `unsaid_since`
    while the sentence differs from the one told.
    """

    now: Figures
    shown: Figures
    shown_at: float
    told: Figures
    open_since: float | None = None
    unsaid_since: float | None = None


class Speech:
    """The rule for one page. With `counts` false a count alone never causes a sentence."""

    def __init__(self, *, at: float, counts: bool = True) -> None:
        self._queues: dict[int, _Queue] = {}
        self._counts = counts
        self._count_said_at = at  # the page's own sentences were just read

    def begin(
        self,
        queue_id: int,
        figures: Figures,
        *,
        at: float,
        told_state: str | None = None,
        is_fresh: bool = True,
    ) -> list[Event]:
        """Take a queue in and show it. The page tells `told_state` when loaded, by default the
        one of now; a page that is not `is_fresh` may have missed figures meanwhile.
        """
        state = told_state or figures.state
        told = figures if state == figures.state and is_fresh else _unheard(figures, state)
        queue = _Queue(now=figures, shown=figures, shown_at=at, told=told)
        self._queues[queue_id] = queue
        _note(queue, at)
        due = self._due(at, [queue_id])
        said = [event for event in due if event.act is Act.SAY]
        return [Event(Act.SHOW, queue_id, figures), *said]

    def look(self, seen: Mapping[int, Figures], *, at: float) -> list[Event]:
        """Take in what some queues say now; return what is due at this instant, theirs or not."""
        for queue_id, figures in seen.items():
            queue = self._queues[queue_id]
            queue.now = figures
            _note(queue, at)
        return self._due(at, list(self._queues))

    def knows(self, queue_id: int) -> bool:
        """Whether the page has a header for the queue."""
        return queue_id in self._queues

    def forget(self, queue_id: int) -> None:
        """Drop a queue the page has no header for any more."""
        self._queues.pop(queue_id, None)

    def due_at(self) -> float | None:
        """When to look again although nothing changes; None when nothing is owed."""
        instants = [
            instant
            for queue in self._queues.values()
            for instant in (_show_at(queue), _alarm_at(queue), self._count_at(queue))
            if instant is not None
        ]
        return min(instants, default=None)

    def _due(self, at: float, queue_ids: list[int]) -> list[Event]:
        saying = [each for each in queue_ids if _is_past(_alarm_at(self._queues[each]), at)]
        counted = self._next_count(at, [each for each in queue_ids if each not in saying])
        saying += [] if counted is None else [counted]
        events = []
        for queue_id in queue_ids:
            queue = self._queues[queue_id]
            if queue_id in saying or _is_past(_show_at(queue), at):
                events.append(Event(Act.SHOW, queue_id, queue.now))
                queue.shown, queue.shown_at = queue.now, at
            if queue_id in saying:
                events.append(Event(Act.SAY, queue_id, queue.now))
                queue.told, queue.open_since, queue.unsaid_since = queue.now, None, None
        return events

    def _next_count(self, at: float, queue_ids: list[int]) -> int | None:
        """The one queue of the page whose counts may be said now: who has waited longest."""
        waiting = [
            (queue.unsaid_since, queue_id)
            for queue_id in queue_ids
            if (queue := self._queues[queue_id]).unsaid_since is not None
            and _is_past(self._count_at(queue), at)
        ]
        if not waiting:
            return None
        self._count_said_at = at
        return min(waiting)[1]

    def _count_at(self, queue: _Queue) -> float | None:
        """When counts alone may be said: a step was crossed, or a change has waited 60 s."""
        if not self._counts or queue.unsaid_since is None or queue.open_since is not None:
            return None
        wait = 0.0 if _crosses(queue) else COUNT_WAITS
        return max(queue.unsaid_since + wait, self._count_said_at + COUNTS_EVERY)


def step(limit: int) -> int:
    """The units between two sentences about counts: 10 % of the budget, 5 at least."""
    return max(limit * _STEP_PERCENT // 100, _STEP_UNITS)


def _note(queue: _Queue, at: float) -> None:
    """Start or stop the two waits by what the queue says now."""
    if queue.told.state not in ALARMS or queue.now.state in ALARMS:
        queue.open_since = None
    elif queue.open_since is None:
        queue.open_since = at
    if queue.now.sentence == queue.told.sentence:
        queue.unsaid_since = None
    elif queue.unsaid_since is None:
        queue.unsaid_since = at


def _show_at(queue: _Queue) -> float | None:
    return None if queue.now.visible == queue.shown.visible else queue.shown_at + SHOWN_EVERY


def _alarm_at(queue: _Queue) -> float | None:
    """When a change of state is said: into an alarm at once, out of one after the hold-down."""
    if queue.open_since is not None:
        return queue.open_since + HOLD_DOWN
    is_new = queue.now.state in ALARMS and queue.now.state != queue.told.state
    return queue.unsaid_since if is_new else None


def _crosses(queue: _Queue) -> bool:
    """Whether units used stand in another step of the budget than the one told of."""
    now, told = queue.now, queue.told
    if now.limit is None or now.used is None or told.used is None:
        return False
    return now.used // step(now.limit) != told.used // step(now.limit)


def _unheard(figures: Figures, state: str) -> Figures:
    """What a page tells whose sentence nobody here has seen: that state, in unknown words."""
    return Figures(
        state=state, used=figures.used, limit=figures.limit, visible="", sentence=""
    )


def _is_past(instant: float | None, at: float) -> bool:
    return instant is not None and instant <= at
