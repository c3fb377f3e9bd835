"""What the pages of webhooks show a human who may configure their endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.references import parse_uuid

SQL = load("webhook_pages")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookLine:
    """One webhook; `target_queue` is its display name, `queue_id` None without such a queue.

    `ingest_token` ends its URL; `state` is its endpoint's; `last_received_at` is None when no
    delivery that is still kept came.
    """

    id: UUID
    endpoint_id: UUID
    slug: str
    ingest_token: str
    source_type: str
    trust_mode: str
    created_at: datetime
    rotated_at: datetime | None
    target_queue: str
    queue_id: int | None
    state: str
    routes: int
    last_received_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """An active endpoint and its ceiling: how many webhooks, of which types, for which queues."""

    id: UUID
    slug: str
    agent_name: str
    max: int
    types: list[str]
    queues: list[str]
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChoice:
    """An endpoint a route could lead to."""

    id: UUID
    slug: str
    agent_name: str


def list_lines(
    db: Database, human: Human, endpoint_id: UUID | None = None
) -> list[WebhookLine]:
    """Every webhook the human may configure, newest first; of one endpoint when given."""
    return _lines(db, human, None, endpoint_id)


def webhook_line(db: Database, human: Human, webhook_id: str) -> WebhookLine:
    """One webhook the human may configure; foreign, unknown and malformed are NotFound."""
    # The nil uuid is nobody's: without an id the statement would answer every webhook.
    lines = _lines(db, human, parse_uuid(webhook_id) or UUID(int=0), None)
    if not lines:
        raise NotFound
    return lines[0]


def list_hosts(db: Database, human: Human) -> list[Host]:
    """The active endpoints the human may configure, newest first, with their ceilings."""
    with db.reading() as conn:
        return many(conn, SQL["read_hosts"], {"human_id": human.id}, Host)


def list_route_choices(db: Database, human: Human, webhook_id: UUID) -> list[RouteChoice]:
    """The endpoints a webhook could also deliver to, by slug."""
    params = {"human_id": human.id, "webhook_id": webhook_id}
    with db.reading() as conn:
        return many(conn, SQL["read_route_choices"], params, RouteChoice)


def _lines(
    db: Database, human: Human, webhook_id: UUID | None, endpoint_id: UUID | None
) -> list[WebhookLine]:
    params = {"human_id": human.id, "webhook_id": webhook_id, "endpoint_id": endpoint_id}
    with db.reading() as conn:
        return many(conn, SQL["read_webhooks"], params, WebhookLine)
