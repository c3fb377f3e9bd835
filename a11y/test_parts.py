"""Parts of pages: tables, the editor's fields, secrets that are shown once, the wizard's pace."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from a11y.support import audit
from a11y.support.browser import Visit
from a11y.support.pages_vend import STEPS, vend_to
from a11y.support.site import Site
from app.db.database import Database

Start = Callable[..., Visit]


def test_the_history_is_a_table_that_scrolls_by_itself(visit: Start, site: Site) -> None:
    page = opened(visit, site, f"{site.world.queue('nightly')}/history", viewport=audit.SMALL)
    table = page.get_by_role("table", name="Changes of the budget for nightly, newest first")
    row = table.get_by_role("row").nth(1)

    assert [head.inner_text() for head in table.get_by_role("columnheader").all()] == [
        "When", "Who", "What changed", "Reason"]
    assert [head.get_attribute("scope") for head in table.locator("th").all()] == [
        *["col"] * 4, *["row"] * 2]
    when = row.get_by_role("rowheader").locator("time")
    expect(when).to_have_attribute("datetime", "2026-07-14T20:05:00Z")
    expect(when).to_have_text("14 Jul 2026, 22:05 CEST")
    expect(row).to_contain_text("Ana")
    expect(row).to_contain_text("from 3 to 0")
    expect(row).to_contain_text("The vendor is down <b>until</b> noon.")
    assert table.locator("s, del, ins").count() == 0
    assert "null" not in table.inner_text()
    region = page.get_by_role("region", name="Budget history of nightly, table")
    region.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("box => box.scrollLeft > 0", arg=region.element_handle())
    assert audit.overflow(page) == 0


def test_the_editors_fields_are_all_there_and_say_how_to_fill_them(
    visit: Start, site: Site
) -> None:
    page = opened(visit, site, f"{site.world.queue('reviews')}/budget", java_script_enabled=False)

    expect(page.get_by_label("Weekday")).to_be_visible()
    expect(page.get_by_label("Weekday")).to_have_accessible_description("Only for weekly.")
    start = page.get_by_label("Start")
    assert start.get_attribute("type") == "text"
    expect(start).to_have_accessible_description(
        "24-hour, like 09:30. Of an hour only the minute counts.")
    zone = page.get_by_label("Zone")
    assert page.locator(f"datalist#{zone.get_attribute('list')} option").count() > 300
    expect(page.get_by_role("group", name="Window")).to_be_visible()


def test_lowering_a_limit_below_its_use_warns_before_it_is_saved(
    visit: Start, site: Site
) -> None:
    page = opened(visit, site, f"{site.world.queue('reviews')}/budget", java_script_enabled=False)
    page.get_by_label("Claims per window").fill("50")
    page.get_by_role("button", name="Save budget").click()

    warning = page.get_by_role("group", name="Nothing is saved yet")
    expect(warning).to_be_focused()
    expect(warning).to_contain_text("00:00 PT")
    assert site.make.value("select max_claims_per_window from admission_policies"
                           " where queue_id = %s", int(site.world.queues["reviews"])) == 100


def test_the_verbs_that_change_limits_are_unchecked_and_warned_of(
    visit: Start, site: Site
) -> None:
    page = opened(visit, site, "/endpoints/vend/agent")
    vend_to(page, "verbs")
    for _ in range(2):
        group = page.get_by_role("group", name="Grants that change limits")
        boxes = group.get_by_role("checkbox")
        expect(boxes).to_have_count(2)
        assert [box.is_checked() for box in boxes.all()] == [False, False]
        for box in boxes.all():
            expect(box).to_have_accessible_description(page.locator("#limits-warning").inner_text())
        expect(page.locator("#limits-warning")).to_be_visible()
        for box in boxes.all():
            box.check()
        page.reload()


def test_a_choice_in_the_wizard_neither_goes_on_nor_runs_out(visit: Start, site: Site) -> None:
    page = opened(visit, site, "/endpoints/vend/agent")
    titles = [page.title()]
    for step in STEPS[1:4]:
        vend_to(page, "queues") if step == "queues" else page.locator(
            "main form button.primary").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(f": {step} ")
        titles.append(page.title())
    address = page.url
    page.locator("main input[type=radio]:checked").focus()

    page.keyboard.press("ArrowDown")

    assert page.url == address
    assert page.locator("meta[http-equiv=refresh]").count() == 0
    assert len(set(titles)) == 4


def test_an_update_beside_an_open_drawer_leaves_the_focus_in_it(
    visit: Start, site: Site, db: Database
) -> None:
    page = opened(visit, site, "/todos")
    page.locator(f"[id='todo-{site.world.todos['note']}-link']").click()
    expect(page.locator("#todo-side-heading")).to_be_focused()
    page.keyboard.press("Tab")
    held = audit.focus(page)
    seen = page.locator(f"#q-{site.world.queues['reviews']}-live .q-seen")

    site.make.run("update admission_policies set max_in_flight = 4 where queue_id = %s",
                  int(site.world.queues["reviews"]))
    db.feed.changed(site.world.queues["reviews"])

    expect(seen).to_contain_text("1 of 4 in flight")
    assert audit.focus(page) == held
    assert held.tag != "body"


def test_too_many_requests_say_when_to_come_back(visit: Start, site: Site) -> None:
    page = visit(site.url).open("/login")
    while page.request.get(f"{site.url}/login").status != 429:
        pass
    for _ in range(30):
        answer = page.goto(f"{site.url}/login")
        if answer is not None and answer.status == 429:
            break

    expect(page.get_by_role("heading", level=1)).to_have_text("Too many requests")
    expect(page.locator("main")).to_contain_text("second")


def opened(visit: Start, site: Site, path: str, **settings: object) -> Page:
    """A page as the site's person sees it."""
    person = visit(site.url, **settings)
    person.sign_in(site.session())
    return person.open(path)
