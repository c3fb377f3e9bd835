"""The whole product by keyboard alone, without JavaScript, from signing in to signing out."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from a11y.support.browser import Visit
from a11y.support.keys import Keys
from a11y.support.site import Site

Start = Callable[..., Visit]


@pytest.fixture
def keys(visit: Start, site: Site) -> Keys:
    """Ana's keyboard, signed in with a one-time link, in a browser without scripts."""
    person = visit(site.url, java_script_enabled=False, viewport={"width": 1000, "height": 600})
    keys = Keys(person.open(site.path_of(site.link())))
    keys.press("Sign in")
    keys.expect_heading("Board")
    return keys


def test_a_budget_is_found_refused_previewed_saved_and_read(keys: Keys, site: Site) -> None:
    edit = f"q-{site.world.queues['investigations']}-edit"
    figures = keys.page.get_by_role("link", name=re.compile("Current figures for investigations"))
    keys.tab_to(figures)
    expect(figures).to_contain_text("100 of 100 used")
    keys.go("Edit budget for investigations")

    keys.expect_focus("max_in_flight")
    keys.type_in("Claims per window", "many")
    keys.press("Save budget for investigations")
    keys.expect_focus("error-summary")
    keys.tab_to(keys.page.locator("#error-summary a").first)
    keys.press_enter()
    keys.expect_focus("max_claims_per_window")
    keys.type_in("Claims per window", "150")
    keys.press("Preview budget for investigations")
    keys.expect_focus("preview")
    expect(keys.page.get_by_role("table")).to_contain_text("20 Jul 2026, 00:00 PT")
    keys.press("Save budget for investigations")

    keys.expect_heading("Board")
    keys.expect_focus(edit)
    expect(keys.page.locator("#main")).to_contain_text("100 of 150 used")
    keys.page.keyboard.press("Tab")
    keys.expect_focus(f"todo-{site.world.todos['alert 1']}-link")
    read_the_record(keys)


def read_the_record(keys: Keys) -> None:
    """From the board to the queue's page and its history."""
    keys.go("investigations")
    keys.go("The whole budget history of investigations")
    row = keys.page.get_by_role("row").nth(1)
    expect(row).to_contain_text("claims per window from 100 to 150")
    expect(row).to_contain_text("Ana")


def test_a_queue_is_paused_a_todo_discarded_in_it_and_the_queue_resumed(
    keys: Keys, site: Site
) -> None:
    keys.go("mail")
    keys.type_in("Reason for pausing mail", "The post office is closed.")
    keys.press("Pause mail")
    expect(keys.page.locator("#main")).to_contain_text("The post office is closed.")

    keys.go("Board")
    keys.go("Discard A todo for mail")
    keys.expect_heading("Discard A todo for mail")
    keys.press("Discard A todo for mail")
    assert site.make.row(site.world.todos["mail"])["state"] == "failed"

    keys.go("Board")
    keys.go("mail")
    keys.press("Resume mail")
    expect(keys.page.locator(".q-seen")).to_contain_text("80 of 100 used")


def test_a_todo_is_added_claimed_and_completed(keys: Keys, site: Site) -> None:
    keys.go("Add todo to reviews")
    keys.type_in("Title", "Read the statement")
    keys.type_in("Payload", '{"page": 7}')
    keys.press("Add todo to reviews")
    added = site.make.value("select id from todos where title = 'Read the statement'")
    assert added

    keys.page.goto(f"{site.url}/")
    keys.press("Claim Read the statement")
    assert site.make.row(str(added))["state"] == "claimed"
    keys.go("Read the statement")
    keys.type_in("Summary", "It is read.")
    keys.press("Complete Read the statement")
    assert site.make.row(str(added))["state"] == "done"


def test_an_endpoint_is_vended_and_its_webhook_rotated(keys: Keys, site: Site) -> None:
    keys.go("Endpoints")
    keys.go("Vend an endpoint")
    keys.type_in("Agent name", "night lane")
    for _ in range(5):
        keys.tab_to(keys.page.locator("main form button.primary").first)
        keys.press_enter()
    keys.expect_heading("Vend an endpoint: confirm (step 6 of 6)")
    keys.press("Vend an endpoint for night lane")
    credential = keys.page.get_by_label("Credential", exact=True)
    keys.tab_to(credential)
    assert credential.input_value().startswith("sbk_")

    before = site.make.rows("select ingest_token from endpoint_webhooks")
    keys.go("Webhooks")
    keys.go(re.compile("generic to inbox of night-lane"))
    keys.tab_to(keys.page.locator("#rotate"))
    keys.press_enter()
    keys.press("Replace the URL and secret now")
    keys.tab_to(keys.page.get_by_label("Webhook URL"))
    assert site.make.rows("select ingest_token from endpoint_webhooks") != before


def test_a_token_is_minted_and_the_session_ended(keys: Keys, site: Site) -> None:
    keys.go("Settings")
    keys.type_in("Name of the token", "work computer")
    keys.press("Create operator token")
    token = keys.page.get_by_label("Operator token", exact=True)
    keys.tab_to(token)
    assert token.input_value().startswith("sbo_")

    keys.press("Sign out")
    keys.expect_heading("Switchboard")
    expect(keys.page.get_by_role("link", name="How to sign in")).to_be_visible()
