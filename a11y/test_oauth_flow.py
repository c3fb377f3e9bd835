"""A stock OAuth client, unmodified, and our own command line, each through a real browser."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.auth import oauth2 as stock
from mcp.shared import auth_utils
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from playwright.sync_api import expect
from pydantic import AnyUrl

from a11y.support.browser import Visit
from a11y.support.loopback import Door
from a11y.support.site import Site
from app.domain.verbs import ADMISSION

Start = Callable[..., Visit]
ROOT = Path(__file__).parents[1]


class Kept(TokenStorage):
    """What the client keeps between its requests."""

    def __init__(self) -> None:
        """Keeps nothing yet."""
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Takes the tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The registration."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Takes the registration."""
        self.client = client_info


class Agent:
    """An agent with the stock client, in a thread and an event loop of its own: the browser has
    the test's. It calls `whoami`; the address it would open stands in `asks`.
    """

    def __init__(self, base_url: str, door: Door) -> None:
        """Knows the address of the verb, and nothing else of the server."""
        self.verb = f"{base_url}/agent/v1/whoami"
        self.kept, self.asks = Kept(), Future[str]()
        self.seen: list[httpx2.Request] = []
        self._door = door
        self._provider = OAuthClientProvider(
            server_url=self.verb,
            client_metadata=OAuthClientMetadata(
                client_name="Stock agent", redirect_uris=[AnyUrl(door.uri)],
                grant_types=["authorization_code", "refresh_token"]),
            storage=self.kept, redirect_handler=self._open, callback_handler=self._wait,
        )  # fmt: skip

    def call(self) -> Future[httpx2.Response]:
        """Calls the verb; the answer comes when the person has answered."""
        answer = Future[httpx2.Response]()

        def run() -> None:
            try:
                answer.set_result(asyncio.run(self._call()))
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return answer

    async def _call(self) -> httpx2.Response:
        async with httpx2.AsyncClient(auth=self._provider, event_hooks={
            "request": [self._see]}) as client:  # fmt: skip
            return await client.post(self.verb, json={})

    async def _see(self, request: httpx2.Request) -> None:
        self.seen.append(request)

    async def _open(self, address: str) -> None:
        self.asks.set_result(address)

    async def _wait(self) -> AuthorizationCodeResult:
        came = await asyncio.to_thread(self._door.wait)
        return AuthorizationCodeResult(
            code=came["code"], state=came.get("state"), iss=came.get("iss"))

    def paths(self) -> list[str]:
        """The paths asked for since the last time, in order."""
        asked = [request.url.path for request in self.seen]
        self.seen.clear()
        return asked


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch, site: Site) -> Callable[[float], None]:
    """Moves the client's clock and the server's, both on by so many seconds."""
    def move(seconds: float) -> None:
        clock = type("Clock", (), {"time": staticmethod(lambda: time.time() + seconds)})
        for module in (stock, auth_utils):
            monkeypatch.setattr(module, "time", clock)
        site.make.run("update oauth_tokens set expires_at = clock() where client_id is not null")

    return move


@pytest.mark.rule("identity.md: OAuth server")
def test_a_stock_client_finds_registers_asks_refreshes_and_a_replayed_code_ends_it(
    visit: Start, site: Site, door: Door, later: Callable[[float], None]
) -> None:
    agent = Agent(site.url, door)
    answer = agent.call()

    allow(visit, site, agent.asks.result(20))

    met = answer.result(20)
    assert (met.status_code, met.json()["slug"]) == (200, site.world.lane.slug)
    trade = next(request for request in agent.seen if request.url.path == "/oauth/token")
    assert agent.paths() == [
        "/agent/v1/whoami", "/.well-known/oauth-protected-resource/agent/v1",
        "/.well-known/oauth-authorization-server", "/oauth/register", "/oauth/token",
        "/agent/v1/whoami"]
    held = agent.kept.tokens
    assert held
    assert not set(ADMISSION) & set((held.scope or "").split())

    later(3700)
    assert agent.call().result(20).status_code == 200
    assert agent.paths() == ["/oauth/token", "/agent/v1/whoami"]
    assert agent.kept.tokens
    assert agent.kept.tokens.refresh_token != held.refresh_token

    bearer = {"Authorization": f"Bearer {agent.kept.tokens.access_token}"}
    assert httpx2.post(agent.verb, json={}, headers=bearer).status_code == 200
    replay = httpx2.post(str(trade.url), content=trade.content, headers={
        "Content-Type": "application/x-www-form-urlencoded"})  # fmt: skip
    assert (replay.status_code, replay.json()["error"]) == (400, "invalid_grant")
    assert httpx2.post(agent.verb, json={}, headers=bearer).status_code == 401


def allow(visit: Start, site: Site, address: str) -> None:
    """The person signs in on the way, chooses the lane, and allows."""
    assert address.startswith(f"{site.url}/oauth/authorize?")
    page = visit(site.url).open(address.removeprefix(site.url))
    page.goto(site.link())
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Let Stock agent work as one of your endpoints?")
    page.get_by_label(site.world.lane.slug).check()
    for box in page.locator("#limits input").all():
        expect(box).not_to_be_checked()
    page.locator("#allow").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Back in the app")


@pytest.mark.rule("cli.md: login")
def test_login_opens_the_browser_and_comes_back_to_the_terminal(
    visit: Start, site: Site, tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    os.mkfifo(opened)
    starts = tmp_path / "browser"
    starts.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    starts.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BROWSER": f"{starts} %s",
                   "SWITCHBOARD_URL": site.url}  # fmt: skip

    with running(environment, "login") as terminal:
        address = opened.read_text()
        person = visit(site.url)
        person.sign_in(site.session())
        page = person.open(address.removeprefix(site.url))
        expect(page.get_by_role("heading", level=1)).to_have_text(
            re.compile("Let switchboard on .* act as you"))
        page.locator("#allow").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Back to your terminal")
        said, noted = terminal.communicate(timeout=30)

    assert terminal.returncode == 0, noted
    assert "Logged in to" in said
    assert "Ana" in said
    assert address in noted
    with running(environment, "status") as terminal:
        said, noted = terminal.communicate(timeout=30)
    assert terminal.returncode == 0, noted
    assert "Ana" in said


@contextmanager
def running(environment: dict[str, str], *words: str) -> Iterator[subprocess.Popen[str]]:
    """Our command, until the block ends."""
    command = subprocess.Popen(
        [sys.executable, "-m", "app", *words], cwd=ROOT, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield command
    finally:
        command.kill()
        command.wait()
