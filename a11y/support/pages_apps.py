"""The pages of apps: consent in its states, and the list of those that are connected."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from a11y.support.browser import Visit
from a11y.support.cases import Case, go, seen
from a11y.support.site import Site
from tests.web import asking

_ASK, _LIST, _END = "/oauth/authorize", "/settings/apps", "/settings/apps/<grant_id>/revoke"


def _asked(visit: Visit, site: Site, target: str) -> Page:
    app = asking.app_called(site.make, "Widget agent", base_url=site.url)
    return go(visit, site, app.asks(target))


def _consent(name: str, heading: str | re.Pattern[str], target: str) -> Case:
    return Case(name=name, rule=_ASK, heading=heading,
                reach=lambda visit, site: _asked(visit, site, target))


def _one(visit: Visit, site: Site) -> Page:
    return _asked(visit, site, f"/mcp/{site.world.lane.slug}")


def _widened(visit: Visit, site: Site) -> Page:
    page = _asked(visit, site, "/agent/v1")
    page.locator("#endpoint input").first.check()
    page.locator("#limits input").first.check()
    page.locator("#allow").click()
    return page


def _nothing(visit: Visit, site: Site) -> Page:
    visit.sign_in(site.make.session(site.make.human("Ben")))
    app = asking.app_called(site.make, "Widget agent", base_url=site.url)
    return visit.open(app.asks())


def _connected(visit: Visit, site: Site) -> Page:
    asking.grant(site.make, site.human, "Widget CLI")
    asking.grant(site.make, site.world.lane, "reallylongwordwithoutanyspace" * 3)
    return go(visit, site, _LIST)


def _ending(visit: Visit, site: Site) -> Page:
    return go(visit, site, f"{_LIST}/{asking.grant(site.make, site.world.lane)}/revoke")


_CHOOSE = "Let Widget agent work as one of your endpoints?"
APPS = [
    _consent("consent, person", "Let Widget agent act as you?", "/api"),
    _consent("consent, endpoint", _CHOOSE, "/agent/v1"),
    Case(name="consent, one endpoint", heading=re.compile("Let Widget agent work as lane-m-"),
         reach=_one, rule=_ASK),
    Case(name="consent, too much chosen", heading=_CHOOSE, reach=_widened, rule=_ASK, status=422),
    Case(name="consent, no endpoint", heading=_CHOOSE, reach=_nothing, rule=_ASK),
    seen("apps, none", "Connected apps", _LIST),
    Case(name="apps", heading="Connected apps", reach=_connected, rule=_LIST),
    Case(name="app, disconnect", heading="Disconnect Widget agent", reach=_ending, rule=_END),
]
