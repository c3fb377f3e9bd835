"""The owner sees why work waits: REQ-11's scenario in a real browser, with scripts and without."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from playwright.sync_api import Error, Locator, Page, expect

from a11y.support.browser import Visit
from a11y.support.site import Site

Start = Callable[..., Visit]
CHIP = "deferred · budget · eligible 00:00 PT"
pytestmark = pytest.mark.req("REQ-11", "The owner sees why work waits")


@pytest.mark.parametrize("scripts", ["scripts", "no scripts"])
def test_the_header_and_twelve_chips_say_why(visit: Start, site: Site, scripts: str) -> None:
    page = board(visit, site, java_script_enabled=scripts == "scripts")
    region = section(page, site, "investigations")

    header = region.locator(".q-live")
    expect(header).to_contain_text("Budget used up")
    expect(header).to_contain_text("100 of 100 used")
    expect(header).to_contain_text("resets 00:00 PT (09:00 your time)")
    chips = region.locator(".card .chip")
    assert [chip.inner_text() for chip in chips.all()] == [CHIP] * 12
    assert all(chip.is_visible() for chip in chips.all())


def test_a_chip_is_text_of_its_card_and_describes_its_link(visit: Start, site: Site) -> None:
    page = board(visit, site)
    card = page.locator(f"#todo-{site.world.todos['alert 1']}")
    chip, link = card.locator(".chip"), card.locator(".card-title a")

    assert chip.evaluate("chip => chip.localName") == "span"
    control = "a, button, [role=button], [tabindex='0']"
    assert not chip.evaluate("(chip, control) => chip.closest(control) !== null", control)
    assert chip.evaluate("chip => getComputedStyle(chip).cursor") in ("auto", "text", "default")
    assert link.get_attribute("aria-describedby") == chip.get_attribute("id")
    expect(link).to_have_accessible_description(CHIP)


def test_a_chip_wraps_and_keeps_its_border_without_colours(visit: Start, site: Site) -> None:
    page = board(visit, site, viewport={"width": 320, "height": 600}, forced_colors="active")
    chip = page.locator(f"#todo-{site.world.todos['alert 1']} .chip")

    style = chip.evaluate("""chip => {
      const style = getComputedStyle(chip)
      return {overflow: style.textOverflow, space: style.whiteSpace, width: style.borderTopWidth,
              line: style.borderTopStyle, colour: style.borderTopColor,
              back: getComputedStyle(document.body).backgroundColor,
              fits: chip.scrollWidth <= chip.clientWidth + 1}
    }""")

    assert style["fits"]
    assert style["overflow"] == "clip"
    assert style["space"] == "normal"
    assert (style["width"], style["line"]) == ("1px", "solid")
    assert style["colour"] != style["back"]


def test_each_reason_has_its_own_words_and_only_deferred_todos_a_chip(
    visit: Start, site: Site
) -> None:
    page = board(visit, site)
    said = {name: section(page, site, name).locator(".card .chip").all_inner_texts()
            for name in ("builds", "nightly", "imports", "reviews", "notes")}

    assert said["nightly"] == ["deferred · paused"]
    assert said["imports"] == ["deferred · budget unavailable"]
    assert len(said["builds"]) == 1
    assert said["builds"][0].startswith("deferred · in flight · about ")
    assert said["builds"][0].endswith(" (estimate)")
    assert said["reviews"] == said["notes"] == []


def picture(mark: Locator) -> bytes:
    """What a mark looks like; its header may be drawn anew meanwhile."""
    for _ in range(5):
        with contextlib.suppress(Error):
            return mark.screenshot(timeout=5000) if mark.count() else b"none"
    raise AssertionError("never still enough for a picture")


def test_every_state_differs_without_colour_in_word_mark_and_rule(
    visit: Start, site: Site
) -> None:
    page = board(visit, site, forced_colors="active")
    sight = page.context.new_cdp_session(page)
    sight.send("Emulation.setEmulatedVisionDeficiency", {"type": "achromatopsia"})
    names = ("reviews", "builds", "investigations", "nightly", "imports")
    words, rules, marks = [], [], []

    for name in names:
        one = section(page, site, name)
        words.append(one.locator(".tag").inner_text().strip())
        rules.append(one.evaluate("one => { const s = getComputedStyle(one);"
                                  " return s.borderLeftWidth + ' ' + s.borderLeftStyle }"))
        marks.append(picture(one.locator(".tag svg")))

    assert words == ["Admitting", "At limit", "Budget used up", "Paused", "Unavailable"]
    assert len(set(marks)) == 5
    assert rules[0] == rules[1]
    assert len(set(rules)) == 4
    assert rules[2:] == ["6px solid", "6px double", "6px dashed"]


def test_limits_that_are_missing_or_zero_or_broken_read_as_words(visit: Start, site: Site) -> None:
    page = board(visit, site)

    expect(section(page, site, "builds").locator(".q-seen")).to_contain_text("no limit on claims")
    paused = section(page, site, "nightly")
    expect(paused).to_contain_text("Paused")
    expect(paused).to_contain_text("The vendor is down <b>until</b> noon.")
    expect(paused).to_contain_text("Ana")
    broken = section(page, site, "imports")
    expect(broken).to_contain_text("time zone of the budget is not known")
    assert "0 of 0" not in broken.inner_text()
    expect(section(page, site, "mail").locator(".q-seen")).to_contain_text("80 of 100 used")
    assert section(page, site, "mail").locator(".q-seen svg.mark").count() == 1


def board(visit: Start, site: Site, **settings: object) -> Page:
    """The board of the site's person."""
    person = visit(site.url, **settings)
    person.sign_in(site.session())
    return person.open("/")


def section(page: Page, site: Site, queue: str) -> Locator:
    """The section of one queue."""
    return page.locator(f"section[aria-labelledby^='q-{site.world.queues[queue]}-h']")
