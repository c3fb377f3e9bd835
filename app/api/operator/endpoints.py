"""Endpoints by API: vend, list, change the default lease, revoke, delete, write a todo."""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue
from pydantic import Field

from app.api import shapes
from app.api.arguments import AnyJson, Arguments, Text
from app.api.operator.door import asked, asked_or_empty, bp
from app.domain.authoring import DEFAULT_KIND, NewWork
from app.domain.todos import lease_seconds
from app.domain.values import Json, rfc3339
from app.domain.vending import DEFAULT_QUEUES, VendRequest
from app.domain.verbs import BASICS
from app.edge.deps import database, human, state
from app.reads import endpoints as lists
from app.reads.endpoints import EndpointRow
from app.transactions import authoring, endpoints
from app.transactions.endpoints import Vended


class Vend(Arguments):
    """Body of POST /endpoints."""

    name: Text
    queues: list[Text] = Field(default=[*DEFAULT_QUEUES])
    verbs: list[Text] = Field(default=[*BASICS])
    lifetime: Text | None = None
    default_lease_ttl_seconds: int | None = None
    webhook_source_type: Text = "generic"
    team: Text | None = None


class Change(Arguments):
    """Body of PATCH /endpoints/{ref}: exactly this key."""

    default_lease_ttl_seconds: int | None


class Work(Arguments):
    """Body of POST /endpoints/{ref}/todos."""

    title: Text
    queue: Text | None = None
    kind: Text = DEFAULT_KIND
    payload: AnyJson = None
    key: Text | None = None


@bp.post("/endpoints")
def vend_endpoint() -> ResponseReturnValue:
    """Vend an endpoint; its token and its webhook's secret are in this answer only."""
    body = asked(Vend)
    request = VendRequest(
        name=body.name,
        queues=tuple(body.queues),
        verbs=tuple(body.verbs),
        lifetime=body.lifetime,
        default_lease_ttl_seconds=body.default_lease_ttl_seconds,
        webhook_source_type=body.webhook_source_type,
        team=body.team,
    )
    return jsonify(_vended(endpoints.vend(database(), human(), request))), 201


@bp.get("/endpoints")
def list_endpoints() -> ResponseReturnValue:
    """Every endpoint the human may configure, newest first."""
    return jsonify(endpoints=[_row(row) for row in lists.list_endpoints(database(), human())])


@bp.patch("/endpoints/<ref>")
def change_endpoint(ref: str) -> ResponseReturnValue:
    """Set or clear an endpoint's default lease."""
    seconds = asked(Change).default_lease_ttl_seconds
    return jsonify(_row(endpoints.set_default_lease_as(database(), human(), ref, seconds)))


@bp.post("/endpoints/<ref>/revoke")
def revoke_endpoint(ref: str) -> ResponseReturnValue:
    """End an endpoint for good."""
    asked_or_empty(Arguments)
    ended = endpoints.revoke(database(), human(), ref)
    return jsonify(
        id=str(ended.id), slug=ended.slug, agent_name=ended.agent_name, state="revoked"
    )


@bp.delete("/endpoints/<ref>")
def delete_endpoint(ref: str) -> ResponseReturnValue:
    """Delete a revoked endpoint with everything it holds."""
    asked_or_empty(Arguments)
    return jsonify(id=str(endpoints.delete(database(), human(), ref)), deleted=True)


@bp.post("/endpoints/<ref>/todos")
def add_todo(ref: str) -> ResponseReturnValue:
    """Write a todo; 200 with the live one when its key was there already."""
    body = asked(Work)
    work = NewWork(
        title=body.title, queue=body.queue, kind=body.kind, payload=body.payload, key=body.key
    )
    made = authoring.add_todo(database(), human(), ref, work)
    answer: dict[str, Json] = {
        "id": made.todo.id,
        "endpoint_id": str(made.endpoint_id),
        "slug": made.slug,
        "queue": made.todo.queue_name,
        "state": made.todo.state,
        "created": made.todo.created,
        "event_id": made.todo.event_id,
    }
    return jsonify(answer), 201 if made.todo.created else 200


def _row(row: EndpointRow) -> dict[str, Json]:
    expires: dict[str, Json] = {}
    if row.expires_at is not None:
        expires["expires_at"] = rfc3339(row.expires_at)
    return {
        "id": str(row.id),
        "slug": row.slug,
        "agent_name": row.agent_name,
        "state": row.state,
        "queues": [*row.queues],
        "verbs": [*row.verbs],
        **expires,
        "default_lease_ttl_seconds": row.default_lease_ttl_seconds,
        "effective_lease_ttl_seconds": lease_seconds(None, row.default_lease_ttl_seconds),
    }


def _vended(vended: Vended) -> dict[str, Json]:
    base_url = state().config.base_url
    webhook: dict[str, Json] = {
        "webhook_id": str(vended.webhook.id),
        "ingest_url": shapes.ingest_url(base_url, vended.webhook.ingest_token),
        "source_type": vended.webhook.source_type,
        "trust_mode": vended.webhook.trust_mode,
    }
    if vended.webhook.signing_secret is not None:
        webhook["signing_secret"] = vended.webhook.signing_secret
    answer: dict[str, Json] = {
        "agent_name": vended.agent_name,
        "slug": vended.slug,
        "endpoint_id": str(vended.endpoint_id),
        "token": vended.token,
        "queues": [*vended.queues],
        "verbs": [*vended.verbs],
        "agent_url": f"{base_url}/agent/v1",
        "webhook": webhook,
    }
    if vended.expires_at is not None:
        answer["expires_at"] = rfc3339(vended.expires_at)
    return answer
