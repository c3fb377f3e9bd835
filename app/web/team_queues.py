"""The queues of a team: making one from the team's page, and deleting one that is empty."""

from __future__ import annotations

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, DomainError, InvalidArgument, NotFound
from app.domain.isolating import isolate
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import team_queues as queue_list
from app.reads.team_queues import TeamQueueRow
from app.reads.teams import TeamRow
from app.transactions import team_queues
from app.web import guard, team_door, team_words, teams
from app.web.answers import see
from app.web.forms import Form, posts
from app.web.team_forms import QueueForm

bp = Blueprint("team_queues", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@bp.post("/teams/<slug>/queues")
@posts(QueueForm, "teams/queue_fields.html", button="Create the queue")
def create(slug: str) -> ResponseReturnValue:
    """Make a queue of the team; one of that name that is there already is found."""
    team = team_door.of(slug, "admin")
    form = QueueForm()
    try:
        made, is_new = team_queues.create(database(), human(), slug, (form.name.data or "").strip())
    except InvalidArgument as refused:
        return teams.team_page(slug, form, refused)
    word = "is created" if is_new else "was there already"
    said = f"Queue {isolate(made.queue)} {word}."
    return see(team_words.path_of(team), flash=said, fragment=f"queue-{made.id}")


@bp.get("/teams/<slug>/queues/<queue_id>/delete")
def show_delete(slug: str, queue_id: str) -> ResponseReturnValue:
    """Say what deleting a queue will do and what it needs."""
    team, row = team_door.of(slug, "admin"), _row(slug, queue_id)
    if row is None:
        raise NotFound
    return _delete_page(team, row, Form(formdata=None))


@bp.post("/teams/<slug>/queues/<queue_id>/delete")
@posts(Form, button="Delete the queue for good")
def delete(slug: str, queue_id: str) -> ResponseReturnValue:
    """Delete a queue; sent twice, the second finds it gone and says so."""
    team, row = team_door.of(slug, "admin"), _row(slug, queue_id)
    said = "That queue is not there."
    if row is not None:
        said = f"Queue {isolate(row.queue)} is deleted."
        try:
            team_queues.delete(database(), human(), slug, row.name)
        except Conflict as refused:
            return _delete_page(team, row, Form(), refused)
        except NotFound:
            said = f"Queue {isolate(row.queue)} is deleted already."
    return see(team_words.path_of(team), flash=said, fragment="queues")


def _row(slug: str, queue_id: str) -> TeamQueueRow | None:
    rows = queue_list.list_queues(database(), human(), slug)
    return next((row for row in rows if str(row.id) == queue_id), None)


def _delete_page(
    team: TeamRow, row: TeamQueueRow, form: Form, refused: DomainError | None = None
) -> Response:
    queue = isolate(row.queue)
    return team_door.confirm_page(
        team,
        form,
        heading=f"Delete queue {queue}",
        sentences=[
            "A queue can be deleted when no todo in it is pending, claimed or waiting for a"
            " retry. Finish or discard them first.",
            "It goes with its budget, the history of that budget, and the todos that have ended"
            " in it. Endpoints that drain it no longer do.",
            "Nothing of it can be brought back.",
        ],
        act=f"queues/{row.id}/delete",
        button=f"Delete queue {queue} for good",
        keep=f"Keep queue {queue}",
        back=f"#queue-{row.id}",
        status=200 if refused is None else team_door.blame(form, refused),
    )
