"""The one-time link, the session it starts, and the ways in and out."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from app.db.database import Database
from app.db.listener import Listener
from app.domain.tokens import hash_token
from app.edge.deps import EdgeConfig
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.limits import stop_refill
from tests.support.make import Make


def test_looking_at_a_live_link_shows_one_button_and_changes_nothing(
    client: FlaskClient, make: Make
) -> None:
    path = f"/auth/link/{make.login_link(make.human())}"

    pages = [client.get(path), client.head(path), client.get(path)]

    assert [page.status_code for page in pages] == [200, 200, 200]
    assert pages[0].text.count("<button") == 1
    assert "Set-Cookie" not in pages[0].headers
    assert make.value("select used_at from login_links") is None
    assert make.value("select count(*) from sessions") == 0


def test_posting_a_link_signs_in_once(client: FlaskClient, make: Make) -> None:
    path = f"/auth/link/{make.login_link(make.human('Ana'))}"

    first, second = client.post(path), client.post(path)

    assert (first.status_code, first.headers["Location"]) == (303, "/")
    assert second.status_code == 410
    assert "Signed in as Ana" in client.get("/").text
    assert make.value("select count(*) from sessions") == 1


def test_the_cookie_is_kept_from_scripts_and_other_sites(client: FlaskClient, make: Make) -> None:
    cookie = client.post(f"/auth/link/{make.login_link(make.human())}").headers["Set-Cookie"]

    parts = cookie.split("; ")
    assert parts[0].startswith("sb_session=")
    assert {"HttpOnly", "Path=/", "SameSite=Lax"} <= set(parts)
    assert "Secure" not in parts
    assert not any(part.startswith("Domain") for part in parts)
    token = parts[0].partition("=")[2]
    assert make.value("select token_hash from sessions") == hash_token(token)


def test_on_https_the_cookie_is_secure_and_tied_to_the_host(
    db: Database, listener: Listener, make: Make
) -> None:
    config = EdgeConfig(base_url="https://sb.example")
    client = create_app(config, db, listener).test_client()

    path = f"/auth/link/{make.login_link(make.human())}"
    signed_in = client.post(path, headers={"Origin": "https://sb.example"})

    parts = signed_in.headers["Set-Cookie"].split("; ")
    assert parts[0].startswith("__Host-sb_session=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(parts)


@pytest.mark.parametrize("spoil", ["used", "expired", "unknown"])
def test_a_dead_link_is_gone_whether_looked_at_or_posted(
    client: FlaskClient, make: Make, clock: Clock, spoil: str
) -> None:
    token = make.login_link(make.human())
    if spoil == "used":
        make.run("update login_links set used_at = clock()")
    if spoil == "expired":
        clock.advance(901)
    path = f"/auth/link/{'unknown' if spoil == 'unknown' else token}"

    for answer in (client.get(path), client.post(path)):
        assert answer.status_code == 410
        assert "switchboard admin login-url" in answer.text
        assert "Set-Cookie" not in answer.headers


def test_eight_posts_of_one_link_at_once_sign_in_once(app: Flask, make: Make) -> None:
    path = f"/auth/link/{make.login_link(make.human())}"
    start, statuses = threading.Barrier(8), []

    def post() -> None:
        client = app.test_client()
        start.wait()
        statuses.append(client.post(path).status_code)

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(statuses) == [303] + [410] * 7


@pytest.mark.parametrize(("headers", "status"), [
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 303),
    ({"Origin": "http://localhost"}, 303),
    ({}, 303),
])
def test_a_link_posted_from_another_site_is_refused_and_not_burnt(
    client: FlaskClient, make: Make, headers: dict[str, str], status: int
) -> None:
    path = f"/auth/link/{make.login_link(make.human())}"

    assert client.post(path, headers=headers).status_code == status
    assert (make.value("select used_at from login_links") is None) is (status == 403)


def test_a_link_works_in_a_browser_that_is_signed_in_already(
    browser: Callable[..., Browser], make: Make
) -> None:
    seat = browser(make.human("Ana"))
    path = f"/auth/link/{make.login_link(make.human('Ben'))}"

    assert seat.client.post(path).status_code == 303
    assert seat.client.post(path).status_code == 410
    assert "Signed in as Ben" in seat.get("/").text


def test_the_links_pages_keep_their_address_from_other_sites(
    client: FlaskClient, make: Make
) -> None:
    path = f"/auth/link/{make.login_link(make.human())}"

    for answer in (client.get(path), client.post(path), client.post(path)):
        assert answer.headers["Referrer-Policy"] == "same-origin"


def test_signing_out_ends_the_session_and_forgets_the_cookie(
    browser: Callable[..., Browser], make: Make
) -> None:
    seat = browser(make.human())

    left = seat.post("/logout")

    assert (left.status_code, left.headers["Location"]) == (303, "/")
    assert "Max-Age=0" in left.headers["Set-Cookie"]
    assert make.value("select count(*) from sessions") == 0


def test_signing_out_without_a_session_says_so(client: FlaskClient) -> None:
    assert client.post("/logout").status_code == 401
    assert client.get("/logout").status_code == 405


def test_the_sign_in_page_says_how_and_has_no_password(client: FlaskClient) -> None:
    page = client.get("/login")

    assert page.status_code == 200
    assert "switchboard admin login-url" in page.text
    assert "<input" not in page.text
    assert "development human" not in page.text


def test_someone_signed_in_is_sent_from_the_sign_in_page_to_the_board(
    browser: Callable[..., Browser], make: Make
) -> None:
    answer = browser(make.human()).get("/login")

    assert (answer.status_code, answer.headers["Location"]) == (302, "/")


def test_the_development_sign_in_is_unknown_unless_it_is_on(client: FlaskClient) -> None:
    assert client.post("/auth/dev-login").status_code == 404


def test_the_development_sign_in_is_one_fixed_human_and_warns(
    db: Database, listener: Listener, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    config = EdgeConfig(base_url="http://localhost", dev_login=True)
    client = create_app(config, db, listener).test_client()

    answers = [client.post("/auth/dev-login") for _ in range(2)]
    foreign = client.post("/auth/dev-login", headers={"Origin": "https://evil.example"})

    assert [answer.status_code for answer in answers] == [303, 303]
    assert foreign.status_code == 403
    assert make.value("select count(*) from humans") == 1
    assert "dev_login_used" in caplog.text
    assert "Signed in as developer" in client.get("/").text


def test_sign_in_routes_are_limited_by_address(app: Flask, client: FlaskClient) -> None:
    stop_refill(app)
    paths = ["/login", "/auth/link/x"] * 5

    answers = [client.get(path) for path in paths]
    limited = client.post("/logout")

    assert [answer.status_code for answer in answers] == [200, 410] * 5
    assert limited.status_code == 429
    assert limited.headers["Retry-After"] == "1"
    assert "Wait a second" in limited.text


def test_no_token_is_written_to_the_log(
    client: FlaskClient, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    token = make.login_link(make.human())

    with caplog.at_level("DEBUG"):
        cookie = client.post(f"/auth/link/{token}").headers["Set-Cookie"]
        client.get("/")

    assert token not in caplog.text
    assert cookie.split(";")[0].partition("=")[2] not in caplog.text
