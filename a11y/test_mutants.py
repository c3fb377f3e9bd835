"""The checks can fail: each fault, planted in a page on its way to the browser, is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route

from a11y.support import audit, say
from a11y.support.browser import Visit
from a11y.support.site import Site

Start = Callable[..., Visit]
Fault = tuple[str, str, str]

# what is wrong: the passage of the style sheet, what is there instead, and the words of the fault
STYLES: dict[str, Fault] = {
    "the ring is removed": (
        "outline: 3px solid var(--focus)", "outline: none", "ring: .*no ring"),
    "the ring is thin": (
        "outline: 3px solid var(--focus)", "outline: 1px solid var(--focus)", "ring: .*no ring"),
    "a bar covers what has the focus": (
        ".top {", ".top { position: fixed; z-index: 9; inset: 0; opacity: 0.5;",
        "ring: .*covered by"),
    "the page is wider than a narrow screen": (
        "h1 {", "h1 { width: 30rem;", "scrolls sideways at 320 px: "),
    "wide text does not fit": (
        "h1 {", "h1 { height: 1.2em; line-height: 1.2; overflow: hidden;",
        "cut off at 320 px, wide text"),
    "text is cut off": (
        "h1 {", "h1 { overflow: hidden; white-space: nowrap; width: 3rem;", "cut off at 320 px"),
    "low contrast in the dark theme alone": (
        "--text: #e7eaed", "--text: #333333", "axe, dark: color-contrast"),
    "a button is too small": (
        "min-height: 2rem", "height: 12px; line-height: 1; overflow: hidden", "small target"),
    "it moves though motion is not wanted": (
        "h1 {", "@keyframes pulse { to { opacity: 0.5 } }\n"
        "h1 { animation: pulse 9s infinite !important;", "moves all the same"),
}
# the same for the markup of the board
MARKUPS: dict[str, Fault] = {
    "a chip is colour alone": (
        "deferred · budget · eligible 00:00 PT</span>", "</span>", "status without words"),
    "a heading is left out of the outline": ("<h2", "<h4", "outline: .*h4 after an h1"),
    "two main headings": ("<h3", "<h1", "outline: .* h1 instead of one"),
    "an attribute of htmx that no standard knows": (
        "<h1 id", "<h1 hx-get='/' id", "HTML: <h1> has an attribute hx-get"),
    "an end tag is left out": ("</li>", "", "HTML: .*end tags"),
    "a block inside a paragraph": (
        "<p class=\"card-title\">", "<p class=\"card-title\"><div></div>", "HTML: "),
    "an id twice": ('id="heading"', 'id="said"', "HTML: the id said is there twice"),
    "a name that leads nowhere": (
        'aria-describedby="', 'aria-describedby="nowhere ', "HTML: aria-describedby names nowhere"),
    "a style in the markup": ("<h1 ", '<h1 style="color: red" ', "HTML: <h1> has an attribute"),
}


@pytest.mark.parametrize("name", STYLES)
def test_a_spoilt_style_is_found(visit: Start, site: Site, name: str) -> None:
    sound, faulty, words = STYLES[name]
    person = visit(site.url, viewport=audit.LOW)
    person.context.route("**/app.css", lambda route: change(route, sound, faulty))
    page = person.open("/login")

    found = "\n".join(audit.faults(page, person.source(page)))

    assert_names(found, words)
    if name == "low contrast in the dark theme alone":
        assert "axe, light" not in found


@pytest.mark.parametrize("name", MARKUPS)
def test_a_spoilt_page_is_found(visit: Start, site: Site, name: str) -> None:
    sound, faulty, words = MARKUPS[name]
    person = visit(site.url, viewport=audit.LOW)
    person.context.route(f"{site.url}/", lambda route: change(route, sound, faulty))
    person.context.route("**/*.js", quiet)  # the stream would put it right
    person.sign_in(site.session())
    page = person.open("/")

    found = "\n".join(audit.faults(page, person.source(page)))

    assert_names(found, words)


def test_a_style_in_the_markup_is_blocked_and_heard(visit: Start, site: Site) -> None:
    person = visit(site.url)
    person.context.route("**/login", lambda route: change(route, "<h1 ", '<h1 style="color:red" '))

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


def test_a_region_that_ticks_aloud_is_heard(visit: Start, site: Site) -> None:
    sound = 'class="q-seen" aria-hidden="true"'
    page = listened(visit, site, sound, 'class="q-seen"')

    tick(page, site)

    assert say.heard(page) != []


def test_a_region_that_is_sound_is_silent_when_it_ticks(visit: Start, site: Site) -> None:
    page = listened(visit, site, "Board", "Board")

    tick(page, site)

    assert say.heard(page) == []


def test_a_region_that_is_replaced_is_heard_and_flagged(visit: Start, site: Site) -> None:
    page = listened(visit, site, "Board", "Board")

    page.evaluate("""id => {
      const region = document.getElementById(id)
      region.outerHTML = region.outerHTML.replace('73 of', '90 of')
    }""", f"q-{site.world.queues['reviews']}-live")

    with pytest.raises(AssertionError, match="region replaced"):
        say.assert_sound(page)


def test_an_order_of_the_keyboard_that_is_not_the_order_of_reading_is_found(
    visit: Start, site: Site
) -> None:
    page = listened(visit, site, '<button type="submit" id="sign-out"',
                    '<button type="submit" tabindex="3" id="sign-out"')
    order = audit.look(page, "order")

    names, _ = audit.walk(page)

    assert names != order


def listened(visit: Start, site: Site, sound: str, faulty: str) -> Page:
    """The board, spoilt, with the recorder in it and no stream to change it."""
    person = visit(site.url, viewport=audit.LOW)
    person.listen()
    person.context.route("**/*.js", quiet)
    person.context.route(f"{site.url}/", lambda route: change(route, sound, faulty))
    person.sign_in(site.session())
    return person.open("/")


def tick(page: Page, site: Site) -> None:
    """Changes the visible figures as the stream does."""
    page.evaluate("""id => {
      const seen = document.querySelector(`#${id} .q-seen`)
      seen.innerHTML = seen.innerHTML.replace('73 of', '74 of')
    }""", f"q-{site.world.queues['reviews']}-live")


def quiet(route: Route) -> None:
    """Answers a script with nothing."""
    route.fulfill(body="", content_type="text/javascript")


def change(route: Route, sound: str, faulty: str) -> None:
    """Passes an answer on with one passage replaced, its headers kept."""
    answer = route.fetch()
    text = answer.text()
    assert sound in text, sound
    route.fulfill(response=answer, body=text.replace(sound, faulty))


def assert_names(found: str, words: str) -> None:
    """Fails unless the faults found say what was planted."""
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(found)
