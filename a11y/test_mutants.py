"""The checks can fail: each fault, planted in a page on its way to the browser, is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route

from a11y.support import audit
from a11y.support.browser import Visit
from a11y.support.site import Site

Start = Callable[..., Visit]


def test_a_ring_that_was_removed_is_missed(visit: Start, site: Site) -> None:
    page = mutated(visit(site.url), "outline: 3px solid var(--focus)", "outline: none")

    with pytest.raises(AssertionError):
        audit.assert_rings(audit.tab_stops(page))


def test_a_bar_over_what_has_the_focus_is_found(visit: Start, site: Site) -> None:
    page = mutated(visit(site.url), ".top {",
                   ".top { position: fixed; z-index: 9; inset: 0; opacity: 0.5;")

    with pytest.raises(AssertionError):
        audit.assert_rings(audit.tab_stops(page))


def test_a_page_wider_than_a_narrow_screen_is_found(visit: Start, site: Site) -> None:
    person = visit(site.url, viewport={"width": 320, "height": 256})

    page = mutated(person, "h1 {", "h1 { width: 30rem;")

    assert audit.overflow(page) > 0


def test_low_contrast_in_the_dark_theme_alone_is_found(visit: Start, site: Site) -> None:
    page = mutated(visit(site.url, color_scheme="light"), "--text: #e7eaed", "--text: #333333")
    in_light = audit.violations(page)

    page.emulate_media(color_scheme="dark")

    assert in_light == []
    assert any("color-contrast" in line for line in audit.violations(page))


def test_a_style_in_the_markup_is_blocked_and_heard(visit: Start, site: Site) -> None:
    person = visit(site.url)
    person.context.route("**/login", lambda route: change(route, "<h1>", '<h1 style="color:red">'))

    person.open("/login")

    with pytest.raises(AssertionError):
        person.assert_clean()


def test_an_image_of_another_host_is_seen(visit: Start, site: Site) -> None:
    person = visit(site.url)
    image = '<img alt="" src="http://192.0.2.1/x.png"></main>'
    person.context.route("**/login", lambda route: change(route, "</main>", image))

    person.open("/login")

    with pytest.raises(AssertionError):
        person.assert_clean()


def mutated(person: Visit, sound: str, faulty: str) -> Page:
    """The sign-in page with one rule of its style sheet spoilt."""
    person.context.route("**/app.css", lambda route: change(route, sound, faulty))
    return person.open("/login")


def change(route: Route, sound: str, faulty: str) -> None:
    """Passes an answer on with one passage replaced, its headers kept."""
    answer = route.fetch()
    text = answer.text()
    assert sound in text
    route.fulfill(response=answer, body=text.replace(sound, faulty))
