"""How a page or a state of one is described, reached and held to what holds for all."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Page, expect
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map

from a11y.support.browser import Visit
from a11y.support.site import Site
from a11y.support.world import World
from app import create_app
from app.edge.deps import EdgeConfig

Reach = Callable[[Visit, Site], Page]
Path = str | Callable[[World], str]
NOT_PAGES = ("ingest", "health", "metrics", "static")
NOT_BELOW = ("/agent/", "/api/", "/.well-known/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A page in one state: its heading, its status, the route it comes from, and how to get there.

    `rule` is the route's rule; an empty one is a page of no route (a refusal).
    """

    name: str
    heading: str | re.Pattern[str]
    reach: Reach = field(repr=False)
    rule: str = ""
    status: int = 200

    def check(self, visit: Visit, site: Site) -> None:
        """Reach the page, then fail with everything that is wrong with it."""
        page = self.reach(visit, site)
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_have_text(self.heading)
        assert visit.status(page) == self.status
        assert self.rule in ("", rule_of(*visit.asked(page)))
        title = page.title()
        assert title.startswith("Error: ") or self.status != 422
        assert title.removeprefix("Error: ").startswith((heading.inner_text(), "Switchboard"))
        visit.assert_for_everyone(page)


@functools.cache
def _routes() -> Map:
    return create_app(EdgeConfig(base_url="http://localhost"), None, None).url_map  # type: ignore[arg-type]


def rule_of(method: str, path: str) -> str:
    """The rule of the route that answers a path; empty when none does."""
    try:
        rule, _ = _routes().bind("localhost").match(path, method=method, return_rule=True)
    except HTTPException:
        return ""
    return rule.rule


def page_rules() -> set[str]:
    """The rules of all routes that a person's browser opens as a page."""
    return {rule.rule for rule in _routes().iter_rules() if "GET" in (rule.methods or ())
            and rule.endpoint.split(".")[0] not in NOT_PAGES
            and not rule.rule.startswith(NOT_BELOW)}


def seen(
    name: str, heading: str | re.Pattern[str], rule: str, path: Path | None = None, *,
    status: int = 200,
) -> Case:
    """A page that its address alone shows to the signed-in person; the rule by default."""
    return Case(name=name, heading=heading, rule=rule, status=status,
                reach=lambda visit, site: go(visit, site, rule if path is None else path))


def sent(
    name: str, heading: str | re.Pattern[str], rule: str, path: Path, press: str, /, *,
    status: int = 200, **typed: str,
) -> Case:
    """What a form answers: it is opened, filled (by the ids of its fields) and sent by a button."""
    def reach(visit: Visit, site: Site) -> Page:
        page = go(visit, site, path)
        for control, text in typed.items():
            page.locator(f"#{control}").fill(text)
        page.get_by_role("button", name=press).first.click()
        return page

    return Case(name=name, heading=heading, rule=rule, status=status, reach=reach)


def go(visit: Visit, site: Site, path: Path) -> Page:
    """Opens a path as the site's person."""
    visit.sign_in(site.session())
    return visit.open(path if isinstance(path, str) else path(site.world))
