"""Logging in through a browser: only with the server asked for, only with its own answer."""

from __future__ import annotations

import json
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.cli import Host, oauth_login
from app.cli.credentials import load, location
from app.cli.oauth_loopback import Loopback
from tests.cli.conftest import Cli
from tests.cli.fake import FakeServer, Reply
from tests.cli.fake_oauth import ME, OAuth, Person

YES = {"code": "c0de"}
PROTECTED = "/.well-known/oauth-protected-resource/api"


@pytest.fixture
def oauth(fake: FakeServer) -> OAuth:
    """The scripted server as an authorization server."""
    return OAuth(fake)


@pytest.fixture
def person(oauth: OAuth, monkeypatch: pytest.MonkeyPatch) -> Person:
    """A person who allows it, in the only browser there is."""
    made = Person(oauth, YES)
    monkeypatch.setattr(oauth_login, "browse", made.open)
    return made


def test_a_person_who_allows_it_is_logged_in(
    cli: Cli, oauth: OAuth, person: Person, host: Host
) -> None:
    before = time.time()

    ran = cli("login")

    url = oauth.fake.url
    assert (ran.code, ran.out) == (0, f"Logged in to {url} as Ada.\n")
    assert [(one.method, one.path) for one in oauth.fake.asked] == [
        ("GET", PROTECTED), ("GET", "/.well-known/oauth-authorization-server"),
        ("POST", "/oauth/register"), ("POST", "/oauth/token"), ("GET", "/api/v1/me"),
    ]  # fmt: skip
    back = person.asked["redirect_uri"]
    assert back == f"http://127.0.0.1:{urlsplit(back).port}/callback"
    registered = oauth.at("/oauth/register")[0].body
    assert registered["redirect_uris"] == [back]
    assert registered["token_endpoint_auth_method"] == "none"
    assert registered["grant_types"] == ["authorization_code", "refresh_token"]
    assert person.opened[0].startswith(f"{url}/oauth/authorize?")
    assert person.opened[0] in ran.err.splitlines()
    traded = oauth.at("/oauth/token")[0].body
    assert len(str(traded.pop("code_verifier"))) >= 43
    assert len(person.asked.pop("state")) >= 43
    assert len(person.asked.pop("code_challenge")) == 43
    assert person.asked == {
        "response_type": "code", "client_id": "client-1", "redirect_uri": back,
        "code_challenge_method": "S256", "resource": f"{url}/api",
    }  # fmt: skip
    assert traded == {"grant_type": "authorization_code", "code": "c0de", "redirect_uri": back,
                      "client_id": "client-1", "resource": f"{url}/api"}  # fmt: skip
    saved = json.loads(location(host).read_text())
    assert before + 3599 <= saved.pop("expires_at") <= time.time() + 3600
    assert saved == {
        "url": url, "token": "at_1", "refresh_token": "rt_1", "client_id": "client-1",
        "token_url": f"{url}/oauth/token", "revoke_url": f"{url}/oauth/revoke",
    }  # fmt: skip
    assert stat.S_IMODE(location(host).stat().st_mode) == 0o600
    for secret in ("at_1", "rt_1", "c0de"):
        assert secret not in ran.out + ran.err


def test_the_window_says_that_it_may_be_closed(cli: Cli, person: Person) -> None:
    cli("login")

    [(status, page)] = person.pages
    assert status == 200
    assert '<html lang="en">' in page
    assert "You may close this window." in page
    assert person.headers["Content-Security-Policy"] == "default-src 'none'"
    assert person.headers["Cache-Control"] == "no-store"
    assert "Python" not in str(person.headers)


def test_json_is_the_answer_about_the_person_alone(cli: Cli, person: Person) -> None:
    ran = cli("login", "--json")

    assert (ran.code, json.loads(ran.out)) == (0, ME)
    assert person.opened[0] in ran.err


def test_the_door_takes_one_answer_and_it_must_bear_our_state(
    cli: Cli, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent: list[socket.socket] = []

    def first() -> None:
        back = person.back()
        port = urlsplit(back).port or 0
        silent.append(socket.create_connection(("127.0.0.1", port)))  # says nothing at all
        person.visit(person.back(state="another"))
        person.visit(person.back(state="\u00e9"))
        person.visit(back.replace("/callback", "/"))
        person.visit(back.replace("/callback", "/callback/"))
        person.visit(f"{back}&code=second")
        person.visit(back.partition("?")[0])
        person.visit(back, Host=f"evil.example:{port}")
        person.visit(f"{back}&" + "&".join(f"n{number}=1" for number in range(30)))

    monkeypatch.setattr(person, "before", first)

    ran = cli("login")
    silent[0].close()

    assert ran.code == 0, ran.err
    assert [status for status, _ in person.pages] == [404] * 8 + [200]


def test_the_door_is_shut_once_it_was_answered() -> None:
    door = Loopback("state-1")
    target = "/callback?state=state-1&code=c"
    try:
        assert door.takes(target, door.authority) == {"state": "state-1", "code": "c"}
        assert door.takes(target, door.authority) is None
    finally:
        door.close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(door.redirect_uri).port or 0))


def test_a_person_who_denies_it_is_not_logged_in(
    cli: Cli, person: Person, oauth: OAuth, host: Host
) -> None:
    person.answer = {"error": "access_denied", "error_description": "No."}

    ran = cli("login")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith("Error: Access was denied in the browser; nobody is logged in.\n")
    assert (oauth.at("/oauth/token"), load(host)) == ([], None)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [({"error": "invalid_target", "error_description": "No such\x1b thing."},
      "refused the login: No such\\u001b thing."),
     ({"error": "server_error"}, "refused the login: server_error"),
     ({}, "refused the login: it sent no code")],
)  # fmt: skip
def test_another_refusal_is_told_in_its_own_words(
    answer: dict[str, str], sentence: str, cli: Cli, person: Person, oauth: OAuth
) -> None:
    person.answer = answer

    ran = cli("login")

    assert ran.code == 1
    assert sentence in ran.err
    assert oauth.at("/oauth/token") == []


@pytest.mark.parametrize("iss", [None, "", "https://evil.example", "http://127.0.0.1"])
def test_an_answer_of_another_issuer_is_not_taken(
    iss: str | None, cli: Cli, person: Person, oauth: OAuth, host: Host
) -> None:
    person.iss = iss

    ran = cli("login")

    assert (ran.code, ran.out) == (1, "")
    assert "is not of" in ran.err
    assert (oauth.at("/oauth/token"), load(host)) == ([], None)


def own(path: str) -> Callable[[str], str]:
    """A path on the server itself."""
    return lambda url: url + path


def other(address: str) -> Callable[[str], str]:
    """An address, whatever the server's is."""
    return lambda _: address


@pytest.mark.parametrize(
    ("where", "key", "value"),
    [
        ("protected", "resource", other("https://evil.example/api")),
        ("protected", "resource", own("/api/")),
        ("metadata", "issuer", other("https://evil.example")),
        ("metadata", "issuer", own("/")),
        ("metadata", "authorization_endpoint", other("https://evil.example/oauth/authorize")),
        ("metadata", "authorization_endpoint", lambda url: url.replace("http:", "https:")),
        ("metadata", "authorization_endpoint", lambda url: url.replace("://", "://ada@")),
        ("metadata", "authorization_endpoint", own("/a#b")),
        ("metadata", "authorization_endpoint", own("/a b")),
        ("metadata", "token_endpoint", lambda url: f"{url}0/oauth/token"),
        ("metadata", "registration_endpoint", other("http://127.0.0.1:1/oauth/register")),
        ("metadata", "revocation_endpoint", other("javascript:alert(1)")),
    ],
)  # fmt: skip
def test_whatever_is_not_of_the_server_itself_is_refused_before_anything_is_sent(
    where: str, key: str, value: Callable[[str], str], cli: Cli, person: Person, oauth: OAuth
) -> None:
    named = value(oauth.fake.url)
    getattr(oauth, where)[key] = named

    ran = cli("login")

    assert (ran.code, ran.out, person.opened) == (1, "", [])
    assert "another address" in ran.err
    assert {one.method for one in oauth.fake.asked} == {"GET"}


def test_an_authorization_server_elsewhere_is_not_even_asked(
    cli: Cli, person: Person, oauth: OAuth
) -> None:
    oauth.protected["authorization_servers"] = ["http://127.0.0.1:1"]

    ran = cli("login")

    assert (ran.code, person.opened) == (1, [])
    assert "sign in at http://127.0.0.1:1, which is another address" in ran.err
    assert len(oauth.fake.asked) == 1


def test_a_server_without_pkce_is_refused(cli: Cli, person: Person, oauth: OAuth) -> None:
    oauth.metadata["code_challenge_methods_supported"] = ["plain"]

    ran = cli("login")

    assert (ran.code, person.opened) == (1, [])
    assert "PKCE" in ran.err


def test_an_endpoint_that_is_not_named_is_a_sentence(
    cli: Cli, person: Person, oauth: OAuth
) -> None:
    told = oauth.changed["/.well-known/oauth-authorization-server"] = Reply(body={
        "issuer": oauth.fake.url, "code_challenge_methods_supported": ["S256"]})

    ran = cli("login")

    assert told.status == 200
    assert (ran.code, person.opened) == (1, [])
    assert "names no authorization endpoint" in ran.err


@pytest.mark.parametrize("address", ["http://board.example.org", "http://192.0.2.1:8080"])
def test_http_that_leaves_this_machine_is_refused(
    address: str, cli: Cli, person: Person
) -> None:
    ran = cli("login", address)

    assert (ran.code, ran.out, person.opened) == (1, "", [])
    assert "needs https" in ran.err


@pytest.mark.parametrize(
    ("path", "reply", "sentence"),
    [
        (PROTECTED, Reply(status=404, body={"error": "Not found."}), "--token-stdin"),
        (PROTECTED, Reply(status=503, body={"error": "Unavailable."}), "Unavailable."),
        (PROTECTED, Reply(text="<html>"), "is it Switchboard?"),
        ("/oauth/register", Reply(status=400, body={"error": "invalid_redirect_uri"}),
         "did not register this command: invalid_redirect_uri"),
        ("/oauth/register", Reply(status=201, body={}), "did not register this command"),
        ("/oauth/token", Reply(status=400, body={
            "error": "invalid_grant", "error_description": "The code is not known."}),
         "refused the login: The code is not known."),
        ("/oauth/token", Reply(body={"access_token": "at_1", "token_type": "mac"}),
         "without a usable token"),
        ("/oauth/token", Reply(body={"access_token": "a b", "token_type": "Bearer"}),
         "without a usable token"),
        ("/api/v1/me", Reply(status=503, body={"error": "Unavailable."}), "Unavailable."),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("person")
def test_a_server_that_refuses_on_the_way_logs_nobody_in(
    path: str, reply: Reply, sentence: str, cli: Cli, oauth: OAuth, host: Host
) -> None:
    oauth.changed[path] = reply

    ran = cli("login")

    assert (ran.code, ran.out) == (1, "")
    assert sentence in ran.err.splitlines()[-1]
    assert load(host) is None


def test_without_a_browser_only_the_address_is_printed_and_waiting_ends(
    cli: Cli, person: Person, oauth: OAuth, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_login, "WAIT_SECONDS", 0.05)

    ran = cli("login", "--no-browser")

    assert (ran.code, ran.out, person.opened) == (1, "", [])
    assert f"\n{oauth.fake.url}/oauth/authorize?" in ran.err
    assert "Nobody answered in the browser within" in ran.err
    assert load(host) is None


def test_a_machine_without_a_browser_says_so(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, oauth: OAuth, host: Host
) -> None:
    person = Person(oauth, YES)

    def none_here(address: str) -> bool:
        person.open(address)  # on another screen, by hand
        return False

    monkeypatch.setattr(oauth_login, "browse", none_here)

    assert cli("login").code == 0
    assert load(host) is not None


def test_what_a_browser_prints_is_not_in_the_answer(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "TERM"):  # no other browser to fall back on
        monkeypatch.delenv(name, raising=False)
    opened = {}
    for status in (0, 1):
        script = tmp_path / f"browser-{status}"
        script.write_text(f'#!/bin/sh\necho "opening $1"\nexit {status}\n')
        script.chmod(0o755)
        monkeypatch.setenv("BROWSER", str(script))
        opened[status] = oauth_login.browse("http://127.0.0.1/x?y=1&z=2")

    assert opened == {0: True, 1: False}
    assert capfd.readouterr() == ("", "opening http://127.0.0.1/x?y=1&z=2\n" * 2)


@pytest.mark.usefixtures("oauth", "person")
def test_an_interrupt_closes_the_door_and_is_no_trace(
    cli: Cli, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    doors: list[Loopback] = []

    def interrupted(door: Loopback, _seconds: float) -> None:
        doors.append(door)
        raise KeyboardInterrupt

    monkeypatch.setattr(Loopback, "wait", interrupted)

    ran = cli("login", "--no-browser")

    assert (ran.code, ran.out, load(host)) == (1, "", None)
    assert ran.err.endswith("Interrupted.\n")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(doors[0].redirect_uri).port or 0))
