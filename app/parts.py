"""What every process of the server is made of: the pool, the feed, the key, the edge's settings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from app.db.counters import Counters
from app.db.database import Database, open_pool
from app.db.direct import dial
from app.db.notifier import Notifier
from app.db.outbox import NoOutbox
from app.db.sealing import Sealer
from app.domain.addresses import AddressRules, parse_networks
from app.domain.hooks import HookRules
from app.edge.deps import EdgeConfig, OidcConfig
from app.outbound.courier import Courier
from app.outbound.dialing import Dialer
from app.settings import KEY_NAME, Oidc, Settings, SettingsError
from app.version import VERSION

POOL_SIZE = 8
JOBS_POOL_SIZE = 8  # one per job, and one to spare
OWN_CONNECTIONS = 2  # of every process, past the pool: the one that listens, the one that notifies


@dataclass(frozen=True, slots=True, kw_only=True)
class Urls:
    """The two ways to the database: `pooled` may lead through a transaction pooler."""

    pooled: str
    direct: str
    prepares: bool


def worker_count() -> int:
    """How many web processes this host gets: one per core, at least two."""
    return max(2, os.cpu_count() or 1)


def urls_of(settings: Settings) -> Urls:
    """The ways to a database that the settings name. SettingsError when they name none."""
    pooled = settings.database_url
    if pooled is None:
        raise SettingsError("SWITCHBOARD_DATABASE_URL is not set.")
    direct = settings.database_direct_url
    # Whoever names a direct way has a pooler on the other, and that cannot carry prepared ones.
    return Urls(pooled=pooled, direct=direct or pooled, prepares=direct is None)


def key_of(settings: Settings) -> bytes:
    """The 32 bytes that stored secrets are encrypted with. SettingsError when there are none."""
    if settings.secret_key is None:
        raise SettingsError(
            f"{KEY_NAME} is not set. A server with SWITCHBOARD_DATABASE_URL needs it: 32 bytes in"
            " hex or base64, the same on every server of that database."
        )
    return settings.secret_key


@contextlib.contextmanager
def open_database(
    urls: Urls,
    key: bytes,
    *,
    size: int = POOL_SIZE,
    has_grouped_commit: bool = False,
    most_teams_per_human: int = 10,
    hooks: HookRules | None = None,
) -> Iterator[Database]:
    """A pool, and the thread that tells other processes of changes; both end with the block.

    With `hooks`, this process calls the notify hooks of what it changes, by threads of its own.
    """
    notifier = Notifier(dial(urls.direct))
    notifier.start()
    pool = open_pool(urls.pooled, size=size, prepare=urls.prepares)
    courier = Courier(Dialer(hooks), version=VERSION) if hooks and hooks.most else None
    database = Database(
        pool=pool,
        feed=notifier,
        sealer=Sealer(key),
        counters=Counters(),
        hooks=courier or NoOutbox(),
        has_grouped_commit=has_grouped_commit,
        most_teams_per_human=most_teams_per_human,
    )
    try:
        if courier is not None:
            courier.start(database)
        yield database
    finally:
        if courier is not None:
            courier.stop()
        notifier.stop()
        pool.close(timeout=2.0)  # its threads may be waiting for a database that is gone


def hook_rules(settings: Settings) -> HookRules:
    """What the settings say of notify hooks."""
    return HookRules(
        most=settings.notify_hook_max,
        allows_http=settings.push_allow_http,
        addresses=AddressRules(
            allowed=parse_networks(settings.notify_hook_allow_cidrs), own_port=settings.port
        ),
    )


def edge_config(settings: Settings) -> EdgeConfig:
    """The settings that the HTTP doors read, as the values they take."""
    return EdgeConfig(
        base_url=settings.base_url,
        trusted_proxies=settings.trusted_proxies,
        agent_rate=settings.agent_rate,
        dev_login=settings.dev_login,
        oidc=None if settings.oidc is None else _oidc_config(settings.oidc),
        is_loopback=settings.is_loopback,
        attempt_summary_from_result=settings.attempt_summary_from_result,
        metrics_token=settings.metrics_token,
        hooks=hook_rules(settings),
    )


def _oidc_config(oidc: Oidc) -> OidcConfig:
    return OidcConfig(
        issuer=oidc.issuer,
        client_id=oidc.client_id,
        client_secret=oidc.client_secret,
        redirect_url=oidc.redirect_url,
        groups_claim=oidc.groups_claim,
        enrollment=oidc.enrollment,
        allow=oidc.allow,
    )
