"""Every page and state the site has, each with how to reach it; a house test keeps it whole."""

from __future__ import annotations

from playwright.sync_api import Page

from a11y.support import (
    pages_apps,
    pages_queues,
    pages_settings,
    pages_shared,
    pages_teams,
    pages_todos,
    pages_vend,
)
from a11y.support.browser import Visit
from a11y.support.cases import Case, go, seen, sent
from a11y.support.site import Site


def _home(visit: Visit, site: Site) -> Page:
    return visit.open("/")


def _login(visit: Visit, site: Site) -> Page:
    return visit.open("/login")


def _link(visit: Visit, site: Site) -> Page:
    return visit.open(site.path_of(site.link()))


def _gone(visit: Visit, site: Site) -> Page:
    return visit.open("/auth/link/used")


def _empty_board(visit: Visit, site: Site) -> Page:
    visit.sign_in(site.make.session(site.make.human("Ben")))
    return visit.open("/")


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


def _stale(visit: Visit, site: Site) -> Page:
    page = go(visit, site, "/settings")
    page.context.clear_cookies()
    visit.sign_in(site.session())
    page.get_by_role("button", name="Create operator token").click()
    return page


def _signed_out(visit: Visit, site: Site) -> Page:
    page = go(visit, site, lambda world: f"{world.queue('reviews')}/budget")
    page.locator("#max_in_flight").fill("many")
    page.context.clear_cookies()
    page.locator("#save").click()
    return page


def _signed_out_plain(visit: Visit, site: Site) -> Page:
    page = go(visit, site, "/settings")
    page.context.clear_cookies()
    page.locator("#sign-out").click()
    return page


DOOR = [
    Case(name="home", heading="Switchboard", reach=_home, rule="/"),
    Case(name="login", heading="Sign in", reach=_login, rule="/login"),
    Case(name="link", heading="Sign in to Switchboard", reach=_link, rule="/auth/link/<token>"),
    Case(name="gone", heading="Sign-in link no longer valid", reach=_gone, status=410,
         rule="/auth/link/<token>"),
]
REFUSALS = [
    Case(name="signed out, typed", heading="Your session has ended", reach=_signed_out, status=401),
    Case(name="signed out", heading="You are not signed in", reach=_signed_out_plain, status=401),
    Case(name="old form", heading="Please send this again", reach=_stale, status=403),
    seen("unknown", "Page not found", "", "/nothing", status=404),
    seen("unknown queue", "Page not found", "", "/queues/0", status=404),
    sent("a claim refused", "Look into alert 1", "/todos/<todo_id>/claim",
         lambda world: world.todo("alert 1"), "Claim", status=409),
    Case(name="limited", heading="Too many requests", reach=_limited, status=429),
]
BOARD = [
    seen("board", "Board", "/"),
    Case(name="board, empty", heading="Board", reach=_empty_board, rule="/"),
    sent("board, not live", "Board", "/", "/", "Pause live updates"),
]
PAGES = [
    *DOOR, *REFUSALS, *BOARD, *pages_queues.QUEUES, *pages_todos.TODOS, *pages_vend.ENDPOINTS,
    *pages_vend.WIZARD, *pages_vend.WEBHOOKS, *pages_settings.SETTINGS,
    *pages_settings.HELP, *pages_apps.APPS, *pages_shared.SHARED, *pages_teams.TEAMS,
]
