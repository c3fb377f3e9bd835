"""What a blind owner is told: a state change in one sentence, a tick never, reasons on the way."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from a11y.screen_reader.reader import Reader
from a11y.support.browser import Visit
from a11y.support.site import Site
from a11y.support.world import DAY
from app.db.database import Database

Start = Callable[..., Visit]
_OPENED = """
  window.opened = 0
  document.addEventListener('htmx:sseOpen', () => { window.opened += 1 })
"""


def test_a_state_change_is_one_sentence_and_a_tick_is_none(
    reader: Reader, visit: Start, site: Site, db: Database
) -> None:
    page, mark = live_board(reader, visit, site)

    for used in (74, 75, 76):
        use(site, db, "reviews", used)
        expect(seen(page, site, "reviews")).to_contain_text(f"{used} of 100 used")
    use(site, db, "reviews", 100)
    reader.wait_for("reviews: budget used up", mark)
    reader.settled()
    assert [said for said in reader.since(mark) if "reviews" in said] == [
        "reviews: budget used up, 100 of 100 used, 1 of 5 in flight, resets at midnight Pacific"
        " time, 09:00 your time"]
    assert reader.since(mark) == [said for said in reader.since(mark) if "reviews" in said]

    mark = reader.mark()
    change(site, db, "mail", "max_in_flight = 0")
    said = settled_after(reader, "mail: paused", mark)
    assert len(said) == 1, said

    mark = reader.mark()
    change(site, db, "builds", "window_tz = 'Mars/Olympus', window_period = 'day',"
                               " window_start = '00:00', max_claims_per_window = 9")
    said = settled_after(reader, "builds: unavailable", mark)
    assert len(said) == 1, said


def test_tabbing_to_a_deferred_card_says_why_it_waits(
    reader: Reader, visit: Start, site: Site
) -> None:
    page, mark = live_board(reader, visit, site)
    page.locator(f"#q-{site.world.queues['investigations']}-edit").focus()
    reader.wait_for("Edit budget for investigations", mark)
    mark = reader.settled()

    page.keyboard.press("Tab")

    reader.wait_for("Look into alert 1", mark)
    reader.wait_for("deferred · budget · eligible 00:00 PT", mark)


def test_the_editor_says_what_it_edits(reader: Reader, visit: Start, site: Site) -> None:
    person = visit(site.url)
    person.sign_in(site.session())
    mark = reader.mark()

    reader.open(person.context.new_page(), f"{site.url}{site.world.queue('reviews')}/budget",
                until="In-flight cap")

    reader.wait_for("Edit budget for reviews", mark)
    said = " ".join(reader.since(mark))
    assert "form" in said
    assert "In-flight cap" in said


def test_a_grant_that_changes_limits_is_said_with_its_warning(
    reader: Reader, visit: Start, site: Site
) -> None:
    person = visit(site.url)
    person.sign_in(site.session())
    page = person.open("/endpoints/vend/agent")
    page.locator("#name").fill("night lane")
    page.locator("main form button.primary").first.click()
    page.locator("main form button.primary").first.click()
    page.wait_for_url("**/vend/verbs")
    reader.open(page, page.url, until="list_todos")
    box = page.locator("#limits input").first
    page.locator("#limits").evaluate(
        "() => [...document.querySelectorAll('main input:not(#limits input)')].at(-1).focus()")
    mark = reader.settled()

    page.keyboard.press("Tab")

    expect(box).to_be_focused()
    expect(box).not_to_be_checked()
    reader.wait_for("change its own budget", mark)
    reader.wait_for("Grants that change limits", mark)


def live_board(reader: Reader, visit: Start, site: Site) -> tuple[Page, int]:
    """The board in front, read, with its stream open; and the mark after that."""
    person = visit(site.url)
    person.context.add_init_script(_OPENED)
    person.sign_in(site.session())
    page = person.context.new_page()
    reader.open(page, f"{site.url}/")
    page.wait_for_function("() => window.opened > 0")
    return page, reader.settled()


def settled_after(reader: Reader, words: str, mark: int) -> list[str]:
    """Everything said after the mark, once the words were and nothing follows."""
    reader.wait_for(words, mark)
    reader.settled()
    return reader.since(mark)


def seen(page: Page, site: Site, queue: str) -> Locator:
    """The visible layer of a header."""
    return page.locator(f"#q-{site.world.queues[queue]}-live .q-seen")


def use(site: Site, db: Database, queue: str, used: int) -> None:
    """So many units of the day are spent."""
    site.make.run(
        "update admission_windows set used = %s where window_start = %s and policy_id ="
        " (select id from admission_policies where queue_id = %s)",
        used, DAY, int(site.world.queues[queue]))
    db.feed.changed(site.world.queues[queue])


def change(site: Site, db: Database, queue: str, what: str) -> None:
    """A policy is another one from now on."""
    site.make.run(f"update admission_policies set {what} where queue_id = %s",
                  int(site.world.queues[queue]))
    db.feed.changed(site.world.queues[queue])
