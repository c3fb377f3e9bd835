"""The database a command works on: the one that is named, or the embedded one."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from app import listening, parts, sharing
from app.cli.host import Ground
from app.db import migrate
from app.db.database import Database
from app.domain.checks import Site
from app.settings import KEY_NAME, Settings
from app.sharing import Embedded


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """Settings with a database and a key in them, and the Postgres we keep for them, if any.

    `data` says in words where the data lives.
    """

    settings: Settings
    data: str
    embedded: Embedded | None = None

    @property
    def is_embedded(self) -> bool:
        """Whether the database is the one we carry."""
        return self.embedded is not None

    def is_running(self) -> bool:
        """Whether the Postgres that we keep runs; True when we keep none."""
        return self.embedded is None or self.embedded.is_running()


@contextlib.contextmanager
def backing(settings: Settings) -> Iterator[Backing]:
    """Start or find the database, and stop it after the block if we started it.

    Raises SettingsError or EmbeddedError with a sentence. (dependencies.md 1.4)
    """
    if settings.database_url is not None:
        parts.key_of(settings)  # asked for before anything starts
        yield Backing(settings=settings, data="the database of SWITCHBOARD_DATABASE_URL")
        return
    home = settings.data_dir
    key = settings.secret_key or sharing.kept_key(home)
    embedded = sharing.open_embedded(home, pg_bin=settings.pg_bin, pg_user=settings.pg_user)
    found = dataclasses.replace(settings, database_url=embedded.dsn, secret_key=key)
    kept = "an embedded Postgres" if embedded.cluster else "the embedded Postgres of another run"
    try:
        yield Backing(settings=found, data=f"{home} ({kept})", embedded=embedded)
    finally:
        embedded.close()


@contextlib.contextmanager
def open_database(settings: Settings) -> Iterator[Database]:
    """A migrated database for a command of the server host, and all of it closed afterwards."""
    with backing(settings) as found:
        urls = parts.urls_of(found.settings)
        migrate.migrate(urls.direct)
        with parts.open_database(urls, parts.key_of(found.settings), size=2) as db:
            yield db


@contextlib.contextmanager
def ground(settings: Settings) -> Iterator[Ground]:
    """The database as it stands, for commands that judge it, copy it or fill it.

    Raises EmbeddedError when the embedded one does not start; an external one may be away.
    """
    with contextlib.ExitStack() as stack:
        found, home = settings, None
        if settings.database_url is None:
            found, home = stack.enter_context(backing(settings)).settings, settings.data_dir
        urls = parts.urls_of(found)
        is_kept = home is not None and settings.secret_key is None
        yield Ground(
            pooled=urls.pooled,
            direct=urls.direct,
            names_direct=not urls.prepares,
            key=found.secret_key,
            key_place=f"{home}/secret.key" if is_kept else KEY_NAME,
            site=_site(settings, home),
            wake_ups_arrive=lambda: listening.wake_ups_arrive(urls.direct),
        )


def _site(settings: Settings, home: Path | None) -> Site:
    per_process = parts.OWN_CONNECTIONS
    web, jobs = parts.worker_count(), 1
    direct = (web + jobs) * per_process + 1  # and the leader's lock
    return Site(
        base_url=settings.base_url,
        is_loopback=settings.is_loopback,
        has_trusted_proxies=bool(settings.trusted_proxies),
        dev_login=settings.dev_login,
        metrics_token=settings.metrics_token,
        connections=web * parts.POOL_SIZE + jobs * parts.JOBS_POOL_SIZE + direct,
        direct_connections=direct,
        free_bytes=None if home is None else shutil.disk_usage(home).free,
        home=str(home or ""),
        zone_version=version("tzdata"),
    )
