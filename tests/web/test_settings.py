"""Settings: how pages look and speak, operator tokens, and a link for another device."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from app.db.database import Database
from app.db.listener import Listener
from app.domain.tokens import hash_token
from app.edge.deps import EdgeConfig
from app.reads import tokens
from app.transactions import pruning
from app.transactions.pruning import Retention
from tests.support.client import Browser, Caller
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.page import Page, parse

Start = Callable[..., Browser]
GOOD = {"zone": "Europe/Berlin", "theme": "dark", "announce": "status_only"}


def value_of(markup: str, id_: str) -> str:
    """The value of the control with this id."""
    return next(element.attributes["value"] for element in parse(markup).elements
                if element.get("id") == id_)


def checked(page: Page, name: str) -> list[str]:
    """The values of the checked radio buttons of this name."""
    return [element.attributes["value"] for element in page.all("input")
            if element.get("name") == name and element.get("checked") is not None]


def text_of(markup: str, id_: str) -> str:
    """The text inside the element with this id."""
    return next(" ".join(element.text.split()) for element in parse(markup).elements
                if element.get("id") == id_)


def test_settings_show_what_holds_now(browser: Start, make: Make) -> None:
    ana = make.human()
    make.run("update humans set zone = 'Asia/Tokyo', announce = 'status_only'")

    answer = browser(ana).get("/settings")
    page = parse(answer.text)

    assert value_of(answer.text, "zone") == "Asia/Tokyo"
    assert (checked(page, "theme"), checked(page, "announce")) == (["system"], ["status_only"])
    assert '<option value="America/Los_Angeles">' in answer.text
    assert "You have no operator token." in answer.text
    assert not [element for element in page.elements if element.get("autofocus") is not None]


def test_saved_settings_hold_from_the_next_page_on_and_it_says_so_once(
    browser: Start, make: Make
) -> None:
    ana, ben = make.human(), make.human()
    seat = browser(ana)

    saved = seat.post("/settings/preferences", {**GOOD, "zone": "  Europe/Berlin "})
    first, second = seat.get("/settings").text, seat.get("/settings").text

    assert (saved.status_code, saved.headers["Location"]) == (303, "/settings#save-settings")
    assert text_of(first, "said") == "Settings saved."
    assert text_of(second, "said") == ""
    assert 'data-theme="dark"' in first
    assert make.value("select array[zone, theme, announce] from humans where id = %s", ana.id) == [
        "Europe/Berlin", "dark", "status_only"]
    assert make.value("select zone from humans where id = %s", ben.id) is None


def test_another_server_says_what_was_done_here(
    edge_config: EdgeConfig, db: Database, listener: Listener, browser: Start, make: Make
) -> None:
    seat = browser(make.human())
    seat.post("/settings/preferences", GOOD)
    other = create_app(edge_config, db, listener).test_client()
    other.set_cookie("sb_session", seat.session, domain="localhost")

    said = [text_of(client.get("/settings").text, "said") for client in (other, seat.client)]

    assert said == ["Settings saved.", ""]


def test_an_empty_zone_is_utc_from_then_on(browser: Start, make: Make) -> None:
    seat = browser(make.human())

    seat.post("/settings/preferences", {**GOOD, "zone": " "})
    seat.post("/settings/zone", {"zone": "Europe/Berlin"})

    assert make.value("select zone from humans") == "UTC"


@pytest.mark.parametrize(("typed", "said"), [
    ("Mars/Olympus", "Write one like Europe/Berlin."),
    ("europe/berlin", "Did you mean Europe/Berlin?"),
    ("New York", "Did you mean America/New_York?"),
    ("PST", "Did you mean America/Los_Angeles?"),
    ("<b>", "Write one like"),
    ("../../etc/passwd", "is not a known zone."),
])
def test_an_unknown_zone_is_refused_with_a_suggestion_and_nothing_is_saved(
    browser: Start, make: Make, typed: str, said: str
) -> None:
    answer = browser(make.human()).post("/settings/preferences", {**GOOD, "zone": typed})
    page = parse(answer.text)
    field = next(element for element in page.elements if element.get("id") == "zone")

    assert answer.status_code == 422
    assert page.all("title")[0].text == "Error: Settings - Switchboard"
    summary = next(element for element in page.elements if element.get("id") == "error-summary")
    assert (summary.get("autofocus"), summary.get("tabindex")) == ("", "-1")
    assert any(link.get("href") == "#zone" and said in link.text and summary in link.inside
               for link in page.all("a"))
    assert (field.get("value"), field.get("aria-invalid")) == (typed, "true")
    assert field.get("aria-describedby") == "zone-hint zone-error"
    assert said in text_of(answer.text, "zone-error")
    assert checked(page, "theme") == ["dark"]
    assert make.value("select theme from humans") == "system"


@pytest.mark.parametrize("spoilt", ["theme", "announce"])
def test_a_choice_that_is_none_is_refused_in_words(
    browser: Start, make: Make, spoilt: str
) -> None:
    answer = browser(make.human()).post("/settings/preferences", {**GOOD, spoilt: "none"})

    assert answer.status_code == 422
    assert "choose one of the options." in text_of(answer.text, f"{spoilt}-error")
    assert f'href="#{spoilt}-0"' in answer.text
    assert make.value("select announce from humans") == "counts_and_status"


def test_the_browsers_zone_is_taken_once_and_never_replaces_a_choice(
    browser: Start, make: Make
) -> None:
    ana, ben = make.human(), make.human()
    seat = browser(ana)
    assert 'id="zone-offer"' in seat.get("/").text

    answers = [seat.post("/settings/zone", {"zone": zone}).status_code
               for zone in ("Mars/Olympus", "Asia/Tokyo", "Europe/Berlin")]

    assert answers == [204] * 3
    assert make.value("select zone from humans where id = %s", ana.id) == "Asia/Tokyo"
    assert make.value("select zone from humans where id = %s", ben.id) is None
    assert 'id="zone-offer"' not in seat.get("/").text


def test_the_first_sign_in_brings_the_browsers_zone_with_its_form(
    app: Flask, client: FlaskClient, make: Make
) -> None:
    ana = make.human()
    assert "data-browser-zone" in client.get(f"/auth/link/{make.login_link(ana)}").text

    for zone in ("", "Mars/Olympus", "Asia/Tokyo", "Europe/Berlin"):
        signed_in = app.test_client().post(f"/auth/link/{make.login_link(ana)}",
                                           data={"zone": zone})
        assert signed_in.status_code == 303

    assert make.value("select zone from humans") == "Asia/Tokyo"


def test_a_minted_token_is_shown_once_and_opens_the_api(
    app: Flask, browser: Start, make: Make
) -> None:
    ana = make.human("Ana")
    seat = browser(ana)

    shown = seat.post("/settings/tokens", {"name": " laptop "})
    token = value_of(shown.text, "token")
    after = seat.get("/settings").text

    assert token.startswith("sbo_")
    assert "the only time the token is shown" in shown.text
    assert token not in after
    assert 'revoke">Revoke operator token laptop</a>' in after
    assert hash_token(token) == make.value("select token_hash from oauth_tokens")
    assert Caller(app.test_client(), token, "/api/v1").get("/me").json["display_name"] == "Ana"


def test_a_form_sent_twice_mints_one_token_and_shows_it_twice(
    browser: Callable[..., Browser], make: Make
) -> None:
    seat = browser(make.human())
    form: dict[str, object] = {"name": "laptop", "once": "a form that was opened"}

    first, second = (seat.post("/settings/tokens", form) for _ in range(2))

    tokens = [re.findall(r"sbo_[\w-]{43}", page.text)[0] for page in (first, second)]
    assert tokens[0] == tokens[1]
    assert make.value("select count(*) from oauth_tokens where human_id is not null") == 1


def test_a_form_sent_again_after_its_token_was_revoked_shows_nothing(
    browser: Callable[..., Browser], make: Make
) -> None:
    seat = browser(make.human())
    form: dict[str, object] = {"name": "laptop", "once": "a form that was opened"}
    seat.post("/settings/tokens", form)
    make.run("update oauth_tokens set revoked_at = clock()")

    again = seat.post("/settings/tokens", form)

    assert (again.status_code, "sbo_" in again.text) == (404, False)


def test_a_form_for_a_link_sent_twice_makes_one_and_shows_it_twice_until_it_is_used(
    app: Flask, browser: Start, make: Make
) -> None:
    seat, other = browser(make.human("Ana")), app.test_client()
    shown = parse(seat.get("/settings").text)
    act = next(each for each in shown.all("form") if each.get("action") == "/settings/device")
    form = {str(each.get("name")): str(each.get("value")) for each in shown.all("input")
            if act in each.inside and each.get("name") != "csrf_token"}  # fmt: skip

    links = [value_of(seat.post("/settings/device", form).text, "link") for _ in range(2)]
    fresh = value_of(seat.post("/settings/device", {"once": "another form opened"}).text, "link")
    used = other.post(links[0].removeprefix("http://localhost"))
    late = seat.post("/settings/device", form)
    told = seat.get("/settings").text

    assert links[0] == links[1] != fresh
    assert make.value("select count(*) from login_links") == 2
    assert used.status_code == 303
    assert (late.status_code, late.headers["Location"]) == (303, "/settings#make-link")
    assert "That link was used or has expired. Make another." in told


@pytest.mark.parametrize("thing", ["tokens", "device"])
def test_what_a_form_made_is_not_made_again_after_it_was_pruned(
    browser: Start, db: Database, make: Make, thing: str
) -> None:
    """The secret of a form is derived: a row that is forgotten too early would bring it back."""
    seat = browser(make.human())
    form: dict[str, object] = {"name": "laptop", "once": "a form that was opened"}
    path = f"/settings/{thing}"
    assert seat.post(path, form).status_code == 200
    make.run("update oauth_tokens set revoked_at = clock()")
    make.run("update login_links set used_at = clock()")

    pruning.prune(db, Retention())
    again = seat.post(path, form)

    assert again.status_code in (303, 404)
    assert make.value("select count(*) from oauth_tokens where revoked_at is null") == 0
    assert make.value("select count(*) from login_links where used_at is null") == 0


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\tb"])
def test_a_token_without_a_usable_name_is_not_minted(
    browser: Start, make: Make, name: str
) -> None:
    answer = browser(make.human()).post("/settings/tokens", {"name": name})

    assert answer.status_code == 422
    assert "use 1 to 100 characters" in text_of(answer.text, "token-name-error")
    assert value_of(answer.text, "token-name") == name
    assert 'href="#token-name"' in answer.text
    assert make.value("select count(*) from oauth_tokens") == 0


def test_the_list_says_when_each_token_was_made_and_used_newest_first(
    browser: Start, make: Make, clock: Clock
) -> None:
    ana = make.human()
    make.run("update humans set zone = 'Asia/Tokyo'")
    clock.set("2026-10-01T12:00:00Z")
    make.operator_token(ana, name="old")
    make.run("update oauth_tokens set last_used_at = clock() + interval '1 hour'")
    clock.set("2026-10-02T12:00:00Z")
    make.operator_token(ana, name="new")
    make.operator_token(make.human(), name="of-another")
    gone = make.operator_token(ana, name="revoked")
    make.run("update oauth_tokens set revoked_at = clock() where token_hash = %s", hash_token(gone))

    page = browser(ana).get("/settings").text

    assert re.findall(r'<th scope="row">([^<]+)</th>', page) == ["new", "old"]
    assert page.index("2 Oct 2026, 21:00 JST") < page.index("1 Oct 2026, 22:00 JST")
    assert "of-another" not in page
    assert "never" in page


def test_a_hundred_tokens_are_listed_and_the_rest_is_counted(
    browser: Start, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MOST_SHOWN", 2)
    ana = make.human()
    for name in ("a", "b", "c"):
        make.operator_token(ana, name=name)

    page = browser(ana).get("/settings").text

    assert page.count('<th scope="row">') == 2
    assert "There are 1 older ones." in page


def test_a_token_is_revoked_after_its_name_was_read_again(
    app: Flask, browser: Start, make: Make
) -> None:
    ana = make.human()
    token = make.operator_token(ana, name="laptop")
    caller = Caller(app.test_client(), token, "/api/v1")
    path = f"/settings/tokens/{hash_token(token)}/revoke"
    seat = browser(ana)

    asked = seat.get(path)
    assert caller.get("/me").status_code == 200
    revoked = seat.post(path)

    assert "<h1 id=\"heading\">Revoke operator token laptop</h1>" in asked.text
    assert (revoked.status_code, revoked.headers["Location"]) == (303, "/settings#tokens")
    assert caller.get("/me").status_code == 401
    assert "Operator token laptop revoked." in text_of(seat.get("/settings").text, "said")
    assert (seat.get(path).status_code, seat.post(path).status_code) == (404, 404)


def test_the_token_of_another_is_like_one_that_never_was(browser: Start, make: Make) -> None:
    theirs = make.operator_token(make.human())
    seat = browser(make.human())
    paths = [f"/settings/tokens/{id_}/revoke" for id_ in (hash_token(theirs), "0" * 64)]

    looks = [seat.get(path) for path in paths]
    posts = [seat.post(path) for path in paths]

    assert [answer.status_code for answer in looks + posts] == [404] * 4
    assert looks[0].data == looks[1].data
    assert make.value("select revoked_at from oauth_tokens") is None


def test_a_link_for_another_device_signs_it_in_as_the_same_person_once(
    app: Flask, browser: Start, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    seat = browser(make.human("Ana"))
    with caplog.at_level("DEBUG"):
        page = seat.post("/settings/device").text
    link = value_of(page, "link")
    path = link.removeprefix("http://localhost")
    other = app.test_client()

    signed_in, again = other.post(path), other.post(path)

    assert "/auth/link/" in path
    assert (signed_in.status_code, again.status_code) == (303, 410)
    assert "Signed in as Ana" in other.get("/").text
    assert path.rpartition("/")[2] not in caplog.text
    assert "within 15 minutes" in page


def test_settings_are_for_those_who_are_signed_in(client: FlaskClient) -> None:
    looked = client.get("/settings")
    asked = client.get("/settings", headers={"HX-Request": "true"})
    posted = [client.post(f"/settings/{path}") for path in ("preferences", "tokens", "device")]

    assert (looked.status_code, looked.headers["Location"]) == (302, "/login")
    assert (asked.status_code, asked.headers["HX-Redirect"]) == (200, "/login")
    assert [answer.status_code for answer in posted] == [401] * 3


def test_a_session_used_every_few_hours_stays_signed_in_for_days_and_ends_after_12_idle_hours(
    browser: Start, make: Make, clock: Clock
) -> None:
    clock.set("2026-10-01T12:00:00Z")
    idle, busy = browser(make.human()), browser(make.human())

    for hours in range(11, 5 * 24, 11):
        clock.set(_after(hours))
        assert busy.get("/settings").status_code == 200
    clock.set(_after(hours + 12))

    assert busy.get("/settings").status_code == 302
    assert idle.get("/settings").status_code == 302


def test_a_session_ends_thirty_days_after_sign_in_however_often_it_is_used(
    browser: Start, make: Make, clock: Clock
) -> None:
    clock.set("2026-10-01T12:00:00Z")
    seat = browser(make.human())

    for hours in range(11, 30 * 24, 11):
        clock.set(_after(hours))
        assert seat.get("/settings").status_code == 200
    clock.set(_after(30 * 24))

    assert seat.get("/settings").status_code == 302


def _after(hours: int) -> datetime:
    return datetime(2026, 10, 1, 12, tzinfo=UTC) + timedelta(hours=hours)
