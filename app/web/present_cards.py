"""The todos of a queue as cards, in words (board.md, "Board view")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.isolating import isolate
from app.domain.phrases import zone_of
from app.domain.values import rfc3339
from app.domain.zonelabels import past_words
from app.reads.cards import Card
from app.reads.headers import SeenHeader
from app.web.present import Instant
from app.web.present_headers import ChipView, chip

_PENDING, _CLAIMED, _DEAD = 1, 2, 3
_WORDS = {_PENDING: "pending", _CLAIMED: "claimed", _DEAD: "dead letter"}
_UNITS = ((timedelta(days=1), "day"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """One card. `lease` says who holds a claimed todo and until when; `is_pending` may be claimed
    and discarded; `may_retry` is a dead letter whose endpoint is not over."""

    id: str
    title: str
    source: str | None
    age: Instant
    attempt: str
    word: str
    chip: ChipView | None
    lease: str | None
    is_pending: bool
    may_discard: bool
    may_retry: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsView:
    """The cards of one queue, in the order they are shown."""

    queue_id: int
    cards: list[CardView]


def cards(seen: SeenHeader, found: Sequence[Card], owner: str, zone: str | None) -> CardsView:
    """The cards of the queue of a header; `owner` is the viewer's own lease owner string."""
    return CardsView(
        queue_id=seen.queue_id, cards=[_card(seen, card, owner, zone) for card in found]
    )


def age(since: datetime, now: datetime) -> Instant:
    """How long ago, in the largest whole unit: `12 min ago`."""
    return Instant(machine=rfc3339(since), words=_ago(now - since))


def _card(seen: SeenHeader, card: Card, owner: str, zone: str | None) -> CardView:
    is_pending = card.rank == _PENDING
    return CardView(
        id=card.id,
        title=card.title,
        source=card.source,
        age=age(card.created_at, seen.now),
        attempt=f"attempt {card.attempt} of {card.max_attempts}",
        word=_WORDS[card.rank],
        chip=_chip(seen, card.id) if is_pending else None,
        lease=_lease(card, owner, zone, seen.now) if card.rank == _CLAIMED else None,
        is_pending=is_pending,
        may_discard=is_pending and seen.may_configure,
        may_retry=card.rank == _DEAD and not seen.is_revoked,
    )


def _chip(seen: SeenHeader, todo_id: str) -> ChipView | None:
    if seen.status is None:
        return None
    return chip(todo_id, seen.status.decision, zone_of(seen.status.policy), seen.now)


def _lease(card: Card, owner: str, zone: str | None, now: datetime) -> str:
    """`claimed by lane-m-4f2a, lease ends at 14:05`; a lapsed lease has ended."""
    who = "you" if card.owner == owner else card.holder or "another person"
    if card.lease_expires_at is None:
        return f"claimed by {isolate(who)}"
    ends = "ended" if card.lease_expires_at <= now else "ends"
    at = past_words(card.lease_expires_at, zone, now)
    return f"claimed by {isolate(who)}, lease {ends} at {at}"


def _ago(passed: timedelta) -> str:
    for unit, word in _UNITS:
        number = passed // unit
        if number >= 1:
            plural = "s" if word == "day" and number > 1 else ""
            return f"{number} {word}{plural} ago"
    return "just now"
