"""One browser for the session, one fresh context per test, and everything it complained about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# It talks to nobody but the site under test, and needs no display of its own.
SWITCHES = [
    "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]


@dataclass
class Visit:
    """One person's browser: its context, and what went wrong or left the site meanwhile."""

    context: BrowserContext
    site_url: str
    complaints: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """A new tab at a path of the site."""
        page = self.context.new_page()
        self._watch(page)
        page.goto(self.site_url + path)
        return page

    def sign_in(self, session: str) -> None:
        """Puts a session's cookie into the browser."""
        self.context.add_cookies([{"name": "sb_session", "value": session, "url": self.site_url}])

    def assert_clean(self) -> None:
        """Fails when a page complained on the console or asked another host for anything."""
        assert self.complaints == []
        assert self.strangers == []

    def _watch(self, page: Page) -> None:
        page.on("console", lambda said: self._hear(said.type, said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._see)

    def _hear(self, kind: str, text: str) -> None:
        # The status of a refusal page is what it should be; Chromium notes it as an error.
        if kind in ("error", "warning") and "responded with a status of" not in text:
            self.complaints.append(text)

    def _see(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.site_url).netloc:
            self.strangers.append(request.url)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium; the run stops, by name, when there is none."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    assert path is not None, "install the package chromium: the pages are tested in a browser"
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=SWITCHES + as_root)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Visit]]:
    """Starts a browser context on a site; keywords are Playwright's (color_scheme, viewport...)."""
    contexts: list[BrowserContext] = []

    def start(site_url: str, **settings: object) -> Visit:
        context = chromium.new_context(**settings)
        contexts.append(context)
        return Visit(context, site_url)

    yield start
    for context in contexts:
        context.close()
