"""The team queues an endpoint drains, by API (operator-api.md, "Teams")."""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api.arguments import Arguments
from app.api.operator.door import asked_or_empty, bp, queried
from app.edge.deps import database, human
from app.reads import team_queues
from app.transactions import team_grants

_PATH = "/endpoints/<ref>/team-queues/<slug>/<path:queue>"


@bp.get("/endpoints/<ref>/team-queues")
def list_team_grants(ref: str) -> ResponseReturnValue:
    """The team queues an endpoint was granted; a revoked endpoint can be read still."""
    queried(Arguments)
    found = team_queues.granted_to(database(), human(), ref)
    return jsonify(team_queues=[{"id": each.id, "queue": each.queue} for each in found])


@bp.put(_PATH)
def grant_team_queue(ref: str, slug: str, queue: str) -> ResponseReturnValue:
    """Let the endpoint drain the queue, once however often asked."""
    asked_or_empty(Arguments)
    made = team_grants.grant(database(), human(), ref, slug, queue)
    return jsonify(endpoint_id=str(made.endpoint_id), queue=made.queue, granted=True)


@bp.delete(_PATH)
def ungrant_team_queue(ref: str, slug: str, queue: str) -> ResponseReturnValue:
    """Take the queue away from the endpoint, with what it holds there."""
    asked_or_empty(Arguments)
    made = team_grants.ungrant(database(), human(), ref, slug, queue)
    return jsonify(endpoint_id=str(made.endpoint_id), queue=made.queue, granted=False)
