"""The pages of a person's settings, and of help."""

from __future__ import annotations

from playwright.sync_api import Page

from a11y.support.browser import Visit
from a11y.support.cases import Case, go, seen, sent
from a11y.support.site import Site
from app.web import help


def _revoke(visit: Visit, site: Site) -> Page:
    page = go(visit, site, "/settings")
    page.get_by_role("link", name="Revoke operator token laptop").click()
    return page


def _minted(visit: Visit, site: Site) -> Page:
    page = go(visit, site, "/settings")
    page.locator("#token-name").fill("work computer")
    page.get_by_role("button", name="Create operator token").click()
    return page


SETTINGS = [
    seen("settings", "Settings", "/settings"),
    sent("settings, wrong zone", "Settings", "/settings/preferences", "/settings", "Save settings",
         status=422, zone="Mars/Olympus"),
    sent("settings, no name", "Settings", "/settings/tokens", "/settings", "Create operator token",
         status=422),
    Case(name="token", heading="Operator token created", reach=_minted, rule="/settings/tokens"),
    sent("device", "Sign in on another device", "/settings/device", "/settings",
         "Make a sign-in link"),
    Case(name="token, revoke", heading="Revoke operator token laptop", reach=_revoke,
         rule="/settings/tokens/<token_id>/revoke"),
]
HELP = [
    seen("help", "Help", "/help"),
    *(seen(f"help, {topic.slug}", topic.heading, "/help/<slug>", f"/help/{topic.slug}")
      for topic in help.TOPICS),
]
