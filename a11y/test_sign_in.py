"""Getting in and out by keyboard alone, with scripts and without."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from a11y.support.browser import Visit
from a11y.support.site import Site

Start = Callable[..., Visit]


@pytest.mark.parametrize("scripts", ["scripts", "no scripts"])
def test_a_person_signs_in_and_out_by_keyboard_alone(
    visit: Start, site: Site, scripts: str
) -> None:
    person = visit(site.url, java_script_enabled=scripts == "scripts")
    page = person.open(site.link().removeprefix(site.url))

    press_on(page, "Sign in")
    expect(page.get_by_role("heading", level=1)).to_have_text("Board")
    expect(page.get_by_text("Signed in as Ana")).to_be_visible()

    press_on(page, "Sign out")
    expect(page.get_by_role("heading", level=1)).to_have_text("Switchboard")
    expect(page.get_by_role("link", name="How to sign in")).to_be_visible()
    person.assert_clean()


def test_the_links_page_is_one_heading_and_one_button(visit: Start, site: Site) -> None:
    page = visit(site.url).open(site.link().removeprefix(site.url))

    expect(page.locator("main")).to_match_aria_snapshot("""
      - main:
        - /children: deep-equal
        - status
        - heading "Sign in to Switchboard" [level=1]
        - paragraph: This link signs you in on this browser. It works once.
        - button "Sign in"
    """)


def test_a_used_link_says_in_words_how_to_get_another(visit: Start, site: Site) -> None:
    person = visit(site.url)
    path = site.link().removeprefix(site.url)
    first = person.open(path)
    press_on(first, "Sign in")
    expect(first.get_by_role("heading", level=1)).to_have_text("Board")

    page = person.open(path)

    expect(page.get_by_role("heading", level=1)).to_have_text("Sign-in link no longer valid")
    expect(page.locator("main")).to_contain_text("switchboard admin login-url --human NAME")


def test_the_development_sign_in_is_a_button_that_names_the_act(visit: Start, site: Site) -> None:
    page = visit(site.url).open("/login")

    press_on(page, "Sign in as the development human")

    expect(page.get_by_text("Signed in as developer")).to_be_visible()


def test_an_old_form_is_sent_again_and_works(visit: Start, site: Site) -> None:
    person = visit(site.url)
    person.sign_in(site.session())
    page = person.open("/")
    person.sign_in(site.session())

    press_on(page, "Sign out")
    expect(page.get_by_role("heading", level=1)).to_have_text("Please send this again")

    press_on(page, "Send again")
    expect(page.get_by_role("heading", level=1)).to_have_text("Switchboard")


def press_on(page: Page, name: str) -> None:
    """Tabs to the button of this name and presses Enter."""
    button = page.get_by_role("button", name=name, exact=True)
    for _ in range(20):
        page.keyboard.press("Tab")
        if button.evaluate("element => element === document.activeElement"):
            page.keyboard.press("Enter")
            page.wait_for_load_state()
            return
    raise AssertionError(f"Tab does not reach the button {name}")
