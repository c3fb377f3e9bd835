"""Webhooks and their routes, as lists for the endpoint itself or for who may configure it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Connection, Database, many, one, value
from app.db.statements import load
from app.domain.callers import Endpoint, Human, require_verb
from app.domain.errors import NotFound
from app.domain.references import endpoint_reference, parse_uuid

SQL = load("webhook_list")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRow:
    """One webhook; `target_queue` is its display name, `ingest_token` ends its URL."""

    id: UUID
    endpoint_id: UUID
    slug: str
    source_type: str
    target_queue: str
    trust_mode: str
    ingest_token: str
    created_at: datetime
    rotated_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """How many webhooks an endpoint may have, of which types and for which of its queues."""

    max: int
    allowed_source_types: list[str]
    allowed_queues: list[str]
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookListing:
    """An endpoint's webhooks, oldest first, and its ceiling."""

    webhooks: tuple[WebhookRow, ...]
    ceiling: Ceiling


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRow:
    """An endpoint that gets a copy of what a webhook receives."""

    endpoint_id: UUID
    slug: str
    granted_at: datetime


def list_for_endpoint(db: Database, endpoint: Endpoint) -> WebhookListing:
    """The endpoint's own webhooks and ceiling; Forbidden without the verb (agent-api.md)."""
    require_verb(endpoint, "list_webhooks")
    with db.reading() as conn:
        return _listing(conn, endpoint.id)


def list_of_endpoint(db: Database, human: Human, ref: str) -> WebhookListing:
    """The same for an endpoint the human may configure; NotFound for any other."""
    params = {"human_id": human.id, **endpoint_reference(ref)}
    with db.reading() as conn:
        endpoint_id = value(conn, SQL["read_endpoint_id"], params)
        if not isinstance(endpoint_id, UUID):
            raise NotFound
        return _listing(conn, endpoint_id)


def list_for_human(db: Database, human: Human) -> list[WebhookRow]:
    """Every webhook of every endpoint the human may configure, oldest first."""
    with db.reading() as conn:
        return many(conn, SQL["read_webhooks_of_human"], {"human_id": human.id}, WebhookRow)


def list_routes(db: Database, human: Human, webhook_id: str) -> list[RouteRow]:
    """The routes of a webhook the human may configure, oldest first; NotFound for any other.

    The owning endpoint gets its copy without a route and is not listed.
    """
    params = {"human_id": human.id, "webhook_id": parse_uuid(webhook_id)}
    with db.reading() as conn:
        if value(conn, SQL["read_may_configure"], params) is not True:
            raise NotFound
        return many(conn, SQL["read_routes"], params, RouteRow)


def _listing(conn: Connection, endpoint_id: UUID) -> WebhookListing:
    params = {"endpoint_id": endpoint_id}
    rows = many(conn, SQL["read_webhooks_of_endpoint"], params, WebhookRow)
    ceiling = one(conn, SQL["read_ceiling"], params, Ceiling)
    if ceiling is None:
        raise NotFound
    return WebhookListing(webhooks=tuple(rows), ceiling=ceiling)
