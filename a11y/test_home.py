"""The first page of someone signed in: its outline, its tables, its ways around."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from a11y.support.browser import Visit
from a11y.support.site import Site

Start = Callable[..., Visit]


def test_the_outline_is_landmarks_one_heading_and_two_named_tables(
    visit: Start, site: Site
) -> None:
    page = board(visit, site)

    assert page.locator("html").get_attribute("lang") == "en"
    assert [heading.inner_text() for heading in page.get_by_role("heading").all()] == [
        "Board", "Endpoints", "Queues"]
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("navigation", name="Views")).to_have_count(1)
    here = page.get_by_role("link", name="Board", exact=True)
    expect(here).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("table", name="Todos in each queue")).to_have_count(1)
    expect(page.get_by_role("table", name="What your agents can connect to")).to_have_count(1)


def test_a_queues_counts_are_read_with_its_name_and_their_headers(
    visit: Start, site: Site
) -> None:
    page = board(visit, site)
    table = page.get_by_role("table", name="Todos in each queue")

    assert [head.inner_text() for head in table.get_by_role("columnheader").all()] == [
        "Queue", "Of", "Pending", "Claimed", "Done", "Failed"]
    row = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name="lane-m"))
    assert [cell.inner_text() for cell in row.get_by_role("cell").all()][1:] == [
        "3", "1", "12", "2"]


def test_the_skip_link_leads_to_the_main_content(visit: Start, site: Site) -> None:
    page = board(visit, site)

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert page.evaluate("() => document.activeElement.id") == "main"


def test_a_wide_table_scrolls_by_keyboard_inside_its_own_region(visit: Start, site: Site) -> None:
    page = board(visit, site, viewport={"width": 320, "height": 256})
    region = page.get_by_role("region", name="Endpoints table")
    region.focus()

    page.keyboard.press("ArrowRight")

    page.wait_for_function("element => element.scrollLeft > 0", arg=region.element_handle())


def test_the_page_is_whole_without_scripts(visit: Start, site: Site) -> None:
    with_scripts, without = visit(site.url), visit(site.url, java_script_enabled=False)
    texts = []
    for person in (with_scripts, without):
        person.sign_in(site.session())
        texts.append(person.open("/").locator("main").inner_text())

    assert texts[0] == texts[1]
    assert "lane-m" in texts[0]


def board(visit: Start, site: Site, **settings: object) -> Page:
    """The board of the site's person in a fresh browser."""
    person = visit(site.url, **settings)
    person.sign_in(site.session())
    return person.open("/")
