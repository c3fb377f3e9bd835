"""Every page of the door, of a person's settings and of what is refused; and the two themes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from a11y.support import audit
from a11y.support.browser import Visit
from a11y.support.cases import Case
from a11y.support.pages import BOARD, DOOR, REFUSALS
from a11y.support.pages_settings import HELP, SETTINGS
from a11y.support.site import Site

Start = Callable[..., Visit]


@pytest.mark.parametrize("case", [*DOOR, *REFUSALS, *BOARD, *SETTINGS, *HELP],
                         ids=lambda case: case.name)
def test_a_page_is_for_everyone(visit: Start, site: Site, case: Case) -> None:
    case.check(visit(site.url), site)


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
    assert person.status(page) == 503
    assert audit.faults(page, person.source(page)) == []
