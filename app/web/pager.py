"""The links between the pages of a long list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# More pages than any database holds rows; larger numbers are the same far end.
_FARTHEST = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLink:
    """One numbered link."""

    number: int
    href: str
    is_here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pager:
    """A named navigation over pages; without links there is one page only."""

    label: str
    previous: str | None
    next: str | None
    links: list[PageLink]


def page_number(text: str) -> int:
    """The page an address asks for, from 1; what is no number of a page asks for the first. A list
    shows its last page for every number past it.
    """
    wanted = text.strip().lstrip("0")
    if not (wanted.isascii() and wanted.isdigit()):
        return 1
    return int(wanted) if len(wanted) < len(str(_FARTHEST)) else _FARTHEST


def pager(label: str, here: int, last: int, href: Callable[[int], str]) -> Pager:
    """Links from page `here` (from 1) of `last`: the first, the last, and two on either side."""
    numbers = sorted({1, last, *range(max(1, here - 2), min(last, here + 2) + 1)})
    links = [PageLink(number=n, href=href(n), is_here=n == here) for n in numbers]
    return Pager(
        label=label,
        previous=href(here - 1) if here > 1 else None,
        next=href(here + 1) if here < last else None,
        links=links if last > 1 else [],
    )
