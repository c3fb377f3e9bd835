"""What the address of the todos page asks for, and what of it makes no sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from app.domain.isolating import isolate
from app.domain.todos import State
from app.reads.todo_list import ListFilters
from app.web.pager import page_number

LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The filters and the page; `faults` are sentences, and with any nothing is listed."""

    filters: ListFilters
    page: int = 1
    faults: tuple[str, ...] = field(default=())

    def address(self, *, page: int = 1, **changed: str | None) -> str:
        """The list's address with some filters changed; a changed filter begins at page 1."""
        now = {"queue": self.filters.queue, "state": self.filters.state, "q": self.filters.text}
        kept = {name: text for name, text in {**now, **changed}.items() if text}
        if page > 1:
            kept["page"] = str(page)
        return f"/todos?{urlencode(kept)}" if kept else "/todos"


def read_filters(args: Mapping[str, str]) -> Asked:
    """Read `queue`, `state`, `q` and `page`; an empty one is not there (board.md, "Todos view")."""
    faults: list[str] = []
    filters = ListFilters(
        queue=_queue(args.get("queue", ""), faults),
        state=_state(args.get("state", ""), faults),
        text=_text(args.get("q", ""), faults),
    )
    return Asked(filters=filters, page=page_number(args.get("page", "")), faults=tuple(faults))


def _queue(text: str, faults: list[str]) -> str | None:
    if "\x00" in text:
        faults.append("The queue's name holds a character that no name holds.")
        return None
    return text or None


def _state(text: str, faults: list[str]) -> State | None:
    wanted = text.strip().lower()
    if not wanted or wanted in {*State}:
        return State(wanted) if wanted else None
    faults.append(
        f"There is no state “{isolate(text)}”: a todo is pending, claimed, done or failed."
    )
    return None


def _text(text: str, faults: list[str]) -> str | None:
    wanted = text.strip()
    if "\x00" in wanted:
        faults.append("The search holds a character that no todo holds.")
        return None
    if len(wanted) > LONGEST_TEXT:
        faults.append(f"The search takes at most {LONGEST_TEXT} characters of text.")
        return None
    return wanted or None
