"""Signing in through a provider that runs beside the test, and every way in which it can fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from psycopg_pool import PoolTimeout
from werkzeug.test import TestResponse

from app import create_app
from app.db.database import Database
from app.db.listener import Listener
from app.edge.deps import EdgeConfig, OidcConfig
from tests.support.client import BASE_URL, Browser, CheckingClient
from tests.support.clock import Clock
from tests.support.limits import stop_refill
from tests.support.make import Make
from tests.support.provider import CLIENT_ID, CLIENT_SECRET, REDIRECT, Provider, running
from tests.web.asking import app_called

COOKIE = "sb_oidc_state"


@pytest.fixture(scope="module")
def process() -> Iterator[Provider]:
    """The provider's process, one for all tests here."""
    with running() as provider:
        yield provider


@pytest.fixture
def provider(process: Provider) -> Provider:
    """The provider, honest again."""
    process.mood()
    return process


@pytest.fixture
def edge_config(provider: Provider) -> EdgeConfig:
    """A server whose people come through the provider."""
    return configured(provider)


def configured(provider: Provider, **changes: Any) -> EdgeConfig:
    """The configuration, with changes to its OIDC part."""
    oidc = {"issuer": provider.issuer, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET,
            "redirect_url": REDIRECT, "groups_claim": "groups", **changes}  # fmt: skip
    return EdgeConfig(base_url=BASE_URL, oidc=OidcConfig(**oidc))


def depart(client: FlaskClient, provider: Provider) -> str:
    """Begins a sign-in and lets the provider answer: the address it sends the browser to."""
    answer = client.get("/auth/login")
    assert answer.status_code == 302, answer.text
    back = urlsplit(provider.visit(answer.headers["Location"]))
    return f"{back.path}?{back.query}"


def sign_in(client: FlaskClient, provider: Provider) -> TestResponse:
    """The whole way."""
    return client.get(depart(client, provider))


def people(make: Make) -> int:
    """How many humans there are."""
    count = make.value("select count(*) from humans")
    assert isinstance(count, int)
    return count


def is_refused(answer: TestResponse, status: int, make: Make) -> bool:
    """A page that says so, no session, and the note dropped."""
    assert answer.status_code == status, answer.text
    assert "You were not signed in" in answer.text
    assert "sb_session" not in str(answer.headers.getlist("Set-Cookie"))
    assert make.value("select count(*) from sessions") == 0
    return True


def test_a_person_comes_in_and_is_the_human_of_issuer_and_subject(
    client: FlaskClient, provider: Provider, make: Make
) -> None:
    answer = sign_in(client, provider)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookies = answer.headers.getlist("Set-Cookie")
    assert any(c.startswith("sb_session=") and "HttpOnly" in c for c in cookies)
    assert any(c.startswith(f"{COOKIE}=;") and "Max-Age=0" in c for c in cookies)
    assert make.rows(
        "select oidc_issuer, oidc_subject, display_name, email, oidc_groups from humans"
    ) == [(provider.issuer, "ana-1", "Ana Ng", "ana@example.org", ["night", "day"])]
    assert make.rows("select issuer, provider_sub from sessions") == [(provider.issuer, "ana-1")]
    assert "Ana Ng" in client.get("/").text


def test_somebody_an_app_asks_for_comes_back_to_the_consent_page(
    client: FlaskClient, provider: Provider, make: Make
) -> None:
    path = app_called(make).asks("/api")
    assert client.get(path).headers["Location"] == "/login"

    answer = sign_in(client, provider)

    assert (answer.status_code, answer.headers["Location"]) == (303, path)
    assert "Let " in client.get(path).text


def test_the_way_there_asks_with_pkce_and_a_nonce_and_keeps_the_rest_sealed(
    client: FlaskClient, provider: Provider
) -> None:
    answer = client.get("/auth/login")

    url = urlsplit(answer.headers["Location"])
    asked = {name: texts[0] for name, texts in parse_qs(url.query).items()}
    assert f"{url.scheme}://{url.netloc}" == provider.issuer
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == REDIRECT
    assert asked["scope"] == "openid profile email"
    assert min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 43
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/auth", "Max-Age=600"} <= set(cookie.split("; "))
    assert not any(asked[name] in cookie for name in ("state", "nonce", "code_challenge"))
    again = client.get("/auth/login").headers["Location"]
    assert asked["state"] not in again
    assert asked["nonce"] not in again


def test_a_second_sign_in_is_the_same_human_with_the_groups_of_today(
    client: FlaskClient, provider: Provider, make: Make
) -> None:
    sign_in(client, provider)
    make.run("update humans set display_name = 'Ana the Great', zone = 'Asia/Tokyo'")
    provider.mood(claims={"groups": ["day"], "email": None, "name": "Ana N."})

    assert sign_in(client, provider).status_code == 303
    assert make.rows("select display_name, email, zone, oidc_groups from humans") == [
        ("Ana the Great", None, "Asia/Tokyo", ["day"])]
    provider.mood(claims={"groups": None})
    sign_in(client, provider)
    assert make.value("select oidc_groups from humans") == []


def test_nobody_is_recognised_by_an_email_address(
    client: FlaskClient, provider: Provider, make: Make
) -> None:
    make.human("Ana Ng", email="ana@example.org")
    sign_in(client, provider)
    provider.mood(claims={"sub": "ana-2"})
    sign_in(client, provider)

    assert people(make) == 3
    assert make.value("select count(*) from humans where email = 'ana@example.org'") == 3


def test_the_same_subject_of_another_issuer_is_another_human(
    client: FlaskClient, provider: Provider, make: Make
) -> None:
    make.human()
    make.run("update humans set oidc_issuer = 'https://other.example', oidc_subject = 'ana-1'")

    assert sign_in(client, provider).status_code == 303
    assert people(make) == 2


def test_two_first_sign_ins_at_once_make_one_human(
    app: Flask, provider: Provider, make: Make
) -> None:
    seats = [app.test_client() for _ in range(4)]
    ways = [depart(seat, provider) for seat in seats]
    start, statuses = threading.Barrier(4), []

    def arrive(seat: FlaskClient, way: str) -> None:
        start.wait()
        statuses.append(seat.get(way).status_code)

    threads = [threading.Thread(target=arrive, args=pair)
               for pair in zip(seats, ways, strict=True)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [303] * 4
    assert people(make) == 1


def test_a_suspended_human_is_refused_and_left_as_they_were(
    client: FlaskClient, provider: Provider, make: Make
) -> None:
    sign_in(client, provider)
    make.run("update humans set suspended_at = clock(); delete from sessions")
    provider.mood(claims={"groups": ["root"]})

    answer = sign_in(client, provider)

    assert is_refused(answer, 403, make)
    assert "suspended" in answer.text
    assert make.value("select oidc_groups from humans") == ["night", "day"]


@pytest.mark.parametrize(("enrollment", "allow", "claims", "status"), [
    ("open", (), {"email": None}, 303),
    ("allowlist", ("ana@example.org",), {"email": "Ana@Example.org"}, 303),
    ("allowlist", ("@example.org",), {}, 303),
    ("allowlist", ("@example.org",), {"email_verified": False}, 403),
    ("allowlist", ("@example.org",), {"email": "ana@sub.example.org"}, 403),
    ("allowlist", ("ben@example.org",), {}, 403),
    ("allowlist", ("@example.org",), {"email": None}, 403),
    ("invite", (), {}, 403),
])
def test_only_those_whom_the_enrollment_admits_come_in_for_the_first_time(
    provider: Provider, db: Database, listener: Listener, make: Make,
    enrollment: str, allow: tuple[str, ...], claims: dict[str, Any], status: int,
) -> None:
    config = configured(provider, enrollment=enrollment, allow=allow)
    client = create_app(config, db, listener).test_client()
    provider.mood(claims=claims)

    answer = sign_in(client, provider)

    assert answer.status_code == status
    assert people(make) == (1 if status == 303 else 0)


def test_an_enrollment_that_closes_later_keeps_nobody_out_who_is_in(
    client: FlaskClient, provider: Provider, db: Database, listener: Listener
) -> None:
    sign_in(client, provider)
    later = create_app(configured(provider, enrollment="invite"), db, listener).test_client()

    assert sign_in(later, provider).status_code == 303


def with_state(way: str, state: str) -> str:
    """The answer with another state."""
    url = urlsplit(way)
    return f"{url.path}?code={parse_qs(url.query)['code'][0]}&state={state}"


def is_to_another_question(answer: TestResponse, make: Make) -> bool:
    """Refused with 400, and the way back to the sign-in page."""
    assert 'href="/login"' in answer.text
    return is_refused(answer, 400, make)


@pytest.mark.parametrize("state", ["x" * 43, "", "%00", "%ff"])
def test_another_state_is_400_and_asks_the_provider_nothing(
    client: FlaskClient, provider: Provider, make: Make, state: str
) -> None:
    way = depart(client, provider)
    before = provider.counts().get("/token", 0)

    assert is_to_another_question(client.get(with_state(way, state)), make)
    assert provider.counts().get("/token", 0) == before


@pytest.mark.parametrize("cookie", [None, "", "made up", '{"state": "x"}', "enc:v1:AAAA", "\u00e9"])
def test_a_missing_or_made_up_cookie_is_400(
    client: FlaskClient, provider: Provider, make: Make, cookie: str | None
) -> None:
    way = depart(client, provider)
    client.delete_cookie(COOKIE, domain="localhost", path="/auth")
    if cookie is not None:
        client.set_cookie(COOKIE, cookie, domain="localhost", path="/auth")

    assert is_to_another_question(client.get(way), make)
    assert is_to_another_question(client.get("/auth/callback"), make)


def test_a_note_sealed_for_another_purpose_is_400(
    client: FlaskClient, provider: Provider, make: Make, db: Database
) -> None:
    note = db.sealer.seal('{"state": "x", "nonce": "x", "verifier": "x", "ends_at": 9e99}', "x")
    client.set_cookie(COOKIE, note, domain="localhost", path="/auth")

    assert is_to_another_question(client.get("/auth/callback?code=a&state=x"), make)


def test_an_answer_given_to_another_browser_is_400(
    app: Flask, client: FlaskClient, provider: Provider, make: Make
) -> None:
    way, other = depart(client, provider), app.test_client()
    depart(other, provider)

    assert is_to_another_question(other.get(way), make)


def test_a_note_is_good_for_ten_minutes(
    client: FlaskClient, provider: Provider, make: Make, clock: Clock
) -> None:
    way = depart(client, provider)
    clock.advance(601)

    assert is_to_another_question(client.get(way), make)


def test_an_answer_counts_once(client: FlaskClient, provider: Provider, make: Make) -> None:
    way = depart(client, provider)
    assert client.get(way).status_code == 303
    make.run("delete from sessions")

    assert is_to_another_question(client.get(way), make)


@pytest.mark.parametrize("nonce", ["another", "", None])
def test_a_token_with_another_nonce_is_400(
    client: FlaskClient, provider: Provider, make: Make, nonce: str | None
) -> None:
    provider.mood(claims={"nonce": nonce})

    assert is_refused(sign_in(client, provider), 400, make)


@pytest.mark.parametrize("mood", [
    {"answer": {"error": "access_denied", "error_description": "<b>no</b>"}},
    {"answer": {"nothing": "at all"}},
    {"answer": {"code": "of somebody else"}},
    {"answer": {"code": "x" * 5000}},
    {"token": [500, "down"]}, {"token": [200, "not json"]}, {"token": [200, "[]"]},
    {"token": [400, '{"error": "invalid_grant", "error_description": "<b>no</b>"}']},
    {"token": [302, "{}"]}, {"token": [200, "{}"]}, {"token": [200, "huge"]},
    {"token": [200, '{"access_token": 7, "id_token": 7}']},
    {"token_members": {"id_token": "a.b.c"}}, {"token_members": {"access_token": "another"}},
    {"sign": "none"}, {"sign": "rogue"}, {"sign": "shared"},
    {"claims": {"aud": "other"}}, {"claims": {"aud": ["switchboard", "other"]}},
    {"claims": {"azp": "other"}}, {"claims": {"iss": "https://other.example"}},
    {"claims": {"exp": 1}}, {"claims": {"sub": ""}}, {"clock": -3600}, {"clock": 3600},
], ids=str)
def test_a_failed_exchange_or_token_is_502_and_says_nothing_of_its_insides(
    client: FlaskClient, provider: Provider, make: Make, caplog: pytest.LogCaptureFixture,
    mood: dict[str, Any],
) -> None:
    provider.mood(**mood)

    answer = sign_in(client, provider)

    assert is_refused(answer, 502, make)
    assert people(make) == 0
    assert "<b>no" not in answer.text
    assert "oidc_sign_in_failed" in caplog.text
    assert CLIENT_SECRET not in caplog.text


@pytest.mark.parametrize("mood", [
    {"discovery": {"issuer": "https://other.example"}},
    {"discovery": {"token_endpoint": None}},
    {"discovery": {"authorization_endpoint": "javascript:alert(1)"}},
    {"discovery": {"jwks_uri": "file:///etc/passwd"}},
], ids=str)
def test_a_provider_that_describes_itself_wrongly_is_502_at_once(
    client: FlaskClient, provider: Provider, make: Make, mood: dict[str, Any]
) -> None:
    provider.mood(**mood)

    assert is_refused(client.get("/auth/login"), 502, make)


def test_a_silent_provider_is_given_up_and_a_moment_later_not_even_asked(
    app: Flask, provider: Provider, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.web.oidc_wire.SILENCE_SECONDS", 0.3)
    monkeypatch.setattr("app.web.oidc_provider.RETRY_SECONDS", 60.0)
    provider.mood(keys=[200, "silence"])
    first = sign_in(app.test_client(), provider)
    before = provider.counts()["/keys"]

    second = sign_in(app.test_client(), provider)

    assert is_refused(first, 502, make)
    assert is_refused(second, 502, make)
    assert provider.counts()["/keys"] == before


def test_a_provider_that_is_away_is_502_and_found_again_later(
    db: Database, listener: Listener, provider: Provider, make: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.web.oidc_provider.RETRY_SECONDS", 0.0)
    config = configured(provider)
    client = create_app(config, db, listener).test_client()
    provider.mood(discovery={"issuer": "away"})
    assert is_refused(client.get("/auth/login"), 502, make)

    provider.mood()

    assert sign_in(client, provider).status_code == 303


def test_what_the_provider_says_of_itself_is_asked_once_and_never_before_it_is_needed(
    app: Flask, provider: Provider
) -> None:
    before = provider.counts()
    app.test_client().get("/login")
    assert provider.counts() == {**before, "/counts": before["/counts"] + 1}

    for _ in range(3):
        sign_in(app.test_client(), provider)

    after = provider.counts()
    for path in ("/.well-known/openid-configuration", "/keys"):
        assert after[path] == before.get(path, 0) + 1


def test_a_new_key_of_the_provider_is_fetched_but_not_on_every_token(
    app: Flask, provider: Provider, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sign_in(app.test_client(), provider).status_code == 303
    provider.mood(new_key=True)
    before = provider.counts()["/keys"]

    too_soon = sign_in(app.test_client(), provider)
    assert (too_soon.status_code, provider.counts()["/keys"]) == (502, before)
    monkeypatch.setattr("app.web.oidc_provider.RENEW_SECONDS", 0.0)

    assert sign_in(app.test_client(), provider).status_code == 303
    assert provider.counts()["/keys"] == before + 1


def test_the_secret_travels_in_the_form_when_the_provider_wants_it_there(
    client: FlaskClient, provider: Provider
) -> None:
    methods = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    provider.mood(client="post", discovery=methods)

    assert sign_in(client, provider).status_code == 303


def test_a_client_without_a_secret_names_itself_and_shows_pkce(
    provider: Provider, db: Database, listener: Listener
) -> None:
    config = configured(provider, client_secret=None)
    client = create_app(config, db, listener).test_client()
    provider.mood(client="public")

    assert sign_in(client, provider).status_code == 303


def test_without_a_provider_both_routes_are_503_and_the_sign_in_page_says_nothing_of_it(
    db: Database, listener: Listener
) -> None:
    app = create_app(EdgeConfig(base_url=BASE_URL), db, listener)
    app.test_client_class = CheckingClient
    client = app.test_client()

    for path in ("/auth/login", "/auth/callback", "/auth/callback?code=a&state=b"):
        answer = client.get(path)
        assert answer.status_code == 503
        assert "not set up" in answer.text
    assert "/auth/login" not in client.get("/login").text


def test_the_sign_in_page_names_the_provider(client: FlaskClient) -> None:
    page = client.get("/login").text

    assert 'href="/auth/login"' in page
    assert "127.0.0.1" in page


def test_an_answer_sends_nobody_to_another_site(
    client: FlaskClient, provider: Provider
) -> None:
    way = depart(client, provider)

    answer = client.get(f"{way}&next=https://evil.example&redirect_uri=//evil.example&return_to=/x")

    assert answer.headers["Location"] == "/"


def test_a_store_failure_on_the_way_back_is_503_and_the_sign_in_may_be_tried_again(
    client: FlaskClient, provider: Provider, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = depart(client, provider)
    with monkeypatch.context() as patch:
        patch.setattr(db.pool, "getconn", _away)
        answer = client.get(way)

    assert answer.status_code == 503
    assert "Set-Cookie" not in answer.headers
    assert client.get(way).status_code == 303


def _away(*_: object, **__: object) -> None:
    raise PoolTimeout


def test_the_cookie_is_secure_where_people_come_by_https(
    provider: Provider, db: Database, listener: Listener
) -> None:
    oidc = configured(provider).oidc
    app = create_app(EdgeConfig(base_url="https://sb.example", oidc=oidc), db, listener)

    assert "Secure" in app.test_client().get("/auth/login").headers["Set-Cookie"].split("; ")


@pytest.mark.parametrize("path", ["/auth/login", "/auth/callback"])
def test_both_routes_are_limited_by_address_and_take_no_post(
    app: Flask, client: FlaskClient, path: str
) -> None:
    stop_refill(app)
    assert client.post(path).status_code == 405
    answers = [client.get(path).status_code for _ in range(11)]

    assert answers[-1] == 429
    assert 429 not in answers[:9]


def test_someone_signed_in_may_come_in_anew_as_somebody_else(
    browser: Callable[..., Browser], provider: Provider, make: Make
) -> None:
    seat = browser(make.human("Ben"))

    assert sign_in(seat.client, provider).status_code == 303
    assert "Ana Ng" in seat.get("/").text
