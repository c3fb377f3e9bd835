"""The pages of todos: the list with its filters, and a todo in each state."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

from a11y.support.browser import Visit
from a11y.support.cases import Case, go, seen, sent
from a11y.support.site import Site
from a11y.support.world import World

_LIST, _TODO = "/todos", "/todos/<todo_id>"


def _of(name: str, below: str = "") -> Callable[[World], str]:
    return lambda world: f"{world.todo(name)}{below}"


def _drawer(visit: Visit, site: Site) -> Page:
    page = go(visit, site, "/todos")
    page.get_by_role("link", name="Look into alert 1", exact=True).click()
    page.locator("#todo-side").wait_for()
    return page


def _filtered(world: World) -> str:
    return f"/todos?queue={world.queues['investigations']}&state=pending"


TODOS = [
    seen("todos", "Todos", _LIST),
    seen("todos, filtered", "Todos", _LIST, _filtered),
    seen("todos, found", "Todos", _LIST, "/todos?q=alert"),
    seen("todos, nothing found", "Todos", _LIST, "/todos?q=nothing+like+this"),
    seen("todos, wrong filter", "Todos", _LIST, "/todos?state=sleeping", status=422),
    Case(name="todos, one beside", heading="Todos", reach=_drawer, rule=_LIST),
    seen("todo, deferred", "Look into alert 1", _TODO, _of("alert 1")),
    seen("todo, admitted", "A todo for reviews", _TODO, _of("reviews")),
    seen("todo, long words", "A long name: " + "reallylongwordwithoutanyspace" * 4, _TODO,
         _of("note")),
    seen("todo, held by the reader", "Claimed by hand", _TODO, _of("held")),
    seen("todo, claimed", "Being worked", _TODO, _of("claimed")),
    seen("todo, done", "Worked", _TODO, _of("done")),
    seen("todo, dead", "Failed for good", _TODO, _of("dead")),
    seen("todo, parked", "Waits for its turn", _TODO, _of("parked")),
    seen("discard", "Discard A todo for nightly", "/todos/<todo_id>/discard",
         _of("nightly", "/discard")),
    sent("todo, settled wrongly", "Claimed by hand", "/todos/<todo_id>/complete", _of("held"),
         "Complete", status=422, result="{not JSON"),
]
