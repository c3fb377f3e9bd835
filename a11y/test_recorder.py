"""The announcement recorder hears what a reader is told, and flags what readers differ on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from a11y.support import say
from a11y.support.say import Utterance

SOUND = """
<p id=region aria-live=polite aria-atomic=true><span id=ticking aria-hidden=true>98 of 100</span>
<span id=sentence>lane-m: admitting, 98 of 100 used</span></p>
<p id=filled role=status></p>
"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page with a region of two layers and an empty status, and the recorder in it."""
    context = chromium.new_context()
    say.listen(context)
    page = context.new_page()
    page.route("http://recorder.test/", lambda route: route.fulfill(
        body=f"<!doctype html><title>t</title>{SOUND}", content_type="text/html"))
    page.goto("http://recorder.test/")
    yield page
    context.close()


def test_a_tick_of_the_visible_layer_says_nothing(page: Page) -> None:
    change(page, "ticking.textContent = '99 of 100'")

    assert say.heard(page) == []


def test_a_new_sentence_is_said_once_and_whole(page: Page) -> None:
    change(page, "sentence.textContent = 'lane-m: budget used up'")

    assert say.heard(page) == [Utterance(
        region="region", live="polite", said="lane-m: budget used up", flags=())]
    say.assert_sound(page)


def test_a_status_that_was_there_empty_is_heard_when_it_fills(page: Page) -> None:
    change(page, "filled.textContent = 'Live again'")

    say.wait_for(page, "Live", "again")
    assert [one.said for one in say.heard(page, region="filled")] == ["Live again"]
    say.forget(page)
    assert say.heard(page) == []


@pytest.mark.parametrize(("fault", "flag"), [
    ("region.outerHTML = region.outerHTML.replace('98 of 100 used', 'used up')",
     "region replaced"),
    ("const box = document.createElement('div'); box.innerHTML = region.outerHTML;"
     "region.replaceWith(box)", "region replaced"),
    ("region.innerHTML = '<b>lane-m:</b><i> budget used up</i>'", "several nodes"),
    ("const sheet = new CSSStyleSheet(); sheet.replaceSync('#region {display: flex}');"
     "document.adoptedStyleSheets = [sheet]; sentence.textContent = 'used up'", "flex"),
    ("sentence.textContent = 'Admitting98 of 100'", "words run together"),
    ("sentence.textContent = String(sentence.textContent)", "same text"),
    ("region.setAttribute('aria-live', 'off')", "politeness flipped"),
    ("sentence.innerHTML = 'resets at <time>00:00</time>'", "more than text"),
])
def test_what_readers_differ_on_is_flagged(page: Page, fault: str, flag: str) -> None:
    change(page, fault)

    assert any(flag in one.flags for one in say.heard(page)), say.heard(page)
    with pytest.raises(AssertionError):
        say.assert_sound(page)


@pytest.mark.parametrize("silent", [
    "sentence.setAttribute('class', 'settled')",
    "sentence.textContent = ''",
    "region.hidden = true; sentence.textContent = 'used up'",
])
def test_what_nobody_hears_is_not_recorded(page: Page, silent: str) -> None:
    change(page, silent)

    assert say.heard(page) == []


def change(page: Page, script: str) -> None:
    """Runs a change in the page, and returns when the recorder has seen it."""
    page.evaluate(f"""() => {{ {script} }}""")
    page.evaluate("() => Promise.resolve()")
