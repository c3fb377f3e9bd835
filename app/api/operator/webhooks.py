"""Webhooks and their routes by API."""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api import shapes
from app.api.arguments import Arguments, Text
from app.api.operator.door import asked, asked_or_empty, bp
from app.domain.values import Json, rfc3339
from app.edge.deps import database, human, state
from app.reads import webhooks as lists
from app.reads.webhooks import WebhookRow
from app.transactions import routes, webhooks


class Create(Arguments):
    """Body of POST /endpoints/{ref}/webhooks."""

    source_type: Text
    target_queue: Text


class Route(Arguments):
    """Body of POST /webhooks/{id}/routes: an endpoint by slug or id."""

    endpoint: Text


@bp.get("/webhooks")
def list_webhooks() -> ResponseReturnValue:
    """Every webhook of every endpoint the human may configure."""
    rows = lists.list_for_human(database(), human())
    return jsonify(webhooks=[_owned_row(row) for row in rows])


@bp.get("/endpoints/<ref>/webhooks")
def list_endpoint_webhooks(ref: str) -> ResponseReturnValue:
    """One endpoint's webhooks and its ceiling."""
    listing = lists.list_of_endpoint(database(), human(), ref)
    return jsonify(shapes.webhook_listing(listing, state().config.base_url))


@bp.post("/endpoints/<ref>/webhooks")
def create_webhook(ref: str) -> ResponseReturnValue:
    """Make a webhook; its secret is in this answer only."""
    body = asked(Create)
    minted = webhooks.create_as(
        database(), human(), ref, body.source_type, body.target_queue
    )
    return jsonify(shapes.minted_webhook(minted, state().config.base_url)), 201


@bp.post("/webhooks/<webhook_id>/rotate")
def rotate_webhook(webhook_id: str) -> ResponseReturnValue:
    """Replace a webhook's URL and secret; the old ones stop at once."""
    asked_or_empty(Arguments)
    minted = webhooks.rotate_as(database(), human(), webhook_id)
    return jsonify(shapes.minted_webhook(minted, state().config.base_url))


@bp.delete("/webhooks/<webhook_id>")
def delete_webhook(webhook_id: str) -> ResponseReturnValue:
    """Delete a webhook; its events stay."""
    asked_or_empty(Arguments)
    deleted = webhooks.delete_as(database(), human(), webhook_id)
    return jsonify(webhook_id=str(deleted), deleted=True)


@bp.get("/webhooks/<webhook_id>/routes")
def list_routes(webhook_id: str) -> ResponseReturnValue:
    """The endpoints that get a copy beside the owning one."""
    return _routes(webhook_id)


@bp.post("/webhooks/<webhook_id>/routes")
def add_route(webhook_id: str) -> ResponseReturnValue:
    """Add a route, once however often asked; answers the list."""
    routes.add_route(database(), human(), webhook_id, asked(Route).endpoint)
    return _routes(webhook_id)


@bp.delete("/webhooks/<webhook_id>/routes/<endpoint_id>")
def remove_route(webhook_id: str, endpoint_id: str) -> ResponseReturnValue:
    """Remove a route, there or not; answers the list."""
    asked_or_empty(Arguments)
    routes.remove_route(database(), human(), webhook_id, endpoint_id)
    return _routes(webhook_id)


def _routes(webhook_id: str) -> ResponseReturnValue:
    rows = lists.list_routes(database(), human(), webhook_id)
    return jsonify(
        routes=[
            {
                "endpoint_id": str(row.endpoint_id),
                "slug": row.slug,
                "granted_at": rfc3339(row.granted_at),
            }
            for row in rows
        ]
    )


def _owned_row(row: WebhookRow) -> dict[str, Json]:
    listed = shapes.webhook_row(row, state().config.base_url)
    return listed | {"endpoint_id": str(row.endpoint_id), "slug": row.slug}
