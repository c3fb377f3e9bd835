"""Every page, in both themes, on a narrow screen and in forced colours."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from a11y.support import audit
from a11y.support.browser import Visit
from a11y.support.pages import PAGES, Case
from a11y.support.site import Site

Start = Callable[..., Visit]


@pytest.mark.parametrize("case", PAGES, ids=lambda case: case.reach.__name__[1:])
def test_a_page_is_for_everyone(visit: Start, site: Site, case: Case) -> None:
    person = visit(site.url, viewport=audit.LOW)
    page = case.reach(person, site)
    expect(page.get_by_role("heading", level=1)).to_have_text(case.heading)
    assert page.title().startswith(case.heading)

    person.assert_for_everyone(page)


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
