"""Logging in through a browser on a real server, the test being the browser and the person."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, build_opener

import pytest

from tests.support.make import Human
from tests.support.servers import ROOT, Fleet, Server
from tests.support.wait import wait_for

Started = Callable[..., subprocess.Popen[str]]


class Form(HTMLParser):
    """The form of a page that posts to a path: its action, and its hidden fields."""

    def __init__(self, page: str, path: str):
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self._path = path
        self._is_in = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes forms and hidden inputs."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._is_in = given.get("action", "").startswith(self._path)
            self.action = given["action"] if self._is_in else self.action
        if self._is_in and tag == "input" and given.get("type") == "hidden":
            self.fields[given["name"]] = given.get("value", "")


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """No redirect is followed by itself."""


class Browser:
    """Keeps cookies, and says where each answer leads."""

    def __init__(self) -> None:
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()), _Stay())

    def ask(self, url: str, fields: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """GET, or POST of a form: status, page, and the absolute address it leads to or ""."""
        data = None if fields is None else urlencode(fields).encode()
        try:
            answer = self._opener.open(url, data, timeout=20)
        except HTTPError as other:  # urllib's word for whatever is not 200
            answer = other
        with answer:
            to = answer.headers.get("Location")
            return answer.status, answer.read().decode(), urljoin(url, to) if to else ""

    def sign_in(self, url: str, link: str) -> str:
        """Use a one-time link; answers where that leads."""
        place = f"{url}/auth/link/{link}"
        status, _, to = self.ask(place, {})
        assert status == 303, status
        return to

    def consent(self, address: str, **decision: str) -> tuple[int, str]:
        """Look at the consent page, answer it, and follow to the app: its status and its page."""
        status, page, _ = self.ask(address)
        assert status == 200, page
        form = Form(page, "/oauth/authorize")
        status, page, to = self.ask(urljoin(address, form.action), {**form.fields, **decision})
        assert status == 303, page
        status, page, _ = self.ask(to)
        return status, page


@pytest.fixture
def server(fleet: Fleet) -> Server:
    """One real server."""
    return fleet.add()


@pytest.fixture
def ada(fleet: Fleet) -> Human:
    """Somebody with nothing yet."""
    return fleet.make.human("Ada")


@pytest.fixture
def credentials(tmp_path: Path) -> Path:
    """Where the commands keep who is logged in."""
    return tmp_path / "credentials.json"


@pytest.fixture
def start(server: Server, credentials: Path, tmp_path: Path) -> Iterator[Started]:
    """Start one command in a process of its own; whatever still runs is ended."""
    running: list[subprocess.Popen[str]] = []
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "SWITCHBOARD_URL": server.url,
        "SWITCHBOARD_CREDENTIALS": str(credentials),
    }  # fmt: skip

    def started(*words: str, **more: str) -> subprocess.Popen[str]:
        running.append(subprocess.Popen(
            [sys.executable, "-m", "app", *words], cwd=ROOT, env={**environment, **more},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ))  # fmt: skip
        return running[-1]

    yield started
    for one in running:
        one.kill()
        one.communicate()


def ended(command: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, output and errors of a command."""
    out, err = command.communicate(timeout=60)
    return command.returncode, out, err


def address_of(command: subprocess.Popen[str], server: Server) -> str:
    """The address a `login` prints."""
    assert command.stderr is not None
    for line in command.stderr:
        if line.startswith(f"{server.url}/oauth/authorize?"):
            return line.strip()
    raise AssertionError(f"no address; the command ended with {command.wait(10)}")


def test_a_login_is_denied_then_allowed_renewed_and_ended(
    start: Started, server: Server, fleet: Fleet, ada: Human, credentials: Path, tmp_path: Path
) -> None:
    browser = Browser()
    address, denied = _opened_by_the_setting(start, tmp_path)
    assert browser.ask(address)[::2] == (302, f"{server.url}/login")
    back = browser.sign_in(server.url, fleet.make.login_link(ada))
    assert back == address
    assert browser.consent(back, decision="deny")[0] == 200
    code, out, err = ended(denied)
    assert (code, out, credentials.exists()) == (1, "", False)
    assert err.endswith("Error: Access was denied in the browser; nobody is logged in.\n")

    allowed = start("login", "--no-browser")
    status, page = browser.consent(address_of(allowed, server), decision="allow")
    assert (status, "You may close this window." in page) == (200, True)
    code, out, err = ended(allowed)
    assert (code, out) == (0, f"Logged in to {server.url} as Ada.\n"), err
    first = json.loads(credentials.read_text())
    assert (first["url"], credentials.stat().st_mode & 0o777) == (server.url, 0o600)

    fleet.clock.advance(3700)  # the access token has run out, and nobody renewed it ahead
    for one in [start("status", "--json") for _ in range(2)]:
        code, out, err = ended(one)
        assert (code, err) == (0, "")
        told = json.loads(out)
        assert (told["display_name"], told["token"]["kind"]) == ("Ada", "oauth")
    second = json.loads(credentials.read_text())
    assert second["token"] != first["token"]
    assert second["refresh_token"] != first["refresh_token"]
    assert ended(start("team", "create", "crew")) == (0, "crew is made; you are its owner.\n", "")

    assert ended(start("logout")) == (0, f"Logged out of {server.url}.\n", "")
    assert not credentials.exists()
    spent = {"grant_type": "refresh_token", "refresh_token": second["refresh_token"],
             "client_id": second["client_id"]}  # fmt: skip
    status, page, _ = browser.ask(second["token_url"], spent)
    assert (status, json.loads(page)["error"]) == (400, "invalid_grant")


def _opened_by_the_setting(
    start: Started, folder: Path
) -> tuple[str, subprocess.Popen[str]]:
    """The address a `login` opens in the browser that BROWSER names, and that command."""
    script, opened = folder / "my-browser", folder / "opened"
    script.write_text('#!/bin/sh\necho noise\n'
                      f'printf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    script.chmod(0o755)
    command = start("login", BROWSER=str(script))
    wait_for(opened.exists, 30, what="the browser was opened")
    return opened.read_text(), command
