"""What a request may reach: the database, this process's shared parts, and who is asking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from flask import current_app, g

from app.db.database import Database
from app.db.listener import Listener
from app.domain.callers import Endpoint, Human
from app.domain.errors import Unauthenticated
from app.domain.hooks import HookRules
from app.edge.broadcast import Recent
from app.edge.exposition import Exposition
from app.edge.limits import TokenBuckets
from app.edge.ringer import Ringer
from app.edge.waiting import WaitingBudget
from app.edge.watcher import Watchtower
from app.reads.identity import OperatorToken, SessionFacts

_EXTENSION = "switchboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcConfig:
    """The sign-in provider people may come through (identity.md, "OIDC login").

    Without `client_secret` we are a public client; `groups_claim` names the claim that lists
    groups; `enrollment` is open, allowlist or invite, `allow` emails and @domains in lower case.
    """

    issuer: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    redirect_url: str
    groups_claim: str | None = None
    enrollment: str = "open"
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeConfig:
    """Settings the doors need, handed down by the roof.

    `base_url` has no trailing slash; `trusted_proxies` are addresses or networks; `agent_rate`
    is (requests per second, burst); `is_loopback` says the server is bound to loopback only;
    `oidc` is None when nobody signs in through a provider; `hooks` is what may be called;
    without `metrics_token` nobody scrapes.
    """

    base_url: str
    trusted_proxies: tuple[str, ...] = ()
    agent_rate: tuple[int, int] = (200, 400)
    dev_login: bool = False
    oidc: OidcConfig | None = None
    is_loopback: bool = False
    attempt_summary_from_result: bool = False
    hooks: HookRules = field(default_factory=HookRules)
    metrics_token: str | None = field(default=None, repr=False)

    @property
    def is_https(self) -> bool:
        """Whether people reach us over https, as far as the printed URLs say."""
        return self.base_url.lower().startswith("https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The token buckets of one process; the contract pages name each rate."""

    failed_auth: TokenBuckets
    agent: TokenBuckets
    operator_reads: TokenBuckets
    operator_writes: TokenBuckets
    sign_in: TokenBuckets
    board_posts: TokenBuckets
    ingest_refused: TokenBuckets
    ingest_accepted: TokenBuckets
    oauth: TokenBuckets


def make_limits(config: EdgeConfig) -> Limits:
    """Fresh buckets: agent-api.md and operator-api.md "Rules", identity.md, ingest.md "Limits"."""
    rate, burst = config.agent_rate
    return Limits(
        failed_auth=TokenBuckets(rate=10, burst=50),
        agent=TokenBuckets(rate=rate, burst=burst),
        operator_reads=TokenBuckets(rate=50, burst=100),
        operator_writes=TokenBuckets(rate=20, burst=100),
        sign_in=TokenBuckets(rate=5, burst=10),
        board_posts=TokenBuckets(rate=3, burst=30),
        ingest_refused=TokenBuckets(rate=10, burst=20),
        ingest_accepted=TokenBuckets(rate=50, burst=200),
        oauth=TokenBuckets(rate=5, burst=20),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeState:
    """What one web process shares among its requests."""

    config: EdgeConfig
    database: Database
    listener: Listener
    waiting: WaitingBudget
    limits: Limits
    ringer: Ringer
    exposition: Exposition
    watchtower: Watchtower = field(default_factory=Watchtower)
    recent: Recent = field(default_factory=Recent)


def install(extensions: dict[str, object], shared: EdgeState) -> None:
    """Hang the process's shared parts on an application."""
    extensions[_EXTENSION] = shared


def state() -> EdgeState:
    """The shared parts of the process that serves this request."""
    return cast(EdgeState, current_app.extensions[_EXTENSION])


def database() -> Database:
    """The database, for the verb or the read a view calls."""
    return state().database


def endpoint() -> Endpoint:
    """The endpoint that makes this request; Unauthenticated when nobody identified one."""
    caller = g.get("endpoint")
    if caller is None:
        raise Unauthenticated
    return cast(Endpoint, caller)


def grant_id() -> UUID | None:
    """The agent grant that this request came with, None with the endpoint's own credential."""
    return cast("UUID | None", g.get("grant_id"))


def human() -> Human:
    """The human who makes this request, by token or session; Unauthenticated when none does."""
    caller = g.get("human")
    if caller is None:
        raise Unauthenticated
    return cast(Human, caller)


def operator_token() -> OperatorToken:
    """The facts of the operator token this request carries; Unauthenticated when it has none."""
    token = g.get("operator_token")
    if token is None:
        raise Unauthenticated
    return cast(OperatorToken, token)


def session() -> SessionFacts | None:
    """The live session of the browser that makes this request, or None."""
    return cast("SessionFacts | None", g.get("session"))
