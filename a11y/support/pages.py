"""Every page the site has, each with how to reach it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page

from a11y.support.browser import Visit
from a11y.support.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A page: its heading, and the steps to it in a fresh browser."""

    heading: str
    reach: Callable[[Visit, Site], Page]


def _home(visit: Visit, site: Site) -> Page:
    return visit.open("/")


def _login(visit: Visit, site: Site) -> Page:
    return visit.open("/login")


def _link(visit: Visit, site: Site) -> Page:
    return visit.open(site.link().removeprefix(site.url))


def _gone(visit: Visit, site: Site) -> Page:
    return visit.open("/auth/link/used")


def _board(visit: Visit, site: Site) -> Page:
    visit.sign_in(site.session())
    return visit.open("/")


def _empty_board(visit: Visit, site: Site) -> Page:
    visit.sign_in(site.make.session(site.make.human("Ben")))
    return visit.open("/")


def _unknown(visit: Visit, site: Site) -> Page:
    return visit.open("/nothing")


def _limited(visit: Visit, site: Site) -> Page:
    page = visit.open("/login")
    for _ in range(30):
        # Plain requests first: on a busy machine whole page loads are slower than the refill.
        while page.request.get(f"{site.url}/login").status != 429:
            pass
        answer = page.goto(f"{site.url}/login")
        if answer is not None and answer.status == 429:
            break
    return page


def _out_of_date(visit: Visit, site: Site) -> Page:
    page = _board(visit, site)
    page.context.clear_cookies()
    visit.sign_in(site.session())
    page.get_by_role("button", name="Sign out").click()
    return page


def _signed_out(visit: Visit, site: Site) -> Page:
    page = _board(visit, site)
    page.context.clear_cookies()
    page.get_by_role("button", name="Sign out").click()
    return page


PAGES = [
    Case(heading="Switchboard", reach=_home),
    Case(heading="Sign in", reach=_login),
    Case(heading="Sign in to Switchboard", reach=_link),
    Case(heading="Sign-in link no longer valid", reach=_gone),
    Case(heading="Board", reach=_board),
    Case(heading="Board", reach=_empty_board),
    Case(heading="Page not found", reach=_unknown),
    Case(heading="Too many requests", reach=_limited),
    Case(heading="Please send this again", reach=_out_of_date),
    Case(heading="You are not signed in", reach=_signed_out),
]
