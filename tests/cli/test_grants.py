"""A login through a browser, afterwards: renewed without asking, once, and ended for good."""

from __future__ import annotations

import json
import stat
import threading
import time
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue

import pytest

from app.cli import Host, grants
from app.cli.credentials import Credentials, Grant, forget, load, location, locked, save
from app.cli.output import Failure
from tests.cli.conftest import Cli
from tests.cli.fake import Asked, FakeServer, Reply, refused
from tests.cli.fake_oauth import ME, OAuth

TOKEN, REVOKE = "/oauth/token", "/oauth/revoke"


@pytest.fixture
def oauth(fake: FakeServer) -> OAuth:
    """The scripted server as an authorization server."""
    return OAuth(fake)


@pytest.fixture
def saved(oauth: OAuth, host: Host) -> Credentials:
    """A login through a browser, as saved, with an hour to go."""
    url, given = oauth.fake.url, oauth.grant()
    made = Credentials(url=url, token=str(given["access_token"]), grant=Grant(
        refresh_token=str(given["refresh_token"]), client_id="client-1", token_url=url + TOKEN,
        revoke_url=url + REVOKE, expires_at=int(time.time()) + 3600,
    ))  # fmt: skip
    save(host, made)
    return made


@pytest.fixture
def due(host: Host, saved: Credentials) -> Credentials:
    """The same with half a minute to go."""
    assert saved.grant is not None
    made = replace(saved, grant=replace(saved.grant, expires_at=int(time.time()) + 30))
    save(host, made)
    return made


def calls(oauth: OAuth) -> list[tuple[str, str]]:
    return [(one.method, one.path) for one in oauth.fake.asked]


@pytest.mark.usefixtures("saved")
def test_a_login_with_time_to_go_is_used_as_it_is(cli: Cli, oauth: OAuth) -> None:
    ran = cli("status")

    assert ran.code == 0
    assert "switchboard (oauth)" in ran.out
    assert calls(oauth) == [("GET", "/api/v1/me")]


@pytest.mark.usefixtures("due")
def test_a_login_about_to_end_is_renewed_first_and_nobody_is_asked(
    cli: Cli, oauth: OAuth, host: Host
) -> None:
    ran = cli("status", "--json")

    assert (ran.code, json.loads(ran.out), ran.err) == (0, ME, "")
    assert calls(oauth) == [("POST", TOKEN), ("GET", "/api/v1/me")]
    assert oauth.at(TOKEN)[0].body == {
        "grant_type": "refresh_token", "refresh_token": "rt_1", "client_id": "client-1",
        "resource": f"{oauth.fake.url}/api",
    }  # fmt: skip
    assert "Authorization" not in oauth.at(TOKEN)[0].headers
    fresh = load(host)
    assert fresh is not None
    assert fresh.grant is not None
    assert (fresh.token, fresh.grant.refresh_token) == ("at_2", "rt_2")
    assert fresh.grant.expires_at is not None
    assert fresh.grant.expires_at > time.time() + 3500
    assert stat.S_IMODE(location(host).stat().st_mode) == 0o600


@pytest.mark.usefixtures("saved")
def test_the_first_401_renews_and_the_same_request_goes_again(cli: Cli, oauth: OAuth) -> None:
    oauth.live.clear()

    ran = cli("team", "create", "crew", "--name", "The crew")

    assert (ran.code, ran.out) == (0, "crew is made; you are its owner.\n")
    assert calls(oauth) == [
        ("POST", "/api/v1/teams"), ("POST", TOKEN), ("POST", "/api/v1/teams"),
    ]  # fmt: skip
    assert [one.body for one in oauth.at("/api/v1/teams")] == [
        {"slug": "crew", "display_name": "The crew"}
    ] * 2


@pytest.mark.usefixtures("saved")
def test_a_server_that_never_knows_the_token_is_asked_twice_and_no_more(
    cli: Cli, oauth: OAuth
) -> None:
    oauth.changed["/api/v1/me"] = refused(401, "unauthenticated", "A valid credential is required.")

    ran = cli("status")

    assert (ran.code, ran.out) == (1, "")
    assert "log in again" in ran.err
    assert calls(oauth) == [("GET", "/api/v1/me"), ("POST", TOKEN), ("GET", "/api/v1/me")]


def test_an_operator_token_is_never_renewed(cli: Cli, oauth: OAuth, host: Host) -> None:
    save(host, Credentials(url=oauth.fake.url, token="sbo_dead"))

    assert cli("status").code == 1
    assert calls(oauth) == [("GET", "/api/v1/me")]


def test_a_refused_renewal_says_log_in_again(
    cli: Cli, oauth: OAuth, due: Credentials, host: Host
) -> None:
    oauth.refresh_tokens.clear()

    ran = cli("status")
    told = cli("status", "--json")

    assert (ran.code, ran.out) == (1, "")
    ended = f"The login to {oauth.fake.url} has ended; log in again with `switchboard login`."
    assert ran.err == f"Error: {ended}\n"
    assert (told.code, told.out) == (1, "")
    assert json.loads(told.err) == {"error": ended, "code": "unauthenticated"}
    assert oauth.at("/api/v1/me") == []
    assert load(host) == due


@pytest.mark.parametrize(
    ("reply", "sentence", "code"),
    [(Reply(status=429, body={"error": "temporarily_unavailable",
                              "error_description": "Too many requests."}), "Too many requests.",
      "rate_limited"),
     (Reply(status=503, body={"error": "temporarily_unavailable"}), "temporarily_unavailable",
      "unavailable"),
     (Reply(dropped=True), "was lost", None),
     (Reply(body={"access_token": "at_9"}), "without a usable token", None)],
)  # fmt: skip
def test_a_renewal_that_fails_today_may_succeed_tomorrow(
    reply: Reply, sentence: str, code: str | None, cli: Cli, oauth: OAuth, due: Credentials,
    host: Host,
) -> None:
    oauth.changed[TOKEN] = reply

    ran, told = cli("status"), cli("status", "--json")

    assert (ran.code, ran.out) == (told.code, told.out) == (1, "")
    assert sentence in ran.err
    assert sentence in json.loads(told.err)["error"]
    assert json.loads(told.err).get("code") == code
    assert load(host) == due


def test_a_server_that_keeps_the_refresh_token_and_names_no_end_is_fine(
    oauth: OAuth, due: Credentials, host: Host
) -> None:
    oauth.changed[TOKEN] = Reply(body={"access_token": "at_2", "token_type": "bearer"})

    fresh = grants.renewed(host, due)

    assert due.grant is not None
    assert fresh == replace(due, token="at_2", grant=replace(due.grant, expires_at=None))
    assert load(host) == fresh
    assert not grants.is_due(fresh)


def test_two_commands_at_once_spend_one_refresh_token_once(
    oauth: OAuth, saved: Credentials, host: Host
) -> None:
    both, told = threading.Barrier(2), oauth.fake.script
    found: SimpleQueue[Credentials] = SimpleQueue()

    def together(asked: Asked) -> Reply | None:
        if asked.path == TOKEN:
            with suppress(threading.BrokenBarrierError):
                both.wait(0.4)  # without a lock, the other one comes too
        return told(asked)

    oauth.fake.script = together
    commands = [threading.Thread(target=lambda: found.put(grants.renewed(host, saved)))
                for _ in range(2)]  # fmt: skip
    for one in commands:
        one.start()
    for one in commands:
        one.join(20)

    first, second = found.get(timeout=1), found.get(timeout=1)
    assert first == second == load(host)
    assert len(oauth.at(TOKEN)) == 1


def test_what_another_command_renewed_is_taken_from_the_file(
    oauth: OAuth, saved: Credentials, host: Host
) -> None:
    other = Credentials(url=saved.url, token="sbo_other")
    save(host, other)

    assert grants.renewed(host, saved) == other
    assert oauth.fake.asked == []


def test_a_login_that_was_forgotten_meanwhile_is_not_brought_back(
    oauth: OAuth, saved: Credentials, host: Host
) -> None:
    forget(host)

    with pytest.raises(Failure, match="log in again"):
        grants.renewed(host, saved)

    assert (oauth.fake.asked, load(host)) == ([], None)


def test_a_login_to_another_server_is_not_used_on_this_one(
    oauth: OAuth, saved: Credentials, host: Host
) -> None:
    save(host, replace(saved, url="http://127.0.0.1:1", token="at_other"))

    with pytest.raises(Failure, match="log in again"):
        grants.renewed(host, saved)

    assert oauth.fake.asked == []


@pytest.mark.usefixtures("saved")
def test_logout_ends_the_token_and_the_grant_and_forgets_both(
    cli: Cli, oauth: OAuth, host: Host
) -> None:
    ran = cli("logout")

    assert (ran.code, ran.out) == (0, f"Logged out of {oauth.fake.url}.\n")
    assert calls(oauth) == [("DELETE", "/api/v1/token"), ("POST", REVOKE)]
    assert oauth.at(REVOKE)[0].body == {
        "token": "rt_1", "token_type_hint": "refresh_token", "client_id": "client-1",
    }  # fmt: skip
    assert not location(host).exists()


@pytest.mark.usefixtures("saved")
def test_logout_with_a_token_that_ran_out_still_ends_the_grant(
    cli: Cli, oauth: OAuth, host: Host
) -> None:
    oauth.live.clear()

    ran = cli("logout", "--json")

    assert (ran.code, json.loads(ran.out)) == (0, {"revoked": True})
    assert len(oauth.at(REVOKE)) == 1
    assert load(host) is None


def test_logout_keeps_a_grant_the_server_could_not_end(
    cli: Cli, oauth: OAuth, saved: Credentials, host: Host
) -> None:
    oauth.changed[REVOKE] = Reply(status=503, body={"error": "temporarily_unavailable"})

    ran = cli("logout")

    assert (ran.code, ran.out) == (1, "")
    assert "did not revoke" in ran.err
    assert load(host) == saved


def test_a_folder_that_holds_no_lock_is_a_sentence(host: Host) -> None:
    location(host).parent.mkdir()
    location(host).with_name(f"{location(host).name}.lock").mkdir()

    with pytest.raises(Failure, match="cannot be locked"), locked(host):
        pass
