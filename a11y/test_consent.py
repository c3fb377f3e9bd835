"""The consent page by keyboard, without scripts, and the way back to an app in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from a11y.support.browser import Visit
from a11y.support.keys import Keys
from a11y.support.loopback import Door
from a11y.support.site import Site
from app.edge import headers
from tests.support import servers
from tests.support.servers import HttpCaller
from tests.web.asking import VERIFIER, App, app_called

Start = Callable[..., Visit]
SET = "set_admission_policy: create or change the budget of its queues"
WARNING = "These two let the agent change its own budget"


def registered(site: Site, door: Door) -> App:
    """An app at the door, known to the site."""
    return app_called(site.make, "Widget agent", door.uri, site.url)


def traded(site: Site, app: App, code: str) -> str:
    """The access token for a code."""
    answer = servers._http.request(
        "POST", f"{site.url}/oauth/token", encode_multipart=False,
        fields={"grant_type": "authorization_code", "code": code, "redirect_uri": app.uri,
                "client_id": app.client_id, "code_verifier": VERIFIER})  # fmt: skip
    assert answer.status == 200, answer.data
    return str(answer.json()["access_token"])


def opt_in(keys: Keys) -> None:
    """Ticks the verb that sets budgets; it was not ticked, and its warning goes with it."""
    box = keys.page.get_by_label(SET, exact=True)
    expect(box).not_to_be_checked()
    assert WARNING in (box.evaluate(
        "box => document.getElementById(box.getAttribute('aria-describedby')).textContent"))
    keys.tab_to(box)
    keys.page.keyboard.press("Space")
    expect(box).to_be_checked()


def choose(keys: Keys, label: str) -> None:
    """Tabs to the group, and goes down in it to the one of this label."""
    wanted = keys.page.get_by_label(label)
    keys.tab_to(keys.page.locator("#endpoint input").first)
    keys.page.keyboard.press("Space")
    for _ in range(keys.page.locator("#endpoint input").count()):
        if wanted.is_checked():
            return
        keys.page.keyboard.press("ArrowDown")
    raise AssertionError(f"the arrows do not reach {label}")


def vend_with_the_wizard(keys: Keys) -> str:
    """The credential of an endpoint that may set its budget."""
    keys.go("Endpoints")
    keys.go("Vend an endpoint")
    keys.type_in("Agent name", "night lane")
    for step in range(1, 6):
        if step == 3:
            opt_in(keys)
        keys.tab_to(keys.page.locator("main form button.primary").first)
        keys.press_enter()
    keys.press("Vend an endpoint for night lane")
    return keys.page.get_by_label("Credential", exact=True).input_value()


def sets_fifty(site: Site, token: str, slug: str) -> None:
    """The agent sets 50; the record names endpoint and person; no other queue is there for it."""
    agent: HttpCaller = servers.agent(site.url, token)
    fifty = {"max_claims_per_window": 50,
             "window": {"period": "day", "tz": "UTC", "start": "00:00"}}  # fmt: skip

    saved = agent.call("set_admission_policy", queue="inbox", policy=fifty)
    elsewhere = agent.call("set_admission_policy", queue="reviews", policy=fifty)

    assert saved.status == 200, saved.body
    assert (elsewhere.status, elsewhere.json["code"]) == (404, "not_found")
    assert site.make.rows(
        "select e.slug, h.display_name, a.after ->> 'max_claims_per_window'"
        " from admission_policy_audit a join endpoints e on e.id = a.actor_endpoint_id"
        " join humans h on h.id = a.actor_human_id where e.slug = %s order by a.id desc limit 1",
        slug
    ) == [(slug, "Ana", "50")]


@pytest.mark.req("REQ-10", "An owner opts an agent in")
def test_an_owner_opts_an_agent_in_by_wizard_and_by_consent_with_the_keyboard_alone(
    visit: Start, site: Site, door: Door
) -> None:
    person = visit(site.url, java_script_enabled=False, viewport={"width": 1000, "height": 600})
    app = registered(site, door)
    # Signed out: the app's address leads to the sign-in, and that leads back here.
    keys = Keys(person.open(app.asks(scope="claim_next set_admission_policy")))
    keys.expect_heading("Sign in")
    keys.page.goto(site.link())
    keys.press("Sign in")
    keys.expect_heading("Let Widget agent work as one of your endpoints?")

    keys.page.goto(site.url)
    sets_fifty(site, vend_with_the_wizard(keys), vended(site))

    keys.page.goto(site.url + app.asks(scope="claim_next set_admission_policy"))
    choose(keys, f"{vended(site)} (agent night lane), vended with verbs that change limits")
    opt_in(keys)
    keys.press("Allow Widget agent")
    site.make.run("update admission_policies set max_claims_per_window = 100"
                  " where max_claims_per_window = 50")
    sets_fifty(site, traded(site, app, door.wait()["code"]), vended(site))
    expect(keys.page.get_by_role("heading", level=1)).to_have_text("Back in the app")


def vended(site: Site) -> str:
    """The slug of the endpoint the wizard vended."""
    return str(site.make.value("select slug from endpoints where slug like 'night-lane-%%'"))


@pytest.mark.rule("design/accessibility.md V6")
def test_deny_and_allow_have_the_same_size_place_and_contrast(
    visit: Start, site: Site, door: Door
) -> None:
    person = visit(site.url)
    person.sign_in(site.session())
    page = person.open(registered(site, door).asks("/api"))

    deny, allow = page.locator("#deny"), page.locator("#allow")
    styles = [button.evaluate(
        "button => ['color', 'backgroundColor', 'borderColor', 'borderWidth', 'fontSize',"
        " 'fontWeight', 'padding', 'opacity'].map(name => getComputedStyle(button)[name])")
        for button in (deny, allow)]  # fmt: skip
    one, two = deny.bounding_box(), allow.bounding_box()

    assert one
    assert two
    assert styles[0] == styles[1]
    assert (one["width"], one["height"], one["y"]) == (two["width"], two["height"], two["y"])
    expect(deny).to_have_accessible_name("Deny Widget agent")
    expect(allow).to_have_accessible_name("Allow Widget agent")


@pytest.mark.rule("identity.md: Sessions and pages")
@pytest.mark.parametrize("scripts", ["scripts", "no scripts"])
def test_a_browser_goes_back_to_the_app_from_the_page_a_refused_one_and_an_old_one(
    visit: Start, site: Site, door: Door, scripts: str
) -> None:
    person = visit(site.url, java_script_enabled=scripts == "scripts")
    person.sign_in(site.session())
    page = person.open(registered(site, door).asks("/api"))

    page.locator("#allow").click()
    assert "code" in door.wait()

    page = opened(person, registered(site, door).asks())
    page.locator("#allow").click()
    expect(page.locator("#error-summary")).to_contain_text("Choose the endpoint it may work as.")
    page.get_by_label(site.world.lane.slug).check()
    page.locator("#allow").click()
    assert "code" in door.wait()

    page = opened(person, registered(site, door).asks("/api"))
    person.sign_in(site.session())
    page.locator("#allow").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Please send this again")
    page.get_by_role("button", name="Look at what the app asks for").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Let Widget agent act as you?")
    page.locator("#allow").click()
    assert "code" in door.wait()

    page = opened(person, registered(site, door).asks("/api"))
    page.locator("#deny").click()
    assert door.wait()["error"] == "access_denied"
    assert not door.has_more()


def test_without_its_own_policy_the_browser_would_not_go_back(
    visit: Start, site: Site, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(headers, "let_form_lead_to", lambda address: None)
    person = visit(site.url)
    person.sign_in(site.session())
    page = person.open(registered(site, door).asks("/api"))

    with page.expect_event("console", predicate=lambda said: "form-action" in said.text):
        page.locator("#allow").click()

    assert not door.has_more()


def test_a_double_click_on_allow_makes_one_code(visit: Start, site: Site, door: Door) -> None:
    person = visit(site.url)
    person.sign_in(site.session())
    page = person.open(registered(site, door).asks("/api"))

    page.locator("#allow").dblclick()

    assert "code" in door.wait()
    assert site.make.value("select count(*) from oauth_codes") == 1


def opened(person: Visit, path: str) -> Page:
    """A fresh tab on the consent page."""
    page = person.open(path)
    expect(page.locator("#allow")).to_be_visible()
    return page
