"""A bearer token or a session cookie becomes a caller, before any view runs."""

from __future__ import annotations

import hmac

from flask import g, request

from app.domain.errors import EndpointSuspended, RateLimited, Unauthenticated
from app.edge import requests
from app.edge.address import client_address
from app.edge.deps import EdgeConfig, database, state
from app.reads import identity
from app.transactions import stamps

COOKIE = "sb_session"
SECURE_COOKIE = "__Host-sb_session"

_READS = ("GET", "HEAD", "OPTIONS")


def identify_endpoint() -> None:
    """Set the endpoint whose credential or agent grant this request carries.

    Raises Unauthenticated (one answer for missing, unknown, revoked and expired), RateLimited
    (failed authentications per address, calls per endpoint), EndpointSuspended, Unavailable.
    Source: agent-api.md, "Transport".
    """
    token = bearer_token()
    facts = None if token is None else identity.endpoint_by_token(database(), token)
    if facts is None:
        _refuse_unknown()
        return
    if facts.is_suspended:
        raise EndpointSuspended
    if not state().limits.agent.take(str(facts.endpoint.id)):
        raise RateLimited
    if facts.is_stale:
        stamps.touch_endpoint(database(), facts.endpoint, grant_hash=facts.grant_hash)
    g.endpoint, g.grant_id = facts.endpoint, facts.grant_id
    requests.identified(endpoint=facts.endpoint.slug)


def identify_operator() -> None:
    """Set the human whose operator token or operator grant this request carries.

    Raises Unauthenticated (one answer for every kind of wrong token), RateLimited (reads and
    writes per human), Unavailable. Source: operator-api.md, "Rules".
    """
    token = bearer_token()
    facts = None if token is None else identity.human_by_operator_token(database(), token)
    if facts is None:
        raise Unauthenticated
    limits = state().limits
    bucket = limits.operator_reads if request.method in _READS else limits.operator_writes
    if not bucket.take(str(facts.human.id)):
        raise RateLimited
    if facts.token.is_stale:
        stamps.touch_token(database(), facts.token.token_hash)
    g.human = facts.human
    requests.identified(human=str(facts.human.id))
    g.operator_token = facts.token


def identify_session() -> None:
    """Set the human of the session cookie, when it names a live session, and slide its end.

    A store failure raises Unavailable and leaves the cookie alone: the person is not signed out
    by our outage. Source: identity.md, "Sessions and pages".
    """
    token = session_token()
    facts = None if token is None else identity.session_by_token(database(), token)
    if facts is None:
        return
    g.session, g.human = facts, facts.human
    requests.identified(human=str(facts.human.id))
    if facts.is_stale:
        stamps.touch_session(database(), facts.token_hash)


def identify_scraper() -> None:
    """Let Prometheus through: the whole credential is SWITCHBOARD_METRICS_TOKEN.

    Raises Unauthenticated for anything else, and for everything when no token is configured.
    Source: metrics.md.
    """
    expected = state().config.metrics_token
    given = (bearer_token() or "").encode("latin-1", "replace")  # as the header's bytes came
    if expected is None or not hmac.compare_digest(given, expected.encode()):
        raise Unauthenticated


def bearer_token() -> str | None:
    """The token of `Authorization: Bearer`, the only place a JSON surface looks; None without."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def session_token() -> str | None:
    """The token in this deployment's session cookie, or None."""
    return request.cookies.get(cookie_name(state().config)) or None


def cookie_name(config: EdgeConfig) -> str:
    """`sb_session`; on https with the prefix that ties it to this host and path."""
    return SECURE_COOKIE if config.is_https else COOKIE


def _refuse_unknown() -> None:
    if not state().limits.failed_auth.take(client_address()):
        raise RateLimited
    raise Unauthenticated
