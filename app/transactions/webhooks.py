"""Webhooks: create, rotate and delete, by the endpoint itself or by who may configure it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db.database import Connection, Database, one, run, value
from app.db.statements import load
from app.domain.callers import Endpoint, Human, require_verb
from app.domain.errors import (
    CeilingExceeded,
    Forbidden,
    ForbiddenSourceType,
    InvalidArgument,
    NotFound,
    ReferenceOutOfScope,
    RoleRequired,
)
from app.domain.queues import TEAM_PREFIX, TeamQueue, check_queue_name, parse_team_queue
from app.domain.references import parse_uuid, storable
from app.domain.vending import parse_source
from app.transactions import configuring, webhook_secrets
from app.transactions.webhook_secrets import MintedWebhook, NewWebhook

SQL = load("webhooks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A webhook as locked; `state` is that of its endpoint, an expired one being `revoked`."""

    id: UUID
    endpoint_id: UUID
    source_type: str
    target_queue: str
    trust_mode: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ceiling:
    webhook_max: int
    webhook_source_types: list[str]
    webhook_queues: list[str]
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _TeamTarget:
    team_id: UUID
    role: str
    members_create_webhooks: bool
    queue_id: int | None


def create(
    db: Database, endpoint: Endpoint, source_type: str, target_queue: str
) -> MintedWebhook:
    """Mint a webhook for the endpoint's own queue, within its ceiling.

    Order of refusals: agent-api.md, "Webhook verbs".
    """
    require_verb(endpoint, "create_webhook")
    _require_source(source_type)
    _check_own_queue(target_queue, "only a person can make a webhook that delivers to a team.")
    with db.transaction() as conn:
        return _create(db, conn, endpoint.id, source_type, target_queue, None)


def create_as(
    db: Database, human: Human, ref: str, source_type: str, target_queue: str
) -> MintedWebhook:
    """As `create`, by who may configure the endpoint; the target may be a team queue.

    (operator-api.md, "Webhook targets")
    """
    with db.transaction() as conn:
        return create_within(db, conn, human, ref, source_type, target_queue)


def create_within(
    db: Database, conn: Connection, human: Human, ref: str, source_type: str, target_queue: str
) -> MintedWebhook:
    """As `create_as`, inside the caller's transaction."""
    found = configuring.find_active(conn, human, ref)
    _require_source(source_type)
    team_queue = parse_team_queue(target_queue)
    if team_queue is None:
        _check_own_queue(target_queue, f"write a team's queue as {TEAM_PREFIX}SLUG/NAME.")
        return _create(db, conn, found.id, source_type, target_queue, None)
    queue_id = _team_queue_id(conn, human, found.id, team_queue)
    return _create(db, conn, found.id, source_type, target_queue, queue_id)


def rotate(db: Database, endpoint: Endpoint, webhook_id: str) -> MintedWebhook:
    """Give a webhook a new URL and secret; the old ones stop at once. NotFound for another's."""
    require_verb(endpoint, "rotate_webhook")
    with db.transaction() as conn:
        return _rotate(db, conn, _lock_own(conn, endpoint, webhook_id))


def rotate_as(db: Database, human: Human, webhook_id: str) -> MintedWebhook:
    """As `rotate`, by who may configure its endpoint."""
    with db.transaction() as conn:
        return rotate_within(db, conn, human, webhook_id)


def rotate_within(
    db: Database, conn: Connection, human: Human, webhook_id: str
) -> MintedWebhook:
    """As `rotate_as`, inside the caller's transaction."""
    return _rotate(db, conn, lock_active_as(conn, human, webhook_id))


def delete(db: Database, endpoint: Endpoint, webhook_id: str) -> UUID:
    """Delete a webhook of the endpoint; its events stay. NotFound for another's."""
    require_verb(endpoint, "delete_webhook")
    with db.transaction() as conn:
        return _delete(conn, _lock_own(conn, endpoint, webhook_id))


def delete_as(db: Database, human: Human, webhook_id: str) -> UUID:
    """As `delete`, by who may configure its endpoint."""
    with db.transaction() as conn:
        return _delete(conn, lock_active_as(conn, human, webhook_id))


def lock_active_as(conn: Connection, human: Human, webhook_id: str) -> Webhook:
    """Lock a webhook of an active endpoint the human may configure.

    Raises NotFound for any other webhook, Conflict with `state` on a revoked endpoint.
    """
    params = {"webhook_id": parse_uuid(webhook_id), "human_id": human.id}
    found = one(conn, SQL["lock_webhook_of_human"], params, Webhook)
    if found is None:
        raise NotFound
    configuring.require_active(found.state)
    return found


def _require_source(source_type: str) -> None:
    if not source_type.strip():
        raise InvalidArgument("source_type must not be blank.", field="source_type")


def _check_own_queue(name: str, for_team: str) -> None:
    """Raise InvalidArgument on `target_queue`; `for_team` is what is wrong with a team's queue."""
    if name.startswith(TEAM_PREFIX):
        raise InvalidArgument(f"target_queue: {for_team}", field="target_queue")
    check_queue_name(name, field="target_queue")


def _create(
    db: Database,
    conn: Connection,
    endpoint_id: UUID,
    source_type: str,
    target_queue: str,
    team_queue_id: int | None,
) -> MintedWebhook:
    ceiling = one(conn, SQL["lock_endpoint"], {"endpoint_id": endpoint_id}, _Ceiling)
    if ceiling is None:
        raise NotFound
    configuring.require_active(ceiling.state)
    if source_type not in ceiling.webhook_source_types:
        raise ForbiddenSourceType
    source = parse_source(source_type)
    if team_queue_id is None and target_queue not in ceiling.webhook_queues:
        raise Forbidden("The endpoint may not create webhooks for this queue.")
    used = value(conn, SQL["read_count"], {"endpoint_id": endpoint_id})
    if not isinstance(used, int) or used >= ceiling.webhook_max:
        raise CeilingExceeded(
            "The endpoint has as many webhooks as it may. Delete one before you make another."
        )
    new = NewWebhook(
        endpoint_id=endpoint_id,
        source=source,
        target_queue=target_queue,
        team_queue_id=team_queue_id,
    )
    return webhook_secrets.insert(db, conn, new)


def _team_queue_id(conn: Connection, human: Human, endpoint_id: UUID, queue: TeamQueue) -> int:
    params: dict[str, object] = {
        "slug": storable(queue.slug),
        "name": queue.name,
        "human_id": human.id,
    }
    target = one(conn, SQL["read_team_target"], params, _TeamTarget)
    if target is None or target.queue_id is None:
        raise NotFound
    if target.role == "member" and not target.members_create_webhooks:
        raise RoleRequired
    reach: dict[str, object] = {"endpoint_id": endpoint_id, "team_id": target.team_id}
    if not value(conn, SQL["read_owner_reaches_team"], reach):
        raise ReferenceOutOfScope
    return target.queue_id


def _lock_own(conn: Connection, endpoint: Endpoint, webhook_id: str) -> Webhook:
    params = {"webhook_id": parse_uuid(webhook_id), "endpoint_id": endpoint.id}
    found = one(conn, SQL["lock_webhook_of_endpoint"], params, Webhook)
    if found is None:
        raise NotFound
    return found


def _rotate(db: Database, conn: Connection, webhook: Webhook) -> MintedWebhook:
    return webhook_secrets.replace(
        db,
        conn,
        webhook_id=webhook.id,
        source_type=webhook.source_type,
        target_queue=webhook.target_queue,
        trust_mode=webhook.trust_mode,
    )


def _delete(conn: Connection, webhook: Webhook) -> UUID:
    run(conn, SQL["delete_webhook"], {"webhook_id": webhook.id})
    return webhook.id
