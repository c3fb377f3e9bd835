"""The rig itself: a sentence in a live region is heard once, a tick beside it never."""

from __future__ import annotations

from playwright.sync_api import Browser

from a11y.screen_reader.reader import Reader

PAGE = """<!doctype html><html lang=en><title>Rig</title><main><h1>Rig</h1>
<p aria-live=polite aria-atomic=true><span id=tick aria-hidden=true>1</span>
<span id=say>lane-m: admitting</span></p><button>Claim the first todo</button></main>"""


def test_the_reader_hears_a_sentence_once_and_no_tick(reader: Reader, chromium: Browser) -> None:
    page = chromium.new_page()
    page.route("http://rig.test/", lambda route: route.fulfill(
        body=PAGE, content_type="text/html"))
    mark = reader.open(page, "http://rig.test/")
    page.keyboard.press("Tab")
    reader.wait_for("Claim the first todo", mark)
    mark = reader.mark()

    page.evaluate("() => { tick.textContent = '2' }")
    page.evaluate("() => { say.textContent = 'lane-m: budget used up' }")

    said = reader.wait_for("lane-m: budget used up", mark)
    assert said == ["lane-m: budget used up"]
    page.close()
