"""Endpoints: vend, revoke, delete, and the default lease."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db import minting
from app.db.database import Connection, Database, one, run
from app.db.statements import load
from app.domain.callers import Endpoint, Human, require_verb
from app.domain.errors import Conflict, NotFound, RoleRequired, Unavailable
from app.domain.lifetimes import check_default_lease
from app.domain.references import storable
from app.domain.tokens import display_prefix, hash_token, slugify
from app.domain.vending import Grant, VendRequest, check_vend
from app.reads.endpoints import EndpointRow
from app.transactions import configuring, ending, webhook_secrets
from app.transactions.webhook_secrets import MintedWebhook, NewWebhook

SQL = load("endpoints")

_SLUG_DRAWS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Vended:
    """A fresh endpoint with its first webhook; `token` is shown this once."""

    endpoint_id: UUID
    agent_name: str
    slug: str
    token: str
    queues: tuple[str, ...]
    verbs: tuple[str, ...]
    expires_at: datetime | None
    webhook: MintedWebhook


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """The endpoint that ended just now."""

    id: UUID
    slug: str
    agent_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Team:
    team_id: UUID
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inserted:
    id: UUID
    slug: str
    expires_at: datetime | None


def vend(db: Database, human: Human, request: VendRequest) -> Vended:
    """Make agent, endpoint, scope queues and one webhook, all or none.

    Raises InvalidArgument naming the field, NotFound for a team the human is outside of,
    RoleRequired for a mere member. (operator-api.md, "POST /endpoints")
    """
    with db.transaction() as conn:
        return vend_within(db, conn, human, request)


def vend_within(db: Database, conn: Connection, human: Human, request: VendRequest) -> Vended:
    """As `vend`, inside the caller's transaction."""
    grant = check_vend(request)
    token = minting.endpoint_credential()
    team_id = None if request.team is None else _administered(conn, human, request.team)
    row = _insert_endpoint(conn, human, team_id, grant, token)
    run(conn, SQL["insert_scope_queues"], {"endpoint_id": row.id, "names": [*grant.queues]})
    first = NewWebhook(endpoint_id=row.id, source=grant.source, target_queue=grant.queues[0])
    webhook = webhook_secrets.insert(db, conn, first)
    return Vended(
        endpoint_id=row.id,
        agent_name=grant.name,
        slug=row.slug,
        token=token,
        queues=grant.queues,
        verbs=grant.verbs,
        expires_at=row.expires_at,
        webhook=webhook,
    )


def revoke(db: Database, human: Human, ref: str) -> Revoked:
    """End an endpoint for good, with everything it owes (identity.md, "Endpoint credential").

    Raises NotFound for a foreign one, Conflict with `state` when it has ended already.
    """
    with db.transaction() as conn:
        found = configuring.find_active(conn, human, ref)
        locked = ending.lock_todos(conn, found.id)
        params = {"endpoint_id": found.id, "human_id": human.id}
        if run(conn, SQL["mark_revoked"], params) == 0:
            configuring.find_active(conn, human, ref)  # says which of the two it became
            raise NotFound
        ended = ending.end(conn, found.id, locked)
    ending.announce(db, ended)
    return Revoked(id=found.id, slug=found.slug, agent_name=found.agent_name)


def delete(db: Database, human: Human, ref: str) -> UUID:
    """Delete a revoked endpoint with all it holds; Conflict with `state` while it is active."""
    with db.transaction() as conn:
        found = configuring.find(conn, human, ref)
        params = {"endpoint_id": found.id, "human_id": human.id}
        if found.state != "revoked":
            raise Conflict("Revoke the endpoint before you delete it.", state=found.state)
        if run(conn, SQL["delete_revoked"], params) == 0:
            raise NotFound
    return found.id


def set_default_lease(db: Database, endpoint: Endpoint, seconds: int | None) -> int | None:
    """The agent's own change of its default lease, in seconds; None for none."""
    require_verb(endpoint, "set_default_lease")
    checked = check_default_lease(seconds)
    with db.transaction() as conn:
        params = {"endpoint_id": endpoint.id, "seconds": checked}
        if run(conn, SQL["mark_own_default_lease"], params) == 0:
            raise Conflict("The endpoint is revoked.", state="revoked")
    return checked


def set_default_lease_as(
    db: Database, human: Human, ref: str, seconds: int | None
) -> EndpointRow:
    """The owner's change of an endpoint's default lease; granted leases keep their expiry."""
    with db.transaction() as conn:
        found = configuring.find_active(conn, human, ref)
        params = {
            "endpoint_id": found.id,
            "human_id": human.id,
            "seconds": check_default_lease(seconds),
        }
        row = one(conn, SQL["mark_default_lease"], params, EndpointRow)
        if row is None:
            configuring.find_active(conn, human, ref)
            raise NotFound
        return row


def _administered(conn: Connection, human: Human, slug: str) -> UUID:
    params = {"slug": storable(slug), "human_id": human.id}
    team = one(conn, SQL["read_team_role"], params, _Team)
    if team is None:
        raise NotFound
    if team.role == "member":
        raise RoleRequired
    return team.team_id


def _insert_endpoint(
    conn: Connection, human: Human, team_id: UUID | None, grant: Grant, token: str
) -> _Inserted:
    agent = {
        "id": minting.new_id(),
        "owner_human_id": human.id if team_id is None else None,
        "owner_team_id": team_id,
        "name": grant.name,
        "human_id": human.id,
    }
    run(conn, SQL["insert_agent"], agent)
    params = {
        "id": minting.new_id(),
        "agent_id": agent["id"],
        "credential_hash": hash_token(token),
        "credential_prefix": display_prefix(token),
        "queues": [*grant.queues],
        "verbs": [*grant.verbs],
        "source_types": [str(grant.source)],
        "lifetime": grant.lifetime,
        "default_lease": grant.default_lease_ttl_seconds,
        "human_id": human.id,
    }
    for _ in range(_SLUG_DRAWS):
        drawn = {**params, "slug": minting.slug(slugify(grant.name))}
        row = one(conn, SQL["insert_endpoint"], drawn, _Inserted)
        if row is not None:
            return row
    raise Unavailable("No free slug was found for this name; try again or change it.")
