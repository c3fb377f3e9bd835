"""One browser for the session, one fresh context per test, and everything it complained about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    Request,
    Response,
    sync_playwright,
)

from a11y.support import audit, say

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE = 10_000  # milliseconds; what takes longer on a page of this size does not come
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
    _documents: dict[Page, Response] = field(default_factory=dict)

    def open(self, path: str) -> Page:
        """A new tab at a path of the site."""
        page = self.context.new_page()
        self._watch(page)
        page.goto(self.site_url + path)
        return page

    def sign_in(self, session: str) -> None:
        """Puts a session's cookie into the browser."""
        self.context.add_cookies([{"name": "sb_session", "value": session, "url": self.site_url}])

    def source(self, page: Page) -> str:
        """The HTML of a page as the server sent it."""
        return self._documents[page].text()

    def status(self, page: Page) -> int:
        """The status the page came with."""
        return self._documents[page].status

    def asked(self, page: Page) -> tuple[str, str]:
        """The method and the path that the page is the answer to."""
        request = self._documents[page].request
        return request.method, urlsplit(request.url).path

    def header(self, page: Page, name: str) -> str:
        """A header of the page's answer, in lower case; empty when it has none."""
        return self._documents[page].headers.get(name, "").lower()

    def assert_for_everyone(self, page: Page) -> None:
        """Fails with every fault of a page, in both themes, narrow, wide and in forced colours."""
        found = audit.faults(page, self.source(page))
        assert found == [], "\n" + "\n".join(found)
        self.assert_clean()

    def listen(self) -> None:
        """Records what the live regions of each page announce (see say.py)."""
        say.listen(self.context)

    def assert_clean(self) -> None:
        """Fails when a page complained on the console or asked another host for anything."""
        assert self.complaints == []
        assert self.strangers == []

    def _watch(self, page: Page) -> None:
        page.on("console", lambda said: self._hear(said.type, said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._see)
        page.on("response", lambda answer: self._keep(page, answer))

    def _hear(self, kind: str, text: str) -> None:
        # The status of a refusal page is what it should be; Chromium notes it as an error.
        if kind in ("error", "warning") and "responded with a status of" not in text:
            self.complaints.append(text)

    def _keep(self, page: Page, answer: Response) -> None:
        if answer.request.is_navigation_request() and answer.frame == page.main_frame:
            self._documents[page] = answer

    def _see(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.site_url).netloc:
            self.strangers.append(request.url)


def launch(playwright: Playwright, more: list[str], **settings: object) -> Browser:
    """The system's Chromium; the run stops, by name, when there is none."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    assert path is not None, "install the package chromium: the pages are tested in a browser"
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(
        executable_path=path, args=[*SWITCHES, *as_root, *more], **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser without a window, for every test of the session."""
    with sync_playwright() as playwright:
        browser = launch(playwright, [])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Visit]]:
    """Starts a browser context on a site; keywords are Playwright's (color_scheme, viewport...)."""
    contexts: list[BrowserContext] = []

    def start(site_url: str, **settings: object) -> Visit:
        context = chromium.new_context(**settings)  # type: ignore[arg-type]
        context.set_default_timeout(_PATIENCE)
        contexts.append(context)
        return Visit(context, site_url)

    yield start
    for context in contexts:
        context.close()
