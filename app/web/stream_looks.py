"""What one viewer's stream knows of their queues, and reads again when something changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.admission import Decision
from app.domain.speech import Figures, Speech
from app.edge.broadcast import News
from app.edge.deps import EdgeState
from app.reads import cards, headers
from app.reads.headers import Counts, SeenHeader
from app.reads.identity import SessionFacts
from app.web import present_board, present_headers
from app.web.present_headers import NO_STATE, HeaderView
from app.web.stream_frames import Paint, frame
from app.web.stream_wants import Wants

READ_EVERY = 1.0  # seconds between two reads of one stream
REREAD_ALL = 30.0  # after this long a lost notice or a changed membership is found
STATUS_ONLY = "status_only"
_FAULT_LASTS = timedelta(minutes=10)
_LATER = 0.05  # seconds past an instant of the database's clock, so that it is surely over
_EARLIER = 2.0  # seconds that a notice may come after the commit it tells of


@dataclass(frozen=True, slots=True)
class _Known:
    """What decides whether a queue's cards may look different now."""

    has_policy: bool
    counts: Counts
    decision: Decision | None


class Looks:
    """The queues of one page: read for its viewer alone, and only when there is a reason."""

    def __init__(self, parts: EdgeState, wants: Wants, paint: Paint, session: SessionFacts) -> None:
        """Reads nothing yet."""
        self._parts = parts
        self._wants = wants
        self._paint = paint
        self._session = session
        self._speech = Speech(at=0.0)
        self._known: dict[int, _Known] = {}
        self._foreign: set[int] = set()
        self._changed: set[int] = set()
        self._timers: dict[int, float] = {}
        self._dealt: dict[int, str] = {}
        self._is_stale = False
        self._is_lost = False
        self._read_at = self._all_read_at = 0.0

    def open(self, at: float) -> Iterator[str]:
        """Every header, and the cards that changed since the page was read; raises Unavailable."""
        self._speech = Speech(at=at, counts=self._session.announce != STATUS_ONLY)
        found = self._fetch(at, None)
        for seen in found:
            self._known[seen.queue_id] = _known(seen)
        yield from self._show(found, at)
        yield from self._deal(found, self._older(found))

    def hear(self, news: News) -> None:
        """Remember what to read; queues that are not the viewer's cost nothing."""
        self._is_lost |= news.is_lost
        self._is_stale |= news.is_lost or news.is_timer
        self._changed |= news.queue_ids - self._foreign

    def due_at(self) -> float:
        """When to act again although nothing is heard."""
        read_at = min([self._all_read_at + REREAD_ALL, *self._timers.values()])
        if self._is_stale or self._changed:
            read_at = self._read_at
        read_at = max(read_at, self._read_at + READ_EVERY)
        speak_at = self._speech.due_at()
        return read_at if speak_at is None else min(read_at, speak_at)

    def needs_read(self, at: float) -> bool:
        """Whether something is to be read now; at most once a second."""
        self._changed |= {queue_id for queue_id, due in self._timers.items() if due <= at}
        self._is_stale |= at >= self._all_read_at + REREAD_ALL
        return (self._is_stale or bool(self._changed)) and at >= self._read_at + READ_EVERY

    def read(self, at: float, session: SessionFacts) -> Iterator[str]:
        """What is new, for the viewer as the session is now. Raises Unavailable.

        A queue that came, went, gained or lost its policy, and notices that were lost, make the
        page load itself afresh (`resync`).
        """
        self._session = session
        asked = None if self._is_stale else frozenset(self._changed)
        changed, is_lost = set(self._changed), self._is_lost
        found = self._fetch(at, asked)
        now = {seen.queue_id: _known(seen) for seen in found}
        is_other = self._drop((set(self._known) if asked is None else asked) - set(now))
        is_other |= any(self._is_other(queue_id, known) for queue_id, known in now.items())
        changed |= {key for key, known in now.items() if self._known.get(key) != known}
        self._known |= now
        if is_other or is_lost:
            yield frame("resync", "again")
        yield from self._show(found, at)
        if not is_lost:
            yield from self._deal(found, changed)

    def speak(self, at: float) -> Iterator[str]:
        """What the speech rule owes by now."""
        return (self._paint.speech(event) for event in self._speech.look({}, at=at))

    def _fetch(self, at: float, queue_ids: frozenset[int] | None) -> list[SeenHeader]:
        asked = self._wants.queue_ids
        if queue_ids is not None:
            asked = queue_ids if asked is None else asked & queue_ids
        found = headers.headers_for(self._parts.database, self._session.human.id, asked)
        self._read_at = at
        self._changed.clear()
        if queue_ids is None:
            self._is_stale = self._is_lost = False
            self._all_read_at = at
            self._foreign.clear()
        else:
            self._foreign |= queue_ids - {seen.queue_id for seen in found}
        for seen in found:
            self._arm(seen, at)
        return found

    def _arm(self, seen: SeenHeader, at: float) -> None:
        """Come back when the window ends or the fault is forgotten, by the database's clock."""
        instants: list[datetime] = []
        usage = None if seen.status is None else seen.status.usage
        if usage is not None and usage.window_resets_at is not None:
            instants.append(usage.window_resets_at)
        if seen.fault is not None:
            instants.append(seen.fault.at + _FAULT_LASTS)
        self._timers.pop(seen.queue_id, None)
        if instants:
            left = (min(instants) - seen.now).total_seconds()
            self._timers[seen.queue_id] = at + max(left, 0.0) + _LATER

    def _drop(self, gone: set[int] | frozenset[int]) -> bool:
        """Forget queues that are not in reach any more; whether any was known."""
        was_known = [queue_id for queue_id in gone if self._known.pop(queue_id, None)]
        for queue_id in gone:
            self._timers.pop(queue_id, None)
            self._dealt.pop(queue_id, None)
            self._speech.forget(queue_id)
        return bool(was_known)

    def _is_other(self, queue_id: int, known: _Known) -> bool:
        before = self._known.get(queue_id)
        return before is None or before.has_policy != known.has_policy

    def _show(self, found: Sequence[SeenHeader], at: float) -> Iterator[str]:
        """The headers as the speech rule wants them; one without a policy is empty, and is sent
        only to a page that shows something else.
        """
        heard = {}
        for seen in found:
            queue_id = seen.queue_id
            figures = self._figures(seen)
            if self._speech.knows(queue_id):
                heard[queue_id] = figures
                continue
            told = self._wants.told.get(queue_id)
            is_empty = not seen.has_policy and told in (None, NO_STATE)
            is_fresh = is_empty or not self._wants.is_again
            begun = self._speech.begin(
                queue_id, figures, at=at, told_state=told, is_fresh=is_fresh
            )
            if not is_empty:
                yield from map(self._paint.speech, begun)
        yield from map(self._paint.speech, self._speech.look(heard, at=at))

    def _figures(self, seen: SeenHeader) -> Figures:
        view: HeaderView = present_headers.header(seen, self._session.zone)
        policy = None if seen.status is None else seen.status.policy
        usage = None if seen.status is None else seen.status.usage
        return Figures(
            state=view.state,
            used=None if usage is None else usage.used,
            limit=None if policy is None else policy.max_claims_per_window,
            visible=self._paint.visible(view),
            sentence=view.sentence,
        )

    def _older(self, found: Sequence[SeenHeader]) -> frozenset[int]:
        """The queues whose cards may be newer than the page; all of them when nobody knows."""
        everything = frozenset(seen.queue_id for seen in found)
        since = self._wants.cards_since
        if self._wants.is_again or not found:
            return frozenset()
        if since is None:
            return everything
        age = (found[0].now - since).total_seconds() + _EARLIER
        recent = self._parts.recent.within(self._parts.listener, age)
        return everything if recent is None else recent

    def _deal(
        self, found: Sequence[SeenHeader], changed: set[int] | frozenset[int]
    ) -> Iterator[str]:
        """The lists of todos of the queues that changed, where they look different now."""
        wanted = [seen for seen in found if seen.queue_id in changed]
        if not wanted or not self._wants.has_cards:
            return
        human = self._session.human
        dealt = cards.cards_for(
            self._parts.database, human.id, [seen.queue_id for seen in wanted]
        )
        for seen in wanted:
            section = present_board.queue_section(
                seen, dealt.get(seen.queue_id, ()), human, self._session.zone
            )
            markup = self._paint.cards(section)
            if self._dealt.get(seen.queue_id) != markup:
                self._dealt[seen.queue_id] = markup
                yield frame(f"cards-{seen.queue_id}", markup)


def _known(seen: SeenHeader) -> _Known:
    decision = None if seen.status is None else seen.status.decision
    return _Known(has_policy=seen.has_policy, counts=seen.counts, decision=decision)
