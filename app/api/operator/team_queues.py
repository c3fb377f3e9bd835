"""Team queues by API: list, make, delete, and write a todo into one (operator-api.md, "Teams").

A queue's name is the rest of the path. It may hold a slash and may end in /todos: what follows the
last /todos of a POST is nothing, so the name is all that stands before it.
"""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api.arguments import AnyJson, Arguments, Text
from app.api.operator.door import asked, asked_or_empty, bp, queried
from app.domain.authoring import DEFAULT_KIND, NewWork
from app.domain.values import Json
from app.edge.deps import database, human
from app.reads import team_queues as lists
from app.reads.team_queues import TeamQueueRow
from app.transactions import authoring, team_queues


class CreateQueue(Arguments):
    """Body of POST /teams/{slug}/queues."""

    name: Text


class TeamWork(Arguments):
    """Body of POST /teams/{slug}/queues/{queue}/todos."""

    title: Text
    kind: Text = DEFAULT_KIND
    payload: AnyJson = None
    key: Text | None = None


@bp.get("/teams/<slug>/queues")
def list_team_queues(slug: str) -> ResponseReturnValue:
    """The queues of a team, for any of its members."""
    queried(Arguments)
    return jsonify(queues=[_row(row) for row in lists.list_queues(database(), human(), slug)])


@bp.post("/teams/<slug>/queues")
def create_team_queue(slug: str) -> ResponseReturnValue:
    """Make a queue; 200 with the one there is when the team has it already."""
    row, is_new = team_queues.create(database(), human(), slug, asked(CreateQueue).name)
    return jsonify(_row(row)), 201 if is_new else 200


@bp.delete("/teams/<slug>/queues/<path:queue>")
def delete_team_queue(slug: str, queue: str) -> ResponseReturnValue:
    """Delete a queue without live todos."""
    asked_or_empty(Arguments)
    return jsonify(id=team_queues.delete(database(), human(), slug, queue), deleted=True)


@bp.post("/teams/<slug>/queues/<path:queue>/todos")
def add_team_todo(slug: str, queue: str) -> ResponseReturnValue:
    """Write a todo for the team; 200 with the live one when its key was there already."""
    body = asked(TeamWork)
    work = NewWork(title=body.title, kind=body.kind, payload=body.payload, key=body.key)
    made = authoring.add_team_todo(database(), human(), slug, queue, work)
    answer: dict[str, Json] = {
        "id": made.todo.id,
        "team": made.team,
        "queue": made.queue,
        "state": made.todo.state,
        "created": made.todo.created,
        "event_id": made.todo.event_id,
    }
    return jsonify(answer), 201 if made.todo.created else 200


def _row(row: TeamQueueRow) -> dict[str, Json]:
    return {
        "id": row.id,
        "name": row.name,
        "queue": row.queue,
        "has_policy": row.has_policy,
        "drained_by": [
            {"endpoint_id": str(each.endpoint_id), "slug": each.slug} for each in row.drained_by
        ],
    }
