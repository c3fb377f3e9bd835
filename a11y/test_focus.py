"""Where the focus is after each thing a person does, with scripts and without."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from a11y.support import say
from a11y.support.browser import Visit
from a11y.support.keys import Keys
from a11y.support.site import Site

Start = Callable[..., Visit]
WAYS = pytest.mark.parametrize("scripts", ["scripts", "no scripts"])


@WAYS
def test_the_editor_opens_on_its_first_field_and_comes_back_to_its_control(
    visit: Start, site: Site, scripts: str
) -> None:
    page = signed_in(visit, site, scripts)
    keys, edit = Keys(page), f"q-{site.world.queues['reviews']}-edit"
    page.locator(f"[id={edit}]").click()
    keys.expect_focus("max_in_flight")
    expect(page.get_by_role("form", name="Edit budget for reviews")).to_be_visible()

    page.get_by_role("link", name="Cancel").click()
    keys.expect_focus(edit)
    page.locator(f"[id={edit}]").click()
    page.get_by_label("In-flight cap").fill("6")
    page.get_by_role("button", name="Save budget").click()

    keys.expect_focus(edit)
    page.keyboard.press("Tab")
    keys.expect_focus(f"todo-{site.world.todos['reviews']}-link")


@WAYS
def test_a_refused_form_has_its_summary_focused_and_keeps_what_was_typed(
    visit: Start, site: Site, scripts: str
) -> None:
    page = signed_in(visit, site, scripts, f"{site.world.queue('reviews')}/budget")
    page.get_by_label("In-flight cap").fill("many")
    page.get_by_label("Zone").fill("Mars/Olympus")
    page.get_by_role("button", name="Save budget").click()

    Keys(page).expect_focus("error-summary")
    assert page.title().startswith("Error: Edit budget for reviews")
    assert page.locator("[autofocus]").count() == 1
    expect(page.locator("#error-summary [role=alert]")).to_contain_text("max_in_flight")
    for field, text in (("max_in_flight", "many"), ("tz", "Mars/Olympus")):
        control = page.locator(f"#{field}")
        expect(control).to_have_value(text)
        expect(control).to_have_attribute("aria-invalid", "true")
        expect(control).to_have_attribute("aria-describedby", f"{field}-hint {field}-error")
        assert page.locator(f"#error-summary a[href='#{field}']").count() == 1
    edge = page.locator("#tz").evaluate("field => getComputedStyle(field).borderTopColor")
    sound = page.locator("#start").evaluate("field => getComputedStyle(field).borderTopColor")
    assert edge != sound
    Keys(page).tab_to(page.locator("#error-summary a[href='#tz']"))
    page.keyboard.press("Enter")
    Keys(page).expect_focus("tz")


@WAYS
def test_enter_in_a_field_saves_and_never_clears(visit: Start, site: Site, scripts: str) -> None:
    page = signed_in(visit, site, scripts, f"{site.world.queue('reviews')}/budget")
    page.get_by_label("In-flight cap").fill("7")

    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Board")
    assert site.make.value("select max_in_flight from admission_policies where queue_id = %s",
                           int(site.world.queues["reviews"])) == 7


def test_what_was_saved_is_said_after_the_page_has_loaded(visit: Start, site: Site) -> None:
    person = visit(site.url)
    person.listen()
    person.sign_in(site.session())
    page = person.open(f"{site.world.queue('reviews')}/budget?from=board")
    page.get_by_label("In-flight cap").fill("6")

    page.get_by_role("button", name="Save budget").click()

    page.wait_for_url("**/#q-*")
    say.wait_for(page, "reviews")
    (said,) = say.heard(page, region="said")
    assert "reviews" in said.said
    assert said.flags == ()


@WAYS
def test_an_expired_session_keeps_the_form_through_sign_in_and_old_token(
    visit: Start, site: Site, scripts: str
) -> None:
    page = signed_in(visit, site, scripts, f"{site.world.queue('reviews')}/budget")
    page.get_by_label("In-flight cap").fill("8")
    page.get_by_label("Reason").fill("Typed for an hour.")
    page.context.clear_cookies()

    page.get_by_role("button", name="Save budget").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your session has ended")
    expect(page.locator("#error-summary")).to_be_focused()
    expect(page.get_by_label("In-flight cap")).to_have_value("8")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Sign in (opens a new tab)").click()
    opened.value.close()
    page.context.add_cookies([{"name": "sb_session", "value": site.session(), "url": site.url}])

    page.get_by_role("button", name="Save budget").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Please send this again")
    expect(page.locator("#error-summary")).to_be_focused()
    expect(page.get_by_label("Reason")).to_have_value("Typed for an hour.")
    page.get_by_role("button", name="Save budget").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Board")
    assert site.make.value("select max_in_flight from admission_policies where queue_id = %s",
                           int(site.world.queues["reviews"])) == 8


@WAYS
def test_a_refused_claim_and_a_stale_edit_are_shown(
    visit: Start, site: Site, scripts: str
) -> None:
    page = signed_in(visit, site, scripts)
    page.get_by_role("button", name="Claim Look into alert 1", exact=True).click()
    expect(page.locator("main")).to_contain_text("deferred · budget · eligible 00:00 PT")
    expect(page.locator(".summary")).to_be_focused()

    page.goto(f"{site.url}{site.world.queue('reviews')}/budget")
    site.make.run("update admission_policies set revision = revision + 1, max_in_flight = 9"
                  " where queue_id = %s", int(site.world.queues["reviews"]))
    page.get_by_label("In-flight cap").fill("7")
    page.get_by_role("button", name="Save budget").click()
    expect(page.get_by_role("heading", name="Both versions")).to_be_visible()
    expect(page.get_by_label("In-flight cap")).to_have_value("7")
    expect(page.locator("#error-summary")).to_be_focused()


def signed_in(visit: Start, site: Site, scripts: str, path: str = "/") -> Page:
    """A page as the site's person sees it, with scripts or without."""
    person = visit(site.url, java_script_enabled=scripts == "scripts")
    person.sign_in(site.session())
    return person.open(path)
