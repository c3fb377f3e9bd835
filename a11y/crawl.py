"""The audit of a running Switchboard: every page that links reach, each held to the same rules.

It signs in with a one-time link and from then on only follows links. No form is posted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urldefrag, urljoin, urlsplit

from playwright.sync_api import Browser, Error, Page, Route

from a11y.support import audit
from a11y.support.browser import Visit

MOST_PAGES = 80
ALIKE = 2  # pages of one shape (/todos/td_1, /todos/td_2) that are looked at
_NOT_PAGES = ("/events", "/static/", "/api/", "/agent/", "/auth/", "/metrics", "/healthz")
_OVER = "it is used up, too old, or was never one"
_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|td_[0-9a-f]{32}|(?<=/)[0-9]+(?=/|$)")

Say = Callable[[str], None]


class Refused(Exception):
    """The audit cannot begin; the message says why."""


@dataclass
class Crawl:
    """What is known of a site: paths still to open, paths seen, and how many of each shape."""

    site: str
    most: int = MOST_PAGES
    waiting: list[str] = field(default_factory=lambda: ["/"])
    seen: set[str] = field(default_factory=lambda: {"/"})
    shapes: Counter[str] = field(default_factory=Counter)
    left_out: int = 0

    def next(self) -> str | None:
        """The next path worth opening, None when there is none or enough were opened."""
        while self.waiting and sum(self.shapes.values()) < self.most:
            path = self.waiting.pop(0)
            if self.shapes[shape(path)] < ALIKE:
                self.shapes[shape(path)] += 1
                return path
            self.left_out += 1
        self.left_out += len(self.waiting)
        return None

    def add(self, address: str) -> None:
        """Remembers a link of this site that leads to a page not seen yet."""
        parts = urlsplit(urldefrag(address).url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        is_ours = f"{parts.scheme}://{parts.netloc}" == self.site
        if is_ours and path not in self.seen and not path.startswith(_NOT_PAGES):
            self.seen.add(path)
            self.waiting.append(path)


def shape(path: str) -> str:
    """A path without its ids and the values of its query: pages of one shape are alike."""
    parts = urlsplit(path)
    names = sorted(name for name, _ in parse_qsl(parts.query, keep_blank_values=True)
                   if name != "from")  # where a page leads back to, which changes nothing else
    return "?".join([_IDS.sub("*", parts.path), *[",".join(names)][:len(names)]])


def inspect(
    browser: Browser, site: str, link: str, say: Say, *, most: int = MOST_PAGES
) -> int:
    """Audits the site behind its sign-in link, a line per page; how many pages have faults.

    At most `most` pages are opened, those nearest to the first one.
    """
    parts = urlsplit(site)
    crawl = Crawl(f"{parts.scheme}://{parts.netloc}", most)
    visit = Visit(browser.new_context(viewport=audit.LOW), crawl.site)
    try:
        _sign_in(visit, link)
        visit.context.route("**/*", _read_only)
        faulty = 0
        while (path := crawl.next()) is not None:
            found = _look_at(visit, crawl, path)
            faulty += bool(found)
            say(f"{'FAULTS' if found else 'ok':<7}{path}")
            for fault in found:
                say(f"         {fault}")
    finally:
        visit.context.close()
    pages = sum(crawl.shapes.values())
    say(f"\n{pages} pages, {faulty} with faults; {crawl.left_out} links to pages alike left out")
    return faulty


def _sign_in(visit: Visit, link: str) -> None:
    page = visit.context.new_page()
    try:
        answer = page.goto(link)
        if answer is None or answer.status != 200:
            raise Refused(f"Cannot sign in with {link}: {_OVER}.")
        page.get_by_role("button", name="Sign in", exact=True).click(timeout=10_000)
        page.wait_for_url(f"{visit.site_url}/**", timeout=10_000)
    except Error as error:
        raise Refused(f"Cannot sign in with {link}: {error.message.splitlines()[0]}") from error
    if page.get_by_role("button", name="Sign out").count() == 0:
        raise Refused(f"The link {link} signs nobody in at {visit.site_url}; give a fresh one.")
    page.close()


def _read_only(route: Route) -> None:
    """Answers what a page's script would post by itself, such as the browser's time zone."""
    if route.request.method in ("GET", "HEAD"):
        route.continue_()
    else:
        route.fulfill(status=204)


def _look_at(visit: Visit, crawl: Crawl, path: str) -> list[str]:
    visit.complaints.clear()
    visit.strangers.clear()
    page = visit.open(path)
    try:
        return _faults(visit, crawl, page)
    finally:
        page.close()


def _faults(visit: Visit, crawl: Crawl, page: Page) -> list[str]:
    if "text/html" not in visit.header(page, "content-type"):
        return []
    for address in page.evaluate("() => [...document.links].map(link => link.href)"):
        crawl.add(urljoin(page.url, address))
    found = [f"status {visit.status(page)}"] if visit.status(page) >= 400 else []
    found += audit.faults(page, visit.source(page))
    found += [f"console: {said}" for said in visit.complaints]
    return found + [f"asks another host: {address}" for address in visit.strangers]
