"""The board and its neighbours as wholes: their order, their outline, and without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from a11y.support import audit, snapshots
from a11y.support.browser import Visit
from a11y.support.site import Site

Start = Callable[..., Visit]
# page: the path of it
WHOLE = {
    "board": lambda world: "/",
    "editor": lambda world: f"{world.queue('reviews')}/budget",
    "todos": lambda world: "/todos",
    "todo": lambda world: world.todo("held"),
    "queue": lambda world: world.queue("nightly"),
    "history": lambda world: f"{world.queue('nightly')}/history",
}


@pytest.mark.parametrize("name", ["board", "editor", "todos"])
def test_the_order_of_the_keyboard_is_the_order_of_reading(
    visit: Start, site: Site, name: str
) -> None:
    page = opened(visit, site, name)
    in_reading_order = audit.look(page, "order")

    names, faults = audit.walk(page)

    assert faults == []
    assert names == in_reading_order
    assert names[0].endswith("Skip to the main content")


def test_the_skip_link_leads_past_the_navigation(visit: Start, site: Site) -> None:
    page = opened(visit, site, "board")
    page.keyboard.press("Tab")

    page.keyboard.press("Enter")

    assert audit.focus(page).id == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.closest('main') !== null")


@pytest.mark.parametrize("name", ["board", "editor", "todo", "history"])
def test_what_a_reader_is_given_is_what_was_reviewed(visit: Start, site: Site, name: str) -> None:
    page = opened(visit, site, name)

    snapshots.assert_matches(page, name)


def test_the_board_is_headings_of_owners_and_queues(visit: Start, site: Site) -> None:
    page = opened(visit, site, "board")

    levels = audit.headings(page)

    assert levels[0] == (1, "<h1 id=heading> Board")
    assert [level for level, _ in levels].count(1) == 1
    assert {level for level, _ in levels} == {1, 2, 3}
    assert levels[1][0] == 2
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("navigation", name="Views").count() == 1


@pytest.mark.parametrize("name", ["board", "todos", "queue"])
def test_a_page_whose_scripts_are_blocked_is_the_same_and_sound(
    visit: Start, site: Site, name: str
) -> None:
    whole = opened(visit, site, name)
    blocked = visit(site.url, viewport=audit.LOW)
    blocked.context.route("**/*.js", lambda route: route.fulfill(
        body="", content_type="text/javascript"))
    blocked.sign_in(site.session())
    page = blocked.open(WHOLE[name](site.world))

    assert text_of(page) == text_of(whole)
    assert dead_buttons(page) == []
    assert audit.violations(page) == []


def test_the_preference_changes_no_markup_of_a_region(visit: Start, site: Site) -> None:
    regions = []
    for announce in ("counts_and_status", "status_only"):
        site.make.run("update humans set announce = %s", announce)
        page = opened(visit, site, "board")
        regions.append([
            (one.get_attribute("aria-live"), one.get_attribute("aria-atomic"), one.inner_text())
            for one in page.locator(".q-live").all()])

    assert regions[0] == regions[1]
    assert {(live, atomic) for live, atomic, _ in regions[0]} == {("polite", "true")}


def test_a_sentence_is_one_text_and_says_what_is_seen(visit: Start, site: Site) -> None:
    page = opened(visit, site, "board")
    for name in ("investigations", "reviews", "mail", "builds", "nightly"):
        live = page.locator(f"#q-{site.world.queues[name]}-live")
        sentence = live.locator(".vh")
        assert sentence.evaluate("one => one.childNodes.length === 1 &&"
                                 " one.firstChild.nodeType === Node.TEXT_NODE")
        spoken = sentence.evaluate("one => one.textContent")
        assert spoken.startswith(f"{name}: ")
        figures = page.locator(f"#q-{site.world.queues[name]}-fig").evaluate(
            "one => one.textContent")
        assert all(figure in spoken for figure in figures.split(", ")), (spoken, figures)
        for figure in re.findall(r"\d+ of \d+", figures):
            assert figure in live.locator(".q-seen").inner_text()


def test_the_link_to_current_figures_is_seen_when_it_has_the_focus(
    visit: Start, site: Site
) -> None:
    page = opened(visit, site, "board")
    link = page.locator(f"#q-{site.world.queues['reviews']}-now")
    assert link.evaluate("link => link.getBoundingClientRect().width") <= 1

    page.keyboard.press("Shift")
    link.focus()

    assert link.evaluate("link => link.getBoundingClientRect().width") > 100
    assert audit.focus(page).faults == []
    assert link.inner_text() == (
        "Current figures for reviews: 73 of 100 used, 1 of 5 in flight")


def opened(visit: Start, site: Site, name: str) -> Page:
    """One of the pages above, as the site's person sees it."""
    person = visit(site.url, viewport=audit.LOW)
    person.sign_in(site.session())
    return person.open(WHOLE[name](site.world))


def text_of(page: Page) -> str:
    """What the page shows, without what only scripts add."""
    return re.sub(r"\s+", " ", page.locator("main").inner_text())


def dead_buttons(page: Page) -> list[str]:
    """Buttons that are shown and do nothing without scripts."""
    return [button.inner_text() for button in page.locator("button[type=button]:visible").all()]
