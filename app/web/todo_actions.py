"""What a person does to one todo: claim, settle, extend, release, retry, discard."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.domain.callers import Human
from app.domain.errors import Conflict, Deferred, RoleRequired
from app.domain.isolating import isolate
from app.domain.todos import State, Todo
from app.edge import client
from app.edge.deps import database, state
from app.edge.identify import identify_session
from app.reads import headers, todo_page
from app.reads.todo_page import SeenTodo
from app.transactions import claiming, settling
from app.transactions.settling import Settlement
from app.web import answers, guard
from app.web.forms import acts, posts
from app.web.present import instant
from app.web.todo_back import HERE, Back, back_to, landing
from app.web.todo_forms import SettleForm, read_settlement
from app.web.todo_page_view import todo_view
from app.web.todo_refusals import refused
from app.web.todos import todo_answer

bp = Blueprint("todo_actions", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.post("/todos/<todo_id>/claim")
@acts("Claim the todo")
def claim_todo(todo_id: str) -> ResponseReturnValue:
    """Claim for 300 s, through the same admission section as every claim, and charged (R44)."""
    return _act(
        todo_id,
        "claim",
        lambda human: claiming.board_claim(
            database(), human, todo_id, gone=client.is_gone
        ).todo,
        lambda todo: f"Claimed {isolate(todo.title)}. The lease ends {_at(todo)}.",
    )


@bp.post("/todos/<todo_id>/extend")
@acts("Extend the lease")
def extend_todo(todo_id: str) -> ResponseReturnValue:
    """Move one's own lease to 300 s from now."""
    return _act(
        todo_id,
        "extend the lease of",
        lambda human: settling.extend(database(), human, todo_id),
        lambda todo: f"Extended the lease of {isolate(todo.title)}. It ends {_at(todo)}.",
    )


@bp.post("/todos/<todo_id>/release")
@acts("Release the todo")
def release_todo(todo_id: str) -> ResponseReturnValue:
    """Hand back a todo claimed on the board."""
    return _act(
        todo_id,
        "release",
        lambda human: settling.release_as(database(), human, todo_id, Settlement()),
        lambda todo: f"Released {isolate(todo.title)}. It is pending again.",
    )


@bp.post("/todos/<todo_id>/retry")
@acts("Retry the todo now")
def retry_todo(todo_id: str) -> ResponseReturnValue:
    """Make a failed todo pending again, with a fresh set of attempts."""
    return _act(
        todo_id,
        "retry",
        lambda human: settling.retry_now(database(), human, todo_id),
        lambda todo: f"{isolate(todo.title)} is pending again, with a fresh set of attempts.",
    )


@bp.get("/todos/<todo_id>/discard")
def confirm_discard(todo_id: str) -> ResponseReturnValue:
    """Ask once; changes nothing. A todo that cannot be discarded is 409 already here (R65)."""
    viewer = answers.viewer()
    seen = todo_page.see_todo(database(), viewer.human, todo_id)
    if not seen.facts.may_configure:
        raise RoleRequired("Only an owner or admin of the team may discard its todos.")
    back = _back(seen.todo.id)
    view = todo_view(seen, viewer.human, viewer.zone)
    if not view.acts.discard:
        return _refused(
            todo_id,
            "discard",
            Conflict("Only a pending todo or a parked retry can be discarded."),
        )
    return render_template(
        "todos/discard.html",
        heading=f"Discard {isolate(seen.todo.title)}",
        help_topic="todos",
        todo=view,
        back=back,
    )


@bp.post("/todos/<todo_id>/discard")
@acts("Discard the todo")
def discard_todo(todo_id: str) -> ResponseReturnValue:
    """Make a pending todo or a parked retry a dead letter; charges nothing (R65)."""
    return _act(
        todo_id,
        "discard",
        lambda human: settling.discard(database(), human, todo_id),
        lambda todo: f"Discarded {isolate(todo.title)}. It is a dead letter now.",
    )


@bp.post("/todos/<todo_id>/complete")
@posts(SettleForm, "todos/settle_fields.html", button="Complete the todo")
def complete_todo(todo_id: str) -> ResponseReturnValue:
    """Finish a todo claimed on the board. The same word twice is one (R66)."""
    return _settle(
        todo_id,
        "complete",
        settling.complete_as,
        lambda todo: f"Completed {isolate(todo.title)}.",
    )


@bp.post("/todos/<todo_id>/fail")
@posts(SettleForm, "todos/settle_fields.html", button="Fail the todo")
def fail_todo(todo_id: str) -> ResponseReturnValue:
    """Fail a todo claimed on the board: a retry is planned, or it is a dead letter."""
    return _settle(todo_id, "fail", settling.fail_as, _failed)


def _settle(
    todo_id: str,
    act: str,
    verb: Callable[..., Todo],
    done: Callable[[Todo], str],
) -> ResponseReturnValue:
    form = SettleForm()
    settlement = read_settlement(form, from_result=state().config.attempt_summary_from_result)
    if settlement is None:
        seen = todo_page.see_todo(database(), answers.viewer().human, todo_id)
        return todo_answer(seen, form, _back(seen.todo.id), status=422)
    before = todo_page.see_todo(database(), answers.viewer().human, todo_id)
    return _act(
        todo_id,
        act,
        lambda human: verb(database(), human, todo_id, settlement),
        done if before.todo.state == State.CLAIMED else _repeated,
        form,
    )


def _act(
    todo_id: str,
    act: str,
    verb: Callable[[Human], Todo],
    done: Callable[[Todo], str],
    form: SettleForm | None = None,
) -> ResponseReturnValue:
    """Do it, then lead back to where the form was, with the focus on the todo; or say why not."""
    try:
        todo = verb(answers.viewer().human)
    except (Conflict, Deferred) as error:
        return _refused(todo_id, act, error, form)
    back = _back(todo.id)
    return answers.see(back.path, flash=done(todo), fragment=landing(back, todo))


def _refused(
    todo_id: str, act: str, error: Conflict | Deferred, form: SettleForm | None = None
) -> ResponseReturnValue:
    viewer = answers.viewer()
    seen = todo_page.see_todo(database(), viewer.human, todo_id)
    return todo_answer(
        seen,
        form or SettleForm(formdata=None),
        _back(seen.todo.id),
        status=409,
        refusal=refused(
            act, error, seen, viewer.human, viewer.zone, _fault(viewer.human, seen, error)
        ),
    )


def _fault(human: Human, seen: SeenTodo, error: Conflict | Deferred) -> str | None:
    if not isinstance(error, Deferred):
        return None
    found = headers.headers_for(database(), human.id, [seen.todo.queue_id])
    return found[0].fault.kind if found and found[0].fault else None


def _back(todo_id: str) -> Back:
    return back_to(f"/todos/{todo_id}", HERE)


def _at(todo: Todo) -> str:
    ends = instant(todo.lease_expires_at, answers.viewer().zone)
    return "" if ends is None else ends.words


def _repeated(todo: Todo) -> str:
    """The first word stands (R66), so what came with the second is told to be dropped."""
    return (
        f"The claim of {isolate(todo.title)} had ended already. What was said first stands;"
        " nothing of what you sent now was recorded."
    )


def _failed(todo: Todo) -> str:
    at = instant(todo.next_retry_at, answers.viewer().zone)
    if at is None:
        return f"Failed {isolate(todo.title)}. It is a dead letter now."
    return f"Failed {isolate(todo.title)}. It is retried {at.words}."
