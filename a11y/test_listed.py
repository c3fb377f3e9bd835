"""No page is forgotten: every route that shows one is in the list that the checks go through."""

from __future__ import annotations

from a11y.support.cases import Case, page_rules
from a11y.support.pages import PAGES

# route: why there is no page to look at
NO_PAGE = {
    "/endpoints/vend": "leads to the first step of the wizard",
    "/auth/login": "leads to the sign-in provider",
    "/auth/callback": "the way back from the sign-in provider, which leads to the board",
    "/events": "a stream",
}


def faults(rules: set[str], cases: list[Case]) -> list[str]:
    """Routes without a case or a reason, reasons that are wrong, cases that share a name."""
    listed = {case.rule for case in cases}
    names = [case.name for case in cases]
    return [
        *(f"{rule} is in no list of pages" for rule in sorted(rules - listed - set(NO_PAGE))),
        *(f"{rule} is no route, or a page after all" for rule in NO_PAGE
          if rule not in rules or rule in listed),
        *(f"two cases are called {name}" for name in sorted(set(names)) if names.count(name) > 1),
    ]


def test_every_route_that_shows_a_page_is_listed() -> None:
    assert faults(page_rules(), PAGES) == []


def test_a_page_that_nobody_listed_is_found() -> None:
    unlisted = "/budgets is in no list of pages"

    assert "/forgotten is in no list of pages" in faults(page_rules() | {"/forgotten"}, PAGES)
    assert unlisted not in faults(page_rules(), PAGES)
    assert unlisted in faults(page_rules(), [one for one in PAGES if one.rule != "/budgets"])
    assert "two cases are called board" in faults(page_rules(), [*PAGES, *PAGES])
