"""The pages of endpoints and webhooks, with the wizard that vends them."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page

from a11y.support.browser import Visit
from a11y.support.cases import Case, go, seen, sent
from a11y.support.site import Site
from a11y.support.world import World

_STEP = "/endpoints/vend/<any(agent, queues, verbs, webhook, lifetime):step>"
_ENDPOINT = re.compile("Endpoint (lane-m|old-lane)-")
STEPS = ("agent", "queues", "verbs", "webhook", "lifetime", "confirm")


def vend_to(page: Page, step: str) -> None:
    """Answers the wizard's steps, from the first up to a step."""
    if step == "agent":
        return
    page.locator("#name").fill("night lane")
    for _ in range(STEPS.index(step)):
        page.locator("main form button.primary").first.click()


def _step(step: str) -> Case:
    def reach(visit: Visit, site: Site) -> Page:
        page = go(visit, site, "/endpoints/vend/agent")
        vend_to(page, step)
        return page

    number = STEPS.index(step) + 1
    rule = "/endpoints/vend/confirm" if step == "confirm" else _STEP
    return Case(name=f"vend, {step}", rule=rule, reach=reach,
                heading=f"Vend an endpoint: {step} (step {number} of 6)")


def _wrong(step: str, control: str, text: str) -> Case:
    def reach(visit: Visit, site: Site) -> Page:
        page = go(visit, site, "/endpoints/vend/agent")
        vend_to(page, step)
        page.locator(f"#{control}").fill(text)
        page.locator("main form button.primary").first.click()
        return page

    number = STEPS.index(step) + 1
    return Case(name=f"vend, {step} wrong", rule=f"/endpoints/vend/{step}", status=422, reach=reach,
                heading=f"Vend an endpoint: {step} (step {number} of 6)")


def _shown(visit: Visit, site: Site) -> Page:
    page = go(visit, site, "/endpoints/vend/agent")
    vend_to(page, "confirm")
    page.locator("#vend").click()
    return page


ENDPOINTS = [
    seen("endpoints", "Endpoints", "/endpoints"),
    seen("endpoint", _ENDPOINT, "/endpoints/<endpoint_id>",
         lambda world: f"/endpoints/{world.lane.id}"),
    seen("endpoint, revoked", _ENDPOINT, "/endpoints/<endpoint_id>",
         lambda world: f"/endpoints/{world.revoked.id}"),
    sent("endpoint, wrong lease", _ENDPOINT, "/endpoints/<endpoint_id>",
         lambda world: f"/endpoints/{world.lane.id}", "Save the default lease", status=422,
         default_lease_ttl_seconds="soon"),
    sent("endpoint, wrong shift", _ENDPOINT, "/endpoints/<endpoint_id>/shift",
         lambda world: f"/endpoints/{world.lane.id}", "Save the shift", status=422, shift="never"),
    sent("endpoint, clocked out", _ENDPOINT, "/endpoints/<endpoint_id>",
         lambda world: f"/endpoints/{world.lane.id}", "Clock out", until="2999-01-01T18:00"),
    seen("revoke", re.compile("Revoke lane-m-"), "/endpoints/<endpoint_id>/revoke",
         lambda world: f"/endpoints/{world.lane.id}/revoke"),
    seen("delete", re.compile("Delete old-lane-"), "/endpoints/<endpoint_id>/delete",
         lambda world: f"/endpoints/{world.revoked.id}/delete"),
    seen("hook, delete", re.compile("Delete .* of lane-m-"),
         "/endpoints/<endpoint_id>/hooks/<hook_id>/delete",
         lambda world: f"/endpoints/{world.lane.id}/hooks/{world.hook}/delete"),
]
WIZARD = [
    *map(_step, STEPS),
    _wrong("agent", "name", ""),
    _wrong("queues", "queues", "team:other/inbox"),
    _wrong("lifetime", "lease", "soon"),
    Case(name="vend, credential", heading=re.compile("Endpoint night-lane-.* vended"),
         reach=_shown, rule="/endpoints/shown/<act_id>"),
]


def _hook(below: str = "") -> Callable[[World], str]:
    return lambda world: f"/webhooks/{world.webhook.id}{below}"


WEBHOOKS = [
    seen("webhooks", "Webhooks", "/webhooks"),
    seen("webhook", "Webhook: github to notes", "/webhooks/<webhook_id>", _hook()),
    seen("webhook, new", "Create a webhook", "/webhooks/new"),
    sent("webhook, wrong queue", "Create a webhook", "/webhooks/new", "/webhooks/new",
         "Create the webhook", status=422, target_queue="nowhere"),
    seen("webhook, rotate", re.compile("Rotate the "), "/webhooks/<webhook_id>/rotate",
         _hook("/rotate")),
    sent("webhook, rotated", re.compile("The .* is ready"), "/webhooks/shown/<act_id>",
         _hook("/rotate"), "Replace the URL and secret now"),
    seen("webhook, delete", re.compile("Delete the "), "/webhooks/<webhook_id>/delete",
         _hook("/delete")),
]
