"""Routes of a webhook: other endpoints that get a copy, added and removed by its owner."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db.database import Database, one, run
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import Conflict, Forbidden, RouteOutOfScope
from app.domain.references import endpoint_reference, parse_uuid
from app.transactions import webhooks

SQL = load("routes")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    id: UUID
    is_in_reach: bool


def add_route(db: Database, human: Human, webhook_id: str, ref: str) -> None:
    """Let an endpoint have a copy of every delivery; adding it again changes nothing.

    The target must be active and the human's to configure: any other, unknown or foreign, is the
    same Forbidden. RouteOutOfScope when the webhook's owner does not reach it.
    (operator-api.md, "Routes of a webhook")
    """
    with db.transaction() as conn:
        webhook = webhooks.lock_active_as(conn, human, webhook_id)
        params: dict[str, object] = {
            "human_id": human.id,
            "owner_endpoint_id": webhook.endpoint_id,
            **endpoint_reference(ref),
        }
        target = one(conn, SQL["read_route_target"], params, _Target)
        if target is None:
            raise Forbidden("The target is not an active endpoint you may configure.")
        if not target.is_in_reach:
            raise RouteOutOfScope
        if target.id != webhook.endpoint_id:  # the owner is a target without a row
            route = {"webhook_id": webhook.id, "target_id": target.id, "human_id": human.id}
            run(conn, SQL["insert_route"], route)


def remove_route(db: Database, human: Human, webhook_id: str, endpoint_id: str) -> None:
    """Stop an endpoint's copies; removing what is not there changes nothing.

    Raises Conflict for the owning endpoint, which always gets its deliveries.
    """
    with db.transaction() as conn:
        webhook = webhooks.lock_active_as(conn, human, webhook_id)
        target_id = parse_uuid(endpoint_id)
        if target_id == webhook.endpoint_id:
            raise Conflict("The owning endpoint always gets its deliveries.")
        run(conn, SQL["delete_route"], {"webhook_id": webhook.id, "target_id": target_id})
