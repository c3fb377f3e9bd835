"""Add todo: a person writes work into a queue."""

from __future__ import annotations

import re
import secrets

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, InvalidArgument, NotFound
from app.domain.isolating import isolate
from app.edge.deps import database
from app.edge.identify import identify_session
from app.reads import headers
from app.reads.cards import MOST_PENDING
from app.transactions import authoring
from app.transactions.authoring import Entered, Target
from app.web import answers, guard
from app.web.forms import posts
from app.web.todo_back import Back, back_to
from app.web.todo_forms import AddForm, blame_work, read_work

bp = Blueprint("add_todo", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)

_ONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
_LONGEST_ID = 18  # digits of a bigint that every one of that length fits


@bp.get("/queues/<queue_id>/todos")
def show_form(queue_id: str) -> ResponseReturnValue:
    """The form; 404 for whoever may not write there, as for a queue that does not exist."""
    target = authoring.target(database(), answers.viewer().human, _number(queue_id))
    form = AddForm(formdata=None)
    form.once.data = secrets.token_urlsafe(18)
    return _page(target, form, status=200 if target.is_open else 409)


@bp.post("/queues/<queue_id>/todos")
@posts(AddForm, "todos/add_fields.html", button="Add todo")
def add_todo(queue_id: str) -> ResponseReturnValue:
    """Add one, then lead back to where the form was opened, with the focus on the new todo.

    As POST /api/v1/endpoints/{ref}/todos or the team's route. A live todo with the same key is
    409 with a link to it; the same form sent again leads to the todo it has made, and is 409 when
    its words have changed since.
    """
    human = answers.viewer().human
    target = authoring.target(database(), human, _number(queue_id))
    form = AddForm()
    work = read_work(form)
    if work is None:
        return _page(target, form, status=422)
    try:
        entered = authoring.add_to_queue(
            database(), human, target.queue_id, work, once=_once(form.once.data)
        )
    except InvalidArgument as wrong:
        blame_work(form, wrong)
        return _page(target, form, status=422)
    except Conflict as closed:
        form.blame(None, closed.sentence)
        return _page(target, form, status=409)
    return _added(target, form, entered)


def _added(target: Target, form: AddForm, entered: Entered) -> Response:
    if entered.earlier is not None:
        form.once.data = secrets.token_urlsafe(18)  # sent once more, it is a todo of its own
        return _page(target, form, status=409, existing=entered)
    if entered.is_duplicate:
        return _page(target, form, status=409, existing=entered)
    back = _back(target)
    title = (form.title.data or "").strip()
    return answers.see(
        back.path,
        flash=f"Added {isolate(title)} to {isolate(target.queue)}.",
        fragment=back.fragment or _place_of(target, entered, back),
    )


def _place_of(target: Target, entered: Entered, back: Back) -> str | None:
    """The new todo's own link where that page has one: the board, and the list of todos. The board
    shows the oldest of a long queue, so there its name takes the focus.
    """
    is_board = back.path == "/"
    if is_board and _is_long(target.queue_id):
        return f"q-{target.queue_id}-page"
    is_list = is_board or back.path.partition("?")[0] == "/todos"
    return f"todo-{entered.todo.id}-link" if is_list else None


def _is_long(queue_id: int) -> bool:
    seen = headers.headers_for(database(), answers.viewer().human.id, [queue_id])
    return any(each.counts.pending > MOST_PENDING for each in seen)


def _page(
    target: Target, form: AddForm, *, status: int, existing: Entered | None = None
) -> Response:
    return answers.form_page(
        "todos/add.html",
        form,
        status=status,
        heading=f"Add todo to {isolate(target.queue)}",
        help_topic="todos",
        target=target,
        back=_back(target),
        existing=existing,
        action=request.path,
        is_first=status == 200,
    )


def _back(target: Target) -> Back:
    return back_to(f"/queues/{target.queue_id}")


def _number(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID:
        return int(text)
    raise NotFound


def _once(text: str | None) -> str | None:
    return text if text and _ONCE.fullmatch(text) else None
