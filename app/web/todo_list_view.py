"""The todos page in words: filter links, header lines, rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.isolating import isolate
from app.domain.todos import State
from app.reads.headers import SeenHeader
from app.reads.todo_list import ListedTodo, Listing, VisibleQueue
from app.web import present_headers
from app.web.pager import Pager, pager
from app.web.present import Instant, instant
from app.web.present_headers import ChipView, HeaderView
from app.web.todo_filters import Asked
from app.web.todo_words import StateView, queue_name, state_view, todo_chip


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLink:
    """One filter link with its count; `is_here` marks the list that is shown."""

    id: str
    label: str
    count: int
    href: str
    is_here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOption:
    """One choice of the queue filter; its value is the queue's id, which no other queue has."""

    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """One row of the table."""

    id: str
    title: str
    state: StateView
    chip: ChipView | None
    queue: str
    queue_href: str
    source: str
    kind: str
    attempt: str
    created: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Where to go from an empty list."""

    href: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView:
    """The page. `found` is its second heading, `address` where its forms lead back to."""

    text: str
    state: str
    options: list[QueueOption]
    states: list[StateLink]
    lines: list[HeaderView]
    faults: list[str]
    found: str
    rows: list[RowView]
    nothing: str | None
    step: Step
    pages: Pager
    address: str


def list_view(
    asked: Asked, listing: Listing, seen: Sequence[SeenHeader], zone: str | None
) -> ListView:
    """The list in words; `seen` are the headers of the listed queues that have a policy."""
    statuses = {each.queue_id: each for each in seen}
    names = {each.queue_id: _name(each) for each in listing.queues}
    return ListView(
        text=asked.filters.text or "",
        state=asked.filters.state or "",
        options=_options(asked, listing),
        states=_states(asked, listing.counts),
        lines=[present_headers.header(each, zone) for each in seen if each.has_policy],
        faults=[*asked.faults],
        found=_found(asked, listing),
        rows=[_row(row, asked, listing, names, statuses, zone) for row in listing.todos],
        nothing=_nothing(asked, listing),
        step=_step(asked),
        pages=pager(
            "Pages of todos",
            listing.page,
            listing.pages,
            lambda number: asked.address(page=number),
        ),
        address=asked.address(page=listing.page),
    )


def _name(queue: VisibleQueue) -> str:
    return queue_name(queue.queue, queue.endpoint, is_namesake=queue.is_namesake)


def _options(asked: Asked, listing: Listing) -> list[QueueOption]:
    """The queues of the filter. A name that means several is kept as the name it is."""
    is_one = asked.filters.queue is not None and len(listing.chosen) == 1
    chosen = {each.queue_id for each in listing.chosen} if is_one else set()
    options = [
        QueueOption(
            value=str(each.queue_id), label=_name(each), is_chosen=each.queue_id in chosen
        )
        for each in listing.queues
    ]
    typed = asked.filters.queue
    if typed is None or chosen or not listing.chosen:
        return options
    return [QueueOption(value=typed, label=f"every {typed}", is_chosen=True), *options]


def _states(asked: Asked, counts: Mapping[State, int]) -> list[StateLink]:
    here = asked.filters.state
    every = StateLink(
        id="state-all",
        label="All",
        count=sum(counts.values()),
        href=asked.address(state=None),
        is_here=here is None and not asked.faults,
    )
    return [
        every,
        *(
            StateLink(
                id=f"state-{state}",
                label=state.capitalize(),
                count=counts[state],
                href=asked.address(state=state),
                is_here=here is state,
            )
            for state in State
        ),
    ]


def _found(asked: Asked, listing: Listing) -> str:
    """`40 pending todos in inbox that match “invoice”`, counted exactly."""
    if asked.faults:
        return "No todos listed"
    words = [str(listing.total)]
    words += [asked.filters.state] if asked.filters.state else []
    words.append("todo" if listing.total == 1 else "todos")
    if asked.filters.queue is not None:
        only = listing.chosen[0] if len(listing.chosen) == 1 else None
        words.append(f"in {isolate(asked.filters.queue) if only is None else _name(only)}")
    if asked.filters.text:
        words += ["with", f"“{isolate(asked.filters.text)}”"]
    return " ".join(words)


def _nothing(asked: Asked, listing: Listing) -> str | None:
    """Why there is no row, in a sentence; None when there are rows."""
    if asked.faults:
        return "Nothing is listed until the filter is corrected."
    if listing.todos:
        return None
    if asked.filters.queue is not None and not listing.chosen:
        return f"You have no queue called “{isolate(asked.filters.queue)}”."
    if asked.filters.queue or asked.filters.state or asked.filters.text:
        return "No todo is like that."
    return "You have no todo yet. Webhooks and people put todos in your queues."


def _step(asked: Asked) -> Step:
    if asked.faults or asked.address() != "/todos":
        return Step(href="/todos", text="Show every todo")
    return Step(href="/", text="See your queues on the board")


def _row(
    row: ListedTodo,
    asked: Asked,
    listing: Listing,
    names: Mapping[int, str],
    seen: Mapping[int, SeenHeader],
    zone: str | None,
) -> RowView:
    header = seen.get(row.queue_id)
    status = header.status if header and row.state == State.PENDING else None
    return RowView(
        id=row.id,
        title=row.title,
        state=state_view(
            row.state,
            lease_expires_at=row.lease_expires_at,
            next_retry_at=row.next_retry_at,
            now=listing.now,
            zone=zone,
        ),
        chip=todo_chip(row.id, status, listing.now),
        queue=names.get(row.queue_id, row.queue),
        queue_href=asked.address(queue=str(row.queue_id)),
        source=row.source or "none",
        kind=row.kind or "none",
        attempt=f"{row.attempt} of {row.max_attempts}",
        created=instant(row.created_at, zone),
    )
