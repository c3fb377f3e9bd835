"""The pages of queues and their budgets."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

from a11y.support.browser import Visit
from a11y.support.cases import Case, go, seen, sent
from a11y.support.site import Site
from a11y.support.world import World

_QUEUE = "/queues/<ref>"
_EDITOR = "/queues/<ref>/budget"
_ADD = "/queues/<queue_id>/todos"
SAVE = "Save budget for"
PREVIEW = "Preview budget for"



def below(queue: str, page: str) -> Callable[[World], str]:
    """A path below a queue's page, in whatever world there is."""
    return lambda world: f"{world.queue(queue)}{page}"


def _stale_edit(visit: Visit, site: Site) -> Page:
    page = go(visit, site, lambda world: f"{world.queue('reviews')}/budget")
    site.make.run("update admission_policies set revision = revision + 1, max_in_flight = 9"
                  " where queue_id = %s", int(site.world.queues["reviews"]))
    page.locator("#max_in_flight").fill("7")
    page.locator("#save").click()
    return page


def _history(world: World) -> str:
    return f"{world.queue('nightly')}/history"


QUEUES = [
    *(seen(f"queue, {name}", f"Queue {name}", _QUEUE, below(name, ""))
      for name in ("investigations", "reviews", "builds", "nightly", "imports", "unused")),
    seen("budgets", "Budgets", "/budgets"),
    seen("editor", "Edit budget for reviews", _EDITOR, below("reviews", "/budget")),
    seen("editor, no budget yet", "Add budget for notes", _EDITOR, below("notes", "/budget")),
    sent("editor, errors", "Edit budget for reviews", _EDITOR, below("reviews", "/budget"), SAVE,
         status=422, max_in_flight="many", max_claims_per_window="-1", tz="Mars/Olympus",
         start="9.30", reason="x" * 501),
    sent("editor, preview", "Edit budget for reviews", _EDITOR, below("reviews", "/budget"),
         PREVIEW, max_claims_per_window="50"),
    sent("editor, warned", "Edit budget for reviews", _EDITOR, below("reviews", "/budget"), SAVE,
         max_claims_per_window="50"),
    Case(name="editor, stale", heading="Edit budget for reviews", reach=_stale_edit,
         rule=_EDITOR, status=409),
    seen("clear", "Clear budget for reviews", "/queues/<ref>/budget/clear",
         below("reviews", "/budget/clear")),
    seen("history", "Budget history of nightly", "/queues/<ref>/history", _history),
    seen("add todo", "Add todo to notes", _ADD, below("notes", "/todos")),
    sent("add todo, errors", "Add todo to notes", _ADD, below("notes", "/todos"),
         "Add todo to notes", status=422, title="", payload="{not JSON"),
]
