"""Todos: the list with its filters, and one todo's page."""

from __future__ import annotations

from flask import Blueprint, Response, make_response, render_template, request
from flask.typing import ResponseReturnValue

from app.edge.deps import database
from app.edge.identify import identify_session
from app.reads import headers, todo_list, todo_page
from app.reads.todo_page import SeenTodo
from app.web import answers, guard
from app.web.todo_back import HERE, Back, back_to
from app.web.todo_filters import read_filters
from app.web.todo_forms import SettleForm
from app.web.todo_list_view import list_view
from app.web.todo_page_view import todo_view
from app.web.todo_refusals import Refusal

bp = Blueprint("todos", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.get("/todos")
def show_todos() -> ResponseReturnValue:
    """The viewer's todos, newest first, narrowed by queue, state and text, 50 to a page.

    `queue` is a queue's id or its display name: two endpoints may have queues of one name, so
    our own links carry the id. A filter that makes no sense is 422 with a sentence. With
    `HX-Request` the panel alone. (board.md, "Todos view")
    """
    viewer = answers.viewer()
    asked = read_filters(request.args)
    listing = todo_list.list_todos(
        database(), viewer.human.id, asked.filters, asked.page, with_rows=not asked.faults
    )
    with_policy = [queue.queue_id for queue in listing.chosen if queue.has_policy]
    seen = headers.headers_for(database(), viewer.human.id, with_policy) if with_policy else []
    view = list_view(asked, listing, seen, viewer.zone)
    is_part = answers.wants_fragment()
    body = render_template(
        "todos/panel.html" if is_part else "todos/list.html",
        heading="Todos",
        help_topic="todos",
        view=view,
        errors=bool(asked.faults),
        is_live=bool(view.lines),
    )
    response = make_response(body, 422 if asked.faults else 200)
    response.vary.add("HX-Request")
    return response


@bp.get("/todos/<todo_id>")
def show_todo(todo_id: str) -> ResponseReturnValue:
    """One todo; with `HX-Request` the same content as a region to open beside the list."""
    seen = todo_page.see_todo(database(), answers.viewer().human, todo_id)
    return todo_answer(seen, SettleForm(formdata=None), back_to(f"/todos/{seen.todo.id}", HERE))


def todo_answer(
    seen: SeenTodo,
    form: SettleForm,
    back: Back,
    *,
    status: int = 200,
    refusal: Refusal | None = None,
) -> Response:
    """The todo's page, or its region for htmx, with what was refused and what was typed."""
    viewer = answers.viewer()
    is_part = answers.wants_fragment()
    response = answers.form_page(
        "todos/drawer.html" if is_part else "todos/todo.html",
        form,
        status=status,
        heading=seen.todo.title,
        help_topic="todos",
        todo=todo_view(seen, viewer.human, viewer.zone),
        back=back,
        refusal=refusal,
        is_beside=is_part,
    )
    response.vary.add("HX-Request")
    return response
