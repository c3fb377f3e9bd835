"""What the shell does in a browser: kept forms by htmx, the zone, the flash, a secret to copy."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from a11y.support.browser import Visit
from a11y.support.site import Site

Start = Callable[..., Visit]

_FORM = '<form method="post" action="/settings/preferences"'


def by_htmx(route: Route) -> None:
    """Lets htmx send the form of Settings, into a part of the page."""
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace(
        _FORM, f'{_FORM} data-hx-post="/settings/preferences" data-hx-target="#tokens"'))


def test_a_form_htmx_sends_after_the_session_ended_is_kept_and_saved_in_the_end(
    visit: Start, site: Site
) -> None:
    person = visit(site.url)
    person.context.route("**/settings", by_htmx)
    person.sign_in(site.session())
    page = person.open("/settings")
    page.get_by_label("Time zone").fill("Asia/Tokyo")
    page.get_by_label("Dark").check()
    save = page.get_by_role("button", name="Save settings")

    person.context.clear_cookies()
    save.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your session has ended")
    expect(page.locator("#error-summary")).to_be_focused()
    expect(page.get_by_role("main")).to_have_count(1)
    with page.expect_popup() as beside:
        page.get_by_role("link", name="Sign in (opens a new tab)").click()
    expect(beside.value.get_by_role("heading", level=1)).to_have_text("Sign in")
    person.sign_in(site.session())
    save.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Please send this again")
    expect(page.locator("#error-summary")).to_be_focused()
    expect(page.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
    expect(page.get_by_label("Dark")).to_be_checked()
    save.click()

    expect(page.get_by_role("status").get_by_text("Settings saved.")).to_be_visible()
    expect(page.locator("#save-settings")).to_be_focused()
    assert site.make.value("select zone from humans where id = %s", site.human.id) == "Asia/Tokyo"
    person.assert_clean()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_refusal_has_the_focus_and_saving_lands_on_what_was_pressed(
    visit: Start, site: Site, *, scripts: bool
) -> None:
    person = visit(site.url, java_script_enabled=scripts)
    person.sign_in(site.session())
    page = person.open("/settings")
    page.get_by_label("Time zone").fill("Berlin")
    page.get_by_label("Time zone").press("Enter")
    expect(page).to_have_title("Error: Settings - Switchboard")
    expect(page.locator("#error-summary")).to_be_focused()

    page.get_by_role("link", name="Did you mean Europe/Berlin?").click()
    expect(page.locator("#zone")).to_be_focused()
    wrong = "element => getComputedStyle(element).borderTopColor"
    assert page.get_by_label("Time zone").evaluate(wrong) == "rgb(138, 28, 28)"
    page.get_by_label("Time zone").fill("Asia/Tokyo")
    page.get_by_label("Time zone").press("Enter")

    expect(page.get_by_role("status").get_by_text("Settings saved.")).to_be_visible()
    expect(page.locator("#save-settings")).to_be_focused()
    person.assert_clean()


def test_the_browsers_zone_comes_with_the_sign_in_and_is_offered_to_who_has_none(
    visit: Start, site: Site
) -> None:
    for reach in ("link", "session"):
        site.make.run("update humans set zone = null")
        person = visit(site.url, timezone_id="Asia/Tokyo")
        if reach == "session":
            person.sign_in(site.session())
            page = person.context.new_page()
            with page.expect_response("**/settings/zone"):
                page.goto(f"{site.url}/help")
        else:
            page = person.open(site.path_of(site.link()))
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Board")
            expect(page.locator("#zone-offer")).to_have_count(0)

        assert site.make.value("select zone from humans where id = %s", site.human.id
                               ) == "Asia/Tokyo"


def test_a_secret_is_copied_and_the_focus_stays(visit: Start, site: Site) -> None:
    person = visit(site.url, permissions=["clipboard-read", "clipboard-write"])
    person.sign_in(site.session())
    page = person.open("/settings")
    page.get_by_label("Name of the token").fill("laptop")
    page.get_by_role("button", name="Create operator token").click()
    token = page.get_by_label("Operator token", exact=True).input_value()

    page.get_by_role("button", name="Copy operator token").click()

    expect(page.get_by_role("status").get_by_text("Copied")).to_be_visible()
    assert page.evaluate("() => navigator.clipboard.readText()") == token
    expect(page.locator("#token-copy")).to_be_focused()
    person.assert_clean()
