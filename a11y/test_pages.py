"""Every page, in both themes, on a narrow screen and in forced colours."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from a11y.support import audit
from a11y.support.browser import Visit
from a11y.support.pages import PAGES, Case
from a11y.support.site import Site

Start = Callable[..., Visit]

@pytest.mark.parametrize("case", PAGES, ids=lambda case: case.reach.__name__[1:])
def test_a_page_is_for_everyone(visit: Start, site: Site, case: Case) -> None:
    person = visit(site.url, viewport={"width": 800, "height": 400})
    page = case.reach(person, site)
    expect(page.get_by_role("heading", level=1)).to_have_text(case.heading)
    assert page.title().startswith(case.heading)

    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert audit.violations(page) == [], theme
        assert_rings_all_along(page)
    page.emulate_media(forced_colors="active")
    assert_rings_all_along(page)
    person.assert_clean()


@pytest.mark.parametrize("case", PAGES, ids=lambda case: case.reach.__name__[1:])
def test_nothing_scrolls_sideways_at_320_pixels(visit: Start, site: Site, case: Case) -> None:
    page = case.reach(visit(site.url, viewport={"width": 320, "height": 256}), site)
    expect(page.get_by_role("heading", level=1)).to_have_text(case.heading)

    assert audit.overflow(page) == 0
    audit.widen_text(page)
    assert audit.overflow(page) == 0


def assert_rings_all_along(page: Page) -> None:
    """Walks the page by Tab from its top; every stop shows where it is."""
    stops = audit.tab_stops(page)

    assert stops[0]["text"] == "Skip to the main content"
    audit.assert_rings(stops)


def test_a_person_who_chose_dark_gets_it_on_a_light_system(visit: Start, site: Site) -> None:
    site.make.run("update humans set theme = 'dark'")
    person = visit(site.url, color_scheme="light")
    person.sign_in(site.session())

    page = person.open("/")

    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(20, 23, 26)"


def test_without_a_database_the_page_says_so_accessibly(visit: Start, down: str) -> None:
    person = visit(down)
    person.sign_in("any")
    page = person.open("/")

    assert page.get_by_role("heading", level=1).inner_text() == "Not available now"
    assert audit.violations(page) == []
