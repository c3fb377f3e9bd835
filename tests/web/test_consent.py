"""The consent page: who asks, what is ticked, the two answers, and what goes back to the app."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.db.database import Database
from app.domain.verbs import ADMISSION, BASICS, GRANTABLE
from app.web.vend_words import LIMITS_LEGEND, LIMITS_WARNING
from tests.support import page
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make
from tests.web.asking import CALLBACK, app_called

Browse = Callable[..., Browser]
ORIGIN = "http://127.0.0.1:43117"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    f"form-action 'self' {ORIGIN}; base-uri 'none'; frame-ancestors 'none'"
)


def ticked(answer: TestResponse) -> set[str]:
    """The values of the boxes that are checked."""
    return {box.get("value") or "" for box in page.parse(answer.text).all("input")
            if box.get("type") == "checkbox" and box.get("checked") is not None}


def boxes(answer: TestResponse) -> set[str]:
    """The values of all boxes."""
    return {box.get("value") or "" for box in page.parse(answer.text).all("input")
            if box.get("type") == "checkbox"}


def hidden(answer: TestResponse) -> dict[str, str]:
    """What the form of the page sends unseen."""
    return {box.get("name") or "": box.get("value") or ""
            for box in page.parse(answer.text).all("input")
            if box.get("type") == "hidden" and box.get("name") in ("act", "kind")}


def heading(answer: TestResponse) -> str:
    """The h1, without the marks that isolate user text."""
    return re.sub("[\u2066-\u2069]", "", page.parse(answer.text).all("h1")[0].text)


def said(answer: TestResponse) -> str:
    """The page's text without the marks that isolate user text."""
    return re.sub("[\u2066-\u2069]", "", html.unescape(answer.text))


def answered(answer: TestResponse) -> dict[str, str]:
    """What a redirect tells the app, once it is known to lead to it."""
    assert answer.status_code == 303, answer.text
    parts = urlsplit(answer.headers["Location"])
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == CALLBACK
    return {name: text for name, (text,) in parse_qs(parts.query).items()}


@pytest.mark.rule("identity.md: OAuth server")
def test_somebody_signed_out_signs_in_and_comes_back_to_what_was_asked(
    client: FlaskClient, make: Make
) -> None:
    path = app_called(make).asks("/api", state="a b&c=d")

    asked = client.get(path)
    note = asked.headers["Set-Cookie"]
    signed_in = client.post(f"/auth/link/{make.login_link(make.human('Ana'))}")

    assert (asked.status_code, asked.headers["Location"]) == (302, "/login")
    assert {"HttpOnly", "SameSite=Lax", "Path=/auth", "Max-Age=600"} <= set(note.split("; "))
    assert "a+b" not in note
    assert (signed_in.status_code, signed_in.headers["Location"]) == (303, path)
    assert "Let Widget agent act as you?" in heading(client.get(path))
    again = client.post(f"/auth/link/{make.login_link(make.human('Ben'))}")
    assert again.headers["Location"] == "/"


def test_nobody_who_is_signed_out_is_sent_on_to_an_app(client: FlaskClient, make: Make) -> None:
    app = app_called(make)

    asked = client.get(app.asks("/api", response_type="token"))

    assert (asked.status_code, asked.headers["Location"]) == (302, "/login")
    assert client.get(app.asks("/api", redirect_uri=f"{CALLBACK}/")).status_code == 400


@pytest.mark.parametrize("spoil", ["late", "forged", "another page"])
def test_a_note_of_where_to_come_back_leads_only_to_what_we_sealed_lately(
    client: FlaskClient, db: Database, make: Make, clock: Clock, spoil: str
) -> None:
    client.get(app_called(make).asks())
    if spoil == "late":
        clock.advance(601)
    else:
        text = '{"path": "//evil.example/oauth/authorize", "ends_at": 9e12}'
        note = text if spoil == "forged" else db.sealer.seal(text, "sb_come_back")
        client.set_cookie("sb_come_back", note, domain="localhost", path="/auth")

    signed_in = client.post(f"/auth/link/{make.login_link(make.human())}")

    assert (signed_in.status_code, signed_in.headers["Location"]) == (303, "/")


def test_an_app_that_would_act_as_the_person_says_so_and_its_name_is_not_believed(
    browser: Browse, make: Make
) -> None:
    app, seat = app_called(make, "Widget CLI <b>"), browser(make.human("Ana"))

    shown = seat.get(app.asks("/api"))

    assert heading(shown) == "Let Widget CLI <b> act as you?"
    assert "<b>" not in shown.text
    for words in ("127.0.0.1:43117", "Nobody has checked the app's name", "this computer", "Ana"):
        assert words in said(shown)
    assert not boxes(shown)
    assert shown.headers["Content-Security-Policy"] == POLICY

    told = answered(seat.post(app.asks("/api"), {"decision": "allow", **hidden(shown)}))
    assert set(told) == {"code", "state", "iss"}
    assert (told["state"], told["iss"]) == ("the state", "http://localhost")
    assert make.rows("select scope_verbs, endpoint_id from oauth_codes") == [(None, None)]


@pytest.mark.req("REQ-10", "By default an agent cannot raise its own ceiling")
@pytest.mark.parametrize("scope", [None, " ".join(GRANTABLE), "set_admission_policy claim"])
def test_what_changes_limits_is_never_ticked_whatever_was_asked(
    browser: Browse, make: Make, scope: str | None
) -> None:
    human = make.human()
    make.endpoint(human, verbs=GRANTABLE)
    app, seat = app_called(make), browser(human)

    shown = seat.get(app.asks(scope=scope))

    assert ticked(shown) == set((scope or " ".join(GRANTABLE)).split()) - set(ADMISSION)
    assert LIMITS_LEGEND in said(shown)
    assert LIMITS_WARNING in said(shown)
    warned = {box.get("value"): box.get("aria-describedby")
              for box in page.parse(shown.text).all("input") if box.get("name") == "limits"}
    assert warned
    assert set(warned.values()) == {"limits-warning"}


@pytest.mark.parametrize(("uri", "source"), [
    ("http://[::1]:43117/callback", "http://*:43117"), ("http://[::1]/callback", "http://*:80"),
    ("https://app.example/a/callback?x=1", "https://app.example"),
    ("http://localhost:43117/callback", "http://localhost:43117"),
    ("https://app.example;script-src/callback", None), ("https://a, b/callback", None),
    ("com.example.app:/callback", None), ("https://*.example/callback", None),
])
def test_the_page_lets_its_form_end_at_the_origin_of_the_app_and_nowhere_else(
    browser: Browse, make: Make, uri: str, source: str | None
) -> None:
    app = app_called(make, uri=uri)

    shown = browser(make.human()).get(app.asks("/api"))

    form_action = "form-action 'self'" + (f" {source}" if source else "")
    assert f"; {form_action};" in shown.headers["Content-Security-Policy"]


@pytest.mark.req("REQ-10", "By default an agent cannot raise its own ceiling")
def test_of_what_the_app_did_not_ask_for_only_the_limits_are_listed_and_unticked(
    browser: Browse, make: Make
) -> None:
    human = make.human()
    make.endpoint(human, verbs=GRANTABLE)

    shown = browser(human).get(app_called(make).asks(scope="claim_next complete"))

    assert boxes(shown) == {"claim_next", "complete", *ADMISSION}
    assert ticked(shown) == {"claim_next", "complete"}
    assert LIMITS_LEGEND in said(shown)


@pytest.mark.req("REQ-10", "By default an agent cannot raise its own ceiling")
def test_a_scope_never_grows_and_a_refused_form_ticks_no_limit(
    browser: Browse, make: Make
) -> None:
    human = make.human()
    plain = make.endpoint(human, name="lane m")
    app, seat = app_called(make), browser(human)
    sent = {"decision": "allow", "endpoint": str(plain.id), "drain": ["claim_next", "complete"],
            "limits": ["set_admission_policy"]}

    refused = seat.post(app.asks(), {**sent, **hidden(seat.get(app.asks()))})

    assert refused.status_code == 422
    assert (f"{plain.slug} was vended without set_admission_policy, and its scope never changes. To"
            " let an agent change its limits, vend another endpoint") in said(refused)
    assert ticked(refused) == {"claim_next", "complete"}
    assert refused.headers["Content-Security-Policy"] == POLICY
    assert make.value("select count(*) from oauth_codes") == 0

    allowed = seat.post(app.asks(), {**sent, "limits": [], **hidden(refused)})
    assert "code" in answered(allowed)
    assert make.value("select scope_verbs from oauth_codes") == ["claim_next", "complete"]


@pytest.mark.req("REQ-10", "An owner opts an agent in")
def test_an_owner_opts_an_endpoint_in_that_was_vended_for_it(browser: Browse, make: Make) -> None:
    human = make.human()
    lane = make.endpoint(human, verbs=(*BASICS, *ADMISSION))
    app, seat = app_called(make), browser(human)
    path = app.asks(f"/mcp/{lane.slug}")

    shown = seat.get(path)
    told = answered(seat.post(path, {"decision": "allow", "limits": ["set_admission_policy"],
                                     **hidden(shown)}))  # fmt: skip

    assert heading(shown) == f"Let Widget agent work as {lane.slug}?"
    assert "code" in told
    assert make.rows("select scope_verbs, endpoint_id from oauth_codes") == [
        (["set_admission_policy"], lane.id)]


@pytest.mark.rule("identity.md: Ownership")
def test_an_endpoint_of_another_is_none(browser: Browse, make: Make) -> None:
    human, other = make.human(), make.endpoint(make.human())
    make.endpoint(human, name="mine")
    app, seat = app_called(make), browser(human)
    act = hidden(seat.get(app.asks()))
    unknown = "00000000-0000-4000-8000-000000000000"

    pages = [seat.post(app.asks(), {"decision": "allow", "drain": ["claim"], "endpoint": chosen,
                                    **act}) for chosen in (str(other.id), unknown, "")]
    named = [answered(seat.get(app.asks(f"/mcp/{slug}"))) for slug in (other.slug, "no-such-1a2b")]

    assert [shown.status_code for shown in pages] == [422, 422, 422]
    assert len({re.sub(r'value="[0-9a-f-]{36}"', "", shown.text) for shown in pages}) == 1
    assert "Choose the endpoint it may work as." in said(pages[0])
    assert other.slug not in pages[0].text
    assert named[0] == named[1]
    assert named[0]["error"] == "invalid_target"


def test_the_two_answers_weigh_the_same_and_no_goes_back_too(browser: Browse, make: Make) -> None:
    app, seat = app_called(make), browser(make.human())
    shown = seat.get(app.asks("/api"))

    buttons = [each for each in page.parse(shown.text).all("button")
               if each.get("name") == "decision"]
    told = answered(seat.post(app.asks("/api"), {"decision": "deny"}))

    assert [each.get("value") for each in buttons] == ["deny", "allow"]
    assert [each.get("class") for each in buttons] == [None, None]
    assert (told["error"], told["state"], told["iss"]) == (
        "access_denied", "the state", "http://localhost")
    assert make.value("select count(*) from oauth_codes") == 0


def test_without_an_endpoint_there_is_nothing_to_allow(browser: Browse, make: Make) -> None:
    shown = browser(make.human()).get(app_called(make).asks())

    assert "You have no endpoint that it could work as." in said(shown)
    assert "/endpoints/vend/agent" in shown.text
    assert 'id="allow"' not in shown.text


@pytest.mark.rule("identity.md: OAuth server")
@pytest.mark.parametrize("wrong", [
    {"client_id": "nobody"}, {"client_id": None}, {"redirect_uri": None},
    {"redirect_uri": CALLBACK + "/"}, {"redirect_uri": CALLBACK[:-1]},
    {"redirect_uri": "http://127.0.0.1:43118/callback"},
    {"redirect_uri": "https://evil.example/callback"},
], ids=str)
def test_nothing_leads_to_an_address_that_was_not_registered(
    browser: Browse, client: FlaskClient, make: Make, wrong: dict[str, str | None]
) -> None:
    path, seat = app_called(make).asks("/api", **wrong), browser(make.human())

    answers = [client.get(path), seat.get(path), seat.post(path, {"decision": "allow"}),
               seat.post(path, {"decision": "deny"})]

    for answer in answers:
        assert answer.status_code == 400
        assert "Location" not in answer.headers
        assert "form-action 'self';" in answer.headers["Content-Security-Policy"]
        assert "evil.example" not in answer.text


@pytest.mark.parametrize(("wrong", "error"), [
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"code_challenge": None}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"resource": "http://localhost/elsewhere"}, "invalid_target"),
    ({"scope": "nothing known"}, "invalid_scope"),
], ids=str)
def test_a_fault_of_a_known_app_goes_back_to_it(
    browser: Browse, make: Make, wrong: dict[str, str | None], error: str
) -> None:
    path, seat = app_called(make).asks("/api", **wrong), browser(make.human())

    for answer in (seat.get(path), seat.post(path, {"decision": "allow"})):
        told = answered(answer)
        assert (told["error"], told["state"], told["iss"]) == (
            error, "the state", "http://localhost")


@pytest.mark.rule("design/accessibility.md E12")
def test_a_form_whose_session_or_token_is_over_keeps_the_choices_and_ticks_no_limit(
    browser: Browse, client: FlaskClient, make: Make
) -> None:
    human = make.human()
    lane = make.endpoint(human, verbs=GRANTABLE)
    seat, path = browser(human), app_called(make).asks(state="s p a c e")
    sent = {"decision": "allow", "endpoint": str(lane.id), "drain": ["claim"], "kind": "agent",
            "limits": [*ADMISSION], "act": "00000000-0000-4000-8000-000000000001"}  # fmt: skip

    out = client.post(path, data={**sent, "csrf_token": "old"})
    old = seat.post(path, {**sent, "csrf_token": "old"})

    for kept, status in ((out, 401), (old, 403)):
        assert kept.status_code == status
        assert kept.headers["Content-Security-Policy"] == POLICY
        assert ticked(kept) == {"claim"}
        assert str(lane.id) in kept.text
        assert 'value="allow"' not in kept.text
        assert "Look at what the app asks for" in said(kept)
        assert f'action="{html.escape(path)}"' in kept.text
        assert LIMITS_WARNING in said(kept)
    again = seat.post(path, {name: text for name, text in sent.items() if name != "decision"})
    assert again.status_code == 200
    assert heading(again) == heading(seat.get(path))
    assert [each.get("value") for each in page.parse(again.text).all("button")
            if each.get("name") == "decision"] == ["deny", "allow"]
    assert ticked(again) == {"claim"}
    assert make.value("select count(*) from oauth_codes") == 0


def test_a_double_click_on_allow_makes_one_code_and_a_used_one_leads_to_the_connected_apps(
    browser: Browse, make: Make
) -> None:
    app, seat = app_called(make), browser(make.human())
    path = app.asks("/api")
    sent = {"decision": "allow", **hidden(seat.get(path))}

    first, second = (answered(seat.post(path, sent)) for _ in range(2))
    assert first == second
    assert make.value("select count(*) from oauth_codes") == 1

    make.run("update oauth_codes set used_at = clock()")
    third = seat.post(path, sent)
    assert (third.status_code, third.headers["Location"]) == (303, "/settings/apps")
    other = answered(seat.post(path, {"decision": "allow", **hidden(seat.get(path))}))
    assert other["code"] != first["code"]
