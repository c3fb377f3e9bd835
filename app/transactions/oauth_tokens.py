"""The token endpoint's three acts: a code for a grant, a refresh for fresh tokens, an end.

- **A code is used once, whoever comes.** One conditional update decides among any number of
  callers. It is used up by the first who presents it, also when client, redirect URI, verifier or
  resource are wrong: a code in other hands is worth nothing to anyone. Presenting it again revokes
  the grant it made (RFC 6749 4.1.2).
- **A refresh token is used once, without a time of grace.** Of two refreshes at once one wins; the
  other presents a token that has been rotated and revokes the grant, as RFC 9700 4.14.2 has it: a
  stolen token and a slow twin look the same. A client whose processes share a token must let one
  refresh at a time: the CLI holds a lock on its credentials file, and reads it again once it has
  the lock. A refresh that was refused for its arguments rotates nothing.
- **Fresh tokens replace the old ones**: the access token given out before ends with the refresh.
- An agent grant lives no longer than its endpoint, and neither does any token of it; while the
  owner is suspended nothing is given out.

Refusals are values, not exceptions: what they use up must be committed. Source: identity.md.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.db import journal, minting
from app.db.database import Connection, Database, one, value
from app.db.statements import load
from app.domain import oauth
from app.domain.oauth import OPERATOR_SCOPE, Fault
from app.domain.references import storable
from app.domain.tokens import family_of, hash_token
from app.transactions import oauth_grants
from app.transactions.oauth_grants import EndedGrant

SQL = load("oauth_tokens")

ACCESS_SECONDS = 3600
REFRESH_SECONDS = 30 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Redemption:
    """A code, and everything it is bound to. `challenge` is what the client's verifier proves,
    computed by the door; `resource` None when the client did not repeat it.
    """

    code: str
    client_id: str
    redirect_uri: str
    challenge: str
    resource: str | None
    base_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """A refresh token, and what may be said with it: fewer scopes, the same resource."""

    refresh_token: str
    client_id: str
    scope: str | None
    resource: str | None
    base_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """Tokens, shown this once; `expires_in` in seconds, `scopes` those the access token opens."""

    access_token: str
    refresh_token: str
    expires_in: int
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Code:
    grant_id: UUID
    client_id: str
    redirect_uri: str
    code_challenge: str
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grant:
    grant_id: UUID
    endpoint_id: UUID | None
    client_id: str
    refresh_hash: str
    resource: str
    scope_verbs: list[str] | None
    is_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fresh:
    grant_id: UUID
    expires_in: int
    scopes: list[str]


_NO_CLIENT = Fault(error="invalid_client", description="This server does not know the client.")
_NO_GRANT = Fault(
    error="invalid_grant",
    description=(
        "The code or refresh token is unknown, used, expired, or meant for another request."
    ),
)
_NO_TARGET = Fault(
    error="invalid_target", description="The grant is for another resource."
)
_NO_SCOPE = Fault(
    error="invalid_scope", description="A refresh may only narrow what the grant holds."
)


def redeem(db: Database, asked: Redemption) -> Issued | Fault:
    """Trade a code for tokens; the module's docstring says what uses it up. Raises Unavailable."""
    family = minting.refresh_family()
    issued = (minting.access_token(), minting.refresh_token(family))
    params = {"code_hash": hash_token(asked.code), **_hashes(family, *issued)}
    fresh: _Fresh | None = None
    ended: EndedGrant | None = None
    with db.transaction() as conn:
        if not _is_client(conn, asked.client_id):
            return _NO_CLIENT
        code = one(conn, SQL["mark_code_used"], params, _Code)
        if code is None:
            ended = one(conn, SQL["mark_replayed_revoked"], params, EndedGrant)
        elif _is_bound(code, asked):
            fresh = one(conn, SQL["insert_grant"], params, _Fresh)
    if ended is not None:
        journal.note("oauth_code_replayed", grant=ended.grant_id)
        oauth_grants.announce(db, ended)
    if fresh is None:
        return _NO_GRANT
    journal.note("oauth_granted", grant=fresh.grant_id)
    return _issued(issued, fresh)


def refresh(db: Database, asked: Renewal) -> Issued | Fault:
    """Trade a refresh token for fresh ones; one that was rotated already ends the whole grant.

    Raises Unavailable, and OutcomeUnknown when the connection is lost at the commit.
    """
    family = family_of(asked.refresh_token)
    issued = (minting.access_token(), minting.refresh_token(family))
    params = {"client_id": storable(asked.client_id), **_hashes(family, *issued)}
    fresh: _Fresh | None = None
    ended: EndedGrant | None = None
    with db.transaction() as conn:
        if not _is_client(conn, asked.client_id):
            return _NO_CLIENT
        grant = one(conn, SQL["lock_grant"], params, _Grant)
        if grant is None or grant.is_over:
            return _NO_GRANT
        if not hmac.compare_digest(grant.refresh_hash, hash_token(asked.refresh_token)):
            ended = one(conn, SQL["mark_family_revoked"], params, EndedGrant)
        else:
            narrowed = _narrowed(grant, asked)
            if isinstance(narrowed, Fault):
                return narrowed
            fresh = one(conn, SQL["mark_rotated"], {**params, "verbs": narrowed}, _Fresh)
    if ended is not None:
        journal.note("oauth_refresh_reused", grant=ended.grant_id)
        oauth_grants.announce(db, ended)
    return _NO_GRANT if fresh is None else _issued(issued, fresh)


def revoke(db: Database, token: str, client_id: str) -> Fault | None:
    """End the grant of an access or refresh token, whole (RFC 7009); None when that is done.

    A token that is unknown, ended or another client's is no fault: it opens nothing for this one.
    """
    params = {
        "token_hash": hash_token(token),
        "family_hash": hash_token(family_of(token)),
        "client_id": storable(client_id),
    }
    with db.transaction() as conn:
        if not _is_client(conn, client_id):
            return _NO_CLIENT
        ended = one(conn, SQL["mark_token_revoked"], params, EndedGrant)
    if ended is not None:
        oauth_grants.announce(db, ended)
    return None


def _is_client(conn: Connection, client_id: str) -> bool:
    return value(conn, SQL["read_client"], {"client_id": storable(client_id)}) is not None


def _is_bound(code: _Code, asked: Redemption) -> bool:
    """Whether it comes from the client, redirect URI, verifier and resource it was made for."""
    return (
        code.client_id == asked.client_id
        and code.redirect_uri == asked.redirect_uri
        and hmac.compare_digest(code.code_challenge.encode(), asked.challenge.encode())
        and _is_same(code.resource, asked.resource, asked.base_url)
    )


def _is_same(granted: str, named: str | None, base_url: str) -> bool:
    """Whether a resource named at the token endpoint is the one consented to; none is."""
    if named is None:
        return True
    found = oauth.parse_resource(named, base_url)
    return found is not None and found.url == granted


def _narrowed(grant: _Grant, asked: Renewal) -> list[str] | Fault | None:
    """The verbs the fresh access token is narrowed to, None for all that the grant holds."""
    if grant.client_id != asked.client_id:
        return _NO_GRANT
    if not _is_same(grant.resource, asked.resource, asked.base_url):
        return _NO_TARGET
    named = [name for name in (asked.scope or "").split(" ") if name]
    if not named:
        return None
    held = [OPERATOR_SCOPE] if grant.scope_verbs is None else grant.scope_verbs
    if not set(named) <= set(held):
        return _NO_SCOPE
    return None if grant.scope_verbs is None else [verb for verb in held if verb in named]


def _hashes(family: str, access_token: str, refresh_token: str) -> dict[str, object]:
    return {
        "family_hash": hash_token(family),
        "token_hash": hash_token(access_token),
        "refresh_hash": hash_token(refresh_token),
        "access_seconds": ACCESS_SECONDS,
        "refresh_seconds": REFRESH_SECONDS,
    }


def _issued(tokens: tuple[str, str], fresh: _Fresh) -> Issued:
    access_token, refresh_token = tokens
    scopes: Sequence[str] = fresh.scopes or (OPERATOR_SCOPE,)
    return Issued(
        access_token=access_token,
        refresh_token=refresh_token,
        expires_in=fresh.expires_in,
        scopes=tuple(scopes),
    )
