"""One todo beside the list: where the focus goes, and what a refusal looks like there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from a11y.support.browser import Visit
from a11y.support.site import Site

Start = Callable[..., Visit]
FOCUSED = "document.activeElement.id"


def _opened(page: Page, todo: str) -> None:
    page.locator(f"#todo-{todo}-link").focus()
    page.keyboard.press("Enter")
    page.locator("#todo-side").wait_for()
    expect(page.locator("#todo-side-heading")).to_be_focused()


def _id(site: Site, name: str) -> str:
    return site.world.todo(name).removeprefix("/todos/")


def test_it_takes_the_focus_to_its_heading_and_gives_it_back(
    visit: Start, site: Site
) -> None:
    """D1 to D4 and D6, by keyboard."""
    seat = visit(site.url)
    seat.sign_in(site.session())
    page = seat.open("/todos")
    todo = _id(site, "reviews")
    link = page.locator(f"#todo-{todo}-link")

    _opened(page, todo)
    first = page.locator("#todo-side a, #todo-side button").first
    assert (first.inner_text(), first.get_attribute("href")) == ("Open full page", f"/todos/{todo}")
    side, rows = (page.locator(f"#{one}").bounding_box() for one in ("todo-side", "todos-panel"))
    assert side is not None
    assert rows is not None
    assert rows["x"] + rows["width"] <= side["x"] or rows["y"] >= side["y"] + side["height"]
    page.keyboard.press("Escape")
    expect(link).to_be_focused()
    expect(page.locator("#todo-side")).to_have_count(0)

    _opened(page, todo)
    page.get_by_role("button", name="Close").press("Enter")
    expect(link).to_be_focused()

    _opened(page, todo)
    following = page.evaluate(
        "id => { const row = document.getElementById(id); const next = row.nextElementSibling;"
        " row.remove(); return next.id + '-link' }", f"todo-{todo}")
    page.keyboard.press("Escape")
    assert page.evaluate(FOCUSED) == following
    seat.assert_clean()


def test_a_click_for_a_new_tab_opens_one(visit: Start, site: Site) -> None:
    seat = visit(site.url)
    seat.sign_in(site.session())
    page = seat.open("/todos")
    todo = _id(site, "reviews")

    with seat.context.expect_page() as opened:
        page.locator(f"#todo-{todo}-link").click(modifiers=["Control"])

    assert opened.value.url == f"{site.url}/todos/{todo}"
    expect(page.locator("#todo-side")).to_have_count(0)


@pytest.mark.parametrize("script", ["on", "off"])
def test_a_refused_claim_is_shown_with_its_chip_and_takes_the_focus(
    visit: Start, site: Site, script: str
) -> None:
    """B15: beside the list by htmx, as a page without script."""
    seat = visit(site.url, java_script_enabled=script == "on")
    seat.sign_in(site.session())
    page = seat.open("/todos")

    page.locator(f"#todo-{_id(site, 'alert 1')}-link").click()
    page.locator("#todo-act-claim").click()
    page.locator("#refused").wait_for()

    expect(page.locator("#refused")).to_be_focused()
    expect(page.locator("#refused .chip")).to_have_text("deferred · budget · eligible 00:00 PT")
    assert (page.locator("#todo-side").count() == 1) == (script == "on")
    seat.assert_clean()


def test_what_is_done_there_leads_back_to_the_row(visit: Start, site: Site) -> None:
    seat = visit(site.url)
    seat.sign_in(site.session())
    page = seat.open("/todos")
    todo = _id(site, "held")

    _opened(page, todo)
    page.locator("#result").fill("{not JSON")
    page.locator("#todo-act-complete").click()
    expect(page.locator("#error-summary")).to_be_focused()
    page.locator("#result").fill('{"ok": true}')
    page.locator("#todo-act-complete").click()

    expect(page.locator("#said")).to_have_text("Completed Claimed by hand.")
    expect(page.locator(f"#todo-{todo}-link")).to_be_focused()
    assert page.url == f"{site.url}/todos#todo-{todo}-link"
    seat.assert_clean()


def test_a_session_that_ends_beside_the_list_is_told_where_the_focus_is(
    visit: Start, site: Site
) -> None:
    seat = visit(site.url)
    seat.sign_in(site.session())
    page = seat.open("/todos")

    _opened(page, _id(site, "held"))
    page.locator("#result").fill("{not JSON")
    seat.context.clear_cookies()
    page.locator("#todo-act-complete").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Your session has ended")
    expect(page.locator("#error-summary")).to_be_focused()
    expect(page.locator("#result")).to_have_value("{not JSON")
    seat.assert_clean()
