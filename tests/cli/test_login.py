"""Logging in and out: one call to check, one file to remember, one call to revoke."""

from __future__ import annotations

import json

import pytest

from app.cli import Host
from app.cli.credentials import Credentials, load, location
from tests.cli.conftest import Cli
from tests.cli.fake import Asked, FakeServer, Reply, ok, refused

ME = {
    "human_id": "7c1e", "display_name": "Ada", "email": None,
    "token": {"name": "laptop", "kind": "operator", "created_at": "x", "last_used_at": None},
}  # fmt: skip


def known(asked: Asked) -> Reply | None:
    if asked.headers.get("Authorization") not in ("Bearer sbo_good", "Bearer sbo_saved"):
        return refused(401, "unauthenticated", "A valid credential is required.")
    return {"/api/v1/me": ok(**ME), "/api/v1/token": ok(revoked=True)}.get(asked.path)


def test_login_checks_the_token_with_one_call_and_remembers_it(
    cli: Cli, fake: FakeServer, host: Host
) -> None:
    fake.script = known

    ran = cli("login", "--token-stdin", stdin="sbo_good\n")

    assert (ran.code, ran.out) == (0, f"Logged in to {fake.url} as Ada.\n")
    assert "sbo_good" not in ran.out + ran.err
    assert [(one.method, one.path) for one in fake.asked] == [("GET", "/api/v1/me")]
    assert load(host) == Credentials(url=fake.url, token="sbo_good")


def test_login_takes_a_url(cli: Cli, fake: FakeServer, host: Host) -> None:
    fake.script = known

    ran = cli("login", fake.url + "/", "--token-stdin", stdin="sbo_good", default_url="http://x")

    assert ran.code == 0
    assert load(host) == Credentials(url=fake.url, token="sbo_good")


@pytest.mark.parametrize(
    ("stdin", "code", "sentence"),
    [
        ("", 2, "no token"), ("\n", 2, "no token"), ("sbk_x\n", 1, "endpoint's credential"),
        ("two words\n", 1, "not a token"), ("x" * 5000, 1, "not a token"),
        ("sbo_wrong\n", 1, "A valid credential is required."),
    ],
)  # fmt: skip
def test_a_token_that_will_not_do_is_not_remembered(
    stdin: str, code: int, sentence: str, cli: Cli, fake: FakeServer, host: Host
) -> None:
    fake.script = known

    ran = cli("login", "--token-stdin", stdin=stdin)

    assert (ran.code, ran.out) == (code, "")
    assert sentence in ran.err
    assert load(host) is None


def test_login_at_no_url_is_usage(cli: Cli) -> None:
    ran = cli("login", "ftp://x", "--token-stdin", stdin="sbo_good")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: switchboard login")


@pytest.mark.usefixtures("logged_in")
def test_status_says_who_and_where(cli: Cli, fake: FakeServer) -> None:
    fake.script = known

    ran = cli("status")

    assert ran.code == 0
    assert fake.url in ran.out
    assert "Ada" in ran.out
    assert json.loads(cli("status", "--json").out) == ME


@pytest.mark.parametrize(
    "words",
    [("status",), ("endpoints",), ("todo", "list"), ("todo", "discard", "td_1"),
     ("endpoint", "revoke", "x"), ("webhook", "routes", "w")],
)  # fmt: skip
def test_not_logged_in_is_one_before_anything_is_asked(words: tuple[str, ...], cli: Cli) -> None:
    ran, told = cli(*words), cli(*words, "--json")

    assert (ran.code, ran.out) == (told.code, told.out) == (1, "")
    assert ran.err == "Error: Not logged in; use `switchboard login`.\n"
    assert json.loads(told.err) == {
        "error": "Not logged in; use `switchboard login`.", "code": "unauthenticated"}


@pytest.mark.usefixtures("logged_in")
def test_a_server_out_of_reach_is_one_and_a_sentence(cli: Cli, fake: FakeServer) -> None:
    fake.close()

    ran = cli("status")

    assert (ran.code, ran.out, ran.err) == (1, "", f"Error: No server answers at {fake.url}.\n")


@pytest.mark.usefixtures("logged_in")
def test_logout_revokes_the_token_and_forgets_it(cli: Cli, fake: FakeServer, host: Host) -> None:
    fake.script = known

    ran = cli("logout")

    assert ran.code == 0
    assert [(one.method, one.path) for one in fake.asked] == [("DELETE", "/api/v1/token")]
    assert not location(host).exists()


@pytest.mark.usefixtures("logged_in")
def test_logout_with_a_dead_token_forgets_it(cli: Cli, fake: FakeServer, host: Host) -> None:
    fake.script = lambda _: refused(401, "unauthenticated")

    assert cli("logout").code == 0
    assert load(host) is None


@pytest.mark.usefixtures("logged_in")
def test_logout_keeps_a_token_the_server_could_not_revoke(
    cli: Cli, fake: FakeServer, host: Host
) -> None:
    fake.script = lambda _: refused(503, "unavailable")

    assert cli("logout").code == 1
    assert load(host) is not None


def test_logout_of_nobody_is_fine(cli: Cli) -> None:
    assert cli("logout").code == 0
