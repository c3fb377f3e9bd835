"""What the pages of endpoints show one viewer: the list, one grant, what a revoke would end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many, one
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.references import parse_uuid

SQL = load("endpoint_pages")

MOST_HELD = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEndpoint:
    """One row of the list; `team` is the slug of the team that owns it, None for one's own."""

    id: UUID
    slug: str
    agent_name: str
    team: str | None
    may_configure: bool
    queues: list[str]
    state: str
    expires_at: datetime | None
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """One endpoint with its whole grant; an expired one is `revoked` with `revoked_at` None until
    the sweep comes."""

    id: UUID
    slug: str
    agent_name: str
    team: str | None
    may_configure: bool
    vended_by: str
    verbs: list[str]
    queues: list[str]
    credential_prefix: str
    created_at: datetime
    revoked_at: datetime | None
    expires_at: datetime | None
    last_seen_at: datetime | None
    default_lease_ttl_seconds: int | None
    webhook_max: int
    webhook_source_types: list[str]
    webhook_queues: list[str]
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOfEndpoint:
    """A queue by its display name; one that is not granted holds todos the endpoint cannot work."""

    id: int
    name: str
    is_team: bool
    is_granted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A todo the endpoint has claimed, its queue by display name."""

    id: str
    title: str
    lease_expires_at: datetime
    queue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPage:
    """Everything the page of one endpoint says; at most 51 todos held, the first to lapse first."""

    granted: Granted
    queues: list[QueueOfEndpoint]
    held: list[Held]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How many todos a revoke would dead-letter by state, and how many team todos it hands back."""

    pending: int
    claimed: int
    parked: int
    team_held: int


def list_seen(db: Database, human: Human) -> list[SeenEndpoint]:
    """The human's endpoints and those of their teams, as a plain member too; newest first."""
    with db.reading() as conn:
        return many(conn, SQL["read_seen_endpoints"], {"human_id": human.id}, SeenEndpoint)


def endpoint_page(db: Database, human: Human, endpoint_id: str) -> EndpointPage:
    """One endpoint in the human's scope by id; foreign, unknown and malformed are NotFound."""
    params = {"human_id": human.id, "endpoint_id": parse_uuid(endpoint_id)}
    with db.reading() as conn:
        granted = one(conn, SQL["read_endpoint"], params, Granted)
        if granted is None:
            raise NotFound
        return EndpointPage(
            granted=granted,
            queues=many(conn, SQL["read_queues"], params, QueueOfEndpoint),
            held=many(conn, SQL["read_held"], params, Held),
        )


def granted(db: Database, human: Human, endpoint_id: str) -> Granted:
    """One endpoint the human may configure, by id; NotFound for any other, a plain member's too."""
    params = {"human_id": human.id, "endpoint_id": parse_uuid(endpoint_id)}
    with db.reading() as conn:
        found = one(conn, SQL["read_endpoint"], params, Granted)
    if found is None or not found.may_configure:
        raise NotFound
    return found


def ending(db: Database, human: Human, endpoint_id: str) -> Ending:
    """What revoking an endpoint would end now; NotFound unless the human may configure it."""
    params = {"human_id": human.id, "endpoint_id": parse_uuid(endpoint_id)}
    with db.reading() as conn:
        found = one(conn, SQL["read_ending"], params, Ending)
    if found is None:
        raise NotFound
    return found
