"""The board in words: queues under their owners, those that need a human first (board.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from app.domain.callers import Human
from app.domain.isolating import isolate
from app.domain.phrases import URGENCY, state_of
from app.reads.board import Board
from app.reads.cards import MOST_CLAIMED, MOST_PENDING, Card
from app.reads.headers import SeenHeader
from app.web.present_cards import CardsView, cards
from app.web.present_headers import HeaderView, header

_LEAST_URGENT = max(URGENCY.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link in words; `id` is its own, so that an update knows it again."""

    id: str
    href: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSection:
    """One queue of the board; `links` lead to the todos that are not shown as cards."""

    header: HeaderView
    cards: CardsView
    links: list[Link]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerSection:
    """One owner's queues: an endpoint or a team, with its page; `id` is its heading's."""

    id: str
    text: str
    href: str
    queues: list[QueueSection]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardView:
    """The first page of a signed-in human; without owners there is nothing to show yet."""

    owners: list[OwnerSection]


def board(seen: Board, human: Human, zone: str | None) -> BoardView:
    """The board in words, times in the viewer's zone or UTC; its order is decided here and now."""
    groups: dict[tuple[str, str], list[SeenHeader]] = {}
    for each in sorted(seen.headers, key=_order):
        groups.setdefault(_owner(each), []).append(each)
    return BoardView(
        owners=[_owner_section(each, seen.cards, human, zone) for each in groups.values()]
    )


def _order(seen: SeenHeader) -> tuple[int, str, str, int]:
    """Urgency first; an owner stands where its most urgent queue does, else by its name."""
    urgency = _LEAST_URGENT if seen.status is None else URGENCY[state_of(seen.status.decision)]
    return urgency, seen.queue, seen.endpoint or "", seen.queue_id


def _owner(seen: SeenHeader) -> tuple[str, str]:
    if seen.endpoint is None:
        return "team", seen.team or ""
    return "endpoint", seen.endpoint


def _owner_section(
    group: Sequence[SeenHeader],
    found: Mapping[int, Sequence[Card]],
    human: Human,
    zone: str | None,
) -> OwnerSection:
    first = group[0]
    return OwnerSection(
        id="-".join(("owner", *_owner(first))),
        text=_owner_words(first),
        href=_owner_page(first),
        queues=[queue_section(each, found.get(each.queue_id, ()), human, zone) for each in group],
    )


def _owner_page(seen: SeenHeader) -> str:
    if seen.endpoint_id is None:
        return f"/teams/{seen.team}"
    return f"/endpoints/{seen.endpoint_id}"


def _owner_words(seen: SeenHeader) -> str:
    if seen.endpoint is None:
        return f"Team {isolate(seen.team or '')}"
    of_team = f" of team {isolate(seen.team)}" if seen.team else ""
    return f"Endpoint {seen.endpoint}{of_team}{', revoked' if seen.is_revoked else ''}"


def queue_section(
    seen: SeenHeader, found: Sequence[Card], human: Human, zone: str | None
) -> QueueSection:
    """One queue of the board, for the page and for the stream alike."""
    view = header(seen, zone)
    return QueueSection(
        header=view,
        cards=cards(seen, found, human.owner, zone),
        links=list(_links(seen, view.name)),
    )


def _links(seen: SeenHeader, name: str) -> Iterator[Link]:
    """Where the rest is: more pending or claimed than there are cards for, and dead letters."""
    counts = seen.counts
    if counts.pending > MOST_PENDING:
        yield _todos(seen, "pending", f"All {counts.pending} pending todos of {name}")
    if counts.claimed > MOST_CLAIMED:
        yield _todos(seen, "claimed", f"All {counts.claimed} claimed todos of {name}")
    if counts.dead:
        letters = "dead letter" if counts.dead == 1 else "dead letters"
        yield _todos(seen, "failed", f"{counts.dead} {letters} of {name}")


def _todos(seen: SeenHeader, state: str, text: str) -> Link:
    filters = {"queue": seen.queue_id, "state": state}  # a name may be that of two queues
    return Link(
        id=f"q-{seen.queue_id}-all-{state}", href=f"/todos?{urlencode(filters)}", text=text
    )
