"""A token, a session or a sign-in link, looked up by its hash: the facts a caller is made of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many, one, value
from app.db.statements import load
from app.domain.callers import Endpoint, Human
from app.domain.tokens import ENDPOINT_PREFIX, hash_token

SQL = load("identity")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFacts:
    """A live endpoint and what the door must know before it lets the call in.

    `is_stale` asks for a stamp of `last_seen_at` (and of the grant's `last_used_at`);
    `grant_hash` and `grant_id` are set when an OAuth agent grant, not the endpoint's own
    credential, was shown; then `endpoint.verbs` are the grant's, within the endpoint's.
    """

    endpoint: Endpoint
    is_suspended: bool
    is_stale: bool
    grant_hash: str | None
    grant_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorToken:
    """The token a human's API request carries; `kind` is `operator` or `oauth`, and `grant_id`
    names the grant of the latter.
    """

    token_hash: str
    name: str | None
    kind: str
    created_at: datetime
    last_used_at: datetime | None
    is_stale: bool
    grant_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFacts:
    """A human and the operator token that proves it."""

    human: Human
    token: OperatorToken


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """A live browser session; `zone` is the person's IANA zone, None for UTC.

    `announce` is `counts_and_status` or `status_only`; `live_paused_at` says since when the
    session wants no live updates; `has_flash` that its next page has something to say;
    `is_in_team` that the person is in one team at least.
    """

    token_hash: str
    human: Human
    zone: str | None
    theme: str
    announce: str
    live_paused_at: datetime | None
    has_flash: bool
    is_in_team: bool
    is_stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _EndpointRow:
    id: UUID
    slug: str
    agent_id: UUID
    agent_name: str
    scope_queues: list[str]
    scope_verbs: list[str]
    owner_human_id: UUID | None
    owner_team_id: UUID | None
    vended_by_human_id: UUID
    expires_at: datetime | None
    default_lease_ttl_seconds: int | None
    is_suspended: bool
    is_stale: bool
    grant_hash: str | None
    grant_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _LiveGrant:
    grant_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class _OperatorRow:
    human_id: UUID
    display_name: str
    email: str | None
    token_hash: str
    name: str | None
    grant_id: UUID | None
    created_at: datetime
    last_used_at: datetime | None
    is_stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _SessionRow:
    token_hash: str
    human_id: UUID
    display_name: str
    email: str | None
    zone: str | None
    theme: str
    announce: str
    live_paused_at: datetime | None
    has_flash: bool
    is_in_team: bool
    is_stale: bool


def endpoint_by_token(db: Database, token: str) -> EndpointFacts | None:
    """The live endpoint of a credential (`sbk_...`) or of an OAuth agent grant, else None.

    Revoked, expired and unknown are all None. Source: identity.md, "Ways in".
    """
    is_credential = token.startswith(ENDPOINT_PREFIX)
    query = SQL["read_endpoint_by_credential" if is_credential else "read_endpoint_by_grant"]
    with db.reading() as conn:
        row = one(conn, query, {"token_hash": hash_token(token)}, _EndpointRow)
    return None if row is None else _endpoint_facts(row)


def human_by_operator_token(db: Database, token: str) -> OperatorFacts | None:
    """The human of a live operator token or operator grant, else None (identity.md)."""
    query = SQL["read_human_by_operator_token"]
    with db.reading() as conn:
        row = one(conn, query, {"token_hash": hash_token(token)}, _OperatorRow)
    if row is None:
        return None
    return OperatorFacts(
        human=Human(id=row.human_id, display_name=row.display_name, email=row.email),
        token=OperatorToken(
            token_hash=row.token_hash,
            name=row.name,
            kind="operator" if row.grant_id is None else "oauth",
            grant_id=row.grant_id,
            created_at=row.created_at,
            last_used_at=row.last_used_at,
            is_stale=row.is_stale,
        ),
    )


def live_grants(db: Database, grant_ids: Collection[UUID]) -> set[UUID]:
    """Those of some agent grants that still open their endpoint: neither revoked nor run out."""
    with db.reading() as conn:
        rows = many(conn, SQL["read_live_grants"], {"grant_ids": list(grant_ids)}, _LiveGrant)
    return {row.grant_id for row in rows}


def session_by_token(db: Database, token: str) -> SessionFacts | None:
    """The live session of a cookie's token, else None (identity.md, "Sessions and pages")."""
    with db.reading() as conn:
        row = one(conn, SQL["read_session"], {"token_hash": hash_token(token)}, _SessionRow)
    if row is None:
        return None
    return SessionFacts(
        token_hash=row.token_hash,
        human=Human(id=row.human_id, display_name=row.display_name, email=row.email),
        zone=row.zone,
        theme=row.theme,
        announce=row.announce,
        live_paused_at=row.live_paused_at,
        has_flash=row.has_flash,
        is_in_team=row.is_in_team,
        is_stale=row.is_stale,
    )


def is_link_live(db: Database, token: str) -> bool:
    """Say whether a one-time sign-in link could still be used, without using it."""
    with db.reading() as conn:
        return value(conn, SQL["read_login_link"], {"token_hash": hash_token(token)}) is not None


def _endpoint_facts(row: _EndpointRow) -> EndpointFacts:
    return EndpointFacts(
        endpoint=Endpoint(
            id=row.id,
            slug=row.slug,
            agent_id=row.agent_id,
            agent_name=row.agent_name,
            queues=tuple(row.scope_queues),
            verbs=frozenset(row.scope_verbs),
            owner_human_id=row.owner_human_id,
            owner_team_id=row.owner_team_id,
            vended_by_human_id=row.vended_by_human_id,
            expires_at=row.expires_at,
            default_lease_ttl_seconds=row.default_lease_ttl_seconds,
        ),
        is_suspended=row.is_suspended,
        is_stale=row.is_stale,
        grant_hash=row.grant_hash,
        grant_id=row.grant_id,
    )
