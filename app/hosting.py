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
from app.binaries import EmbeddedError
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
    """The database as it stands, for commands that judge it or copy it. Makes no data folder.

    When the embedded one is not there or does not start, the ground says so in `away`. An external
    one may be out of reach.
    """
    with contextlib.ExitStack() as stack:
        if settings.database_url is not None:
            found = settings
        elif _is_missing(settings.data_dir / "pg"):
            yield _no_ground(settings, *_no_folder(settings.data_dir))
            return
        else:
            try:
                found = stack.enter_context(backing(settings)).settings
            except EmbeddedError as wrong:
                yield _no_ground(settings, *_no_start(settings.data_dir, wrong))
                return
        yield _ground(settings, found)


@contextlib.contextmanager
def new_ground(settings: Settings) -> Iterator[Ground]:
    """The database as it stands, for a command that fills it; an embedded one is made if absent.

    Raises EmbeddedError when the embedded one does not start; an external one may be away.
    """
    if settings.database_url is not None:
        yield _ground(settings, settings)
        return
    with backing(settings) as found:
        yield _ground(settings, found.settings)


def _ground(settings: Settings, found: Settings) -> Ground:
    urls = parts.urls_of(found)
    return Ground(
        pooled=urls.pooled,
        direct=urls.direct,
        names_direct=not urls.prepares,
        key=found.secret_key,
        key_place=_key_place(settings),
        site=_site(settings),
        wake_ups_arrive=lambda: listening.wake_ups_arrive(urls.direct),
    )


def _no_ground(settings: Settings, away: str, away_do: str) -> Ground:
    return Ground(
        pooled="",
        direct="",
        names_direct=False,
        key=settings.secret_key,
        key_place=_key_place(settings),
        site=_site(settings),
        wake_ups_arrive=lambda: False,
        away=away,
        away_do=away_do,
    )


def _key_place(settings: Settings) -> str:
    is_kept = settings.database_url is None and settings.secret_key is None
    return f"{settings.data_dir}/secret.key" if is_kept else KEY_NAME


def _no_folder(home: Path) -> tuple[str, str]:
    return (f"there is no database in the data folder {home}",
            "Set SWITCHBOARD_DATA_DIR or SWITCHBOARD_DATABASE_URL as the server has it, or start"
            " the server, which makes one.")  # fmt: skip


def _no_start(home: Path, wrong: EmbeddedError) -> tuple[str, str]:
    first, *log = str(wrong).splitlines() or [""]
    return (" ".join([first, *log[-1:]]).rstrip("."),  # Postgres's very last word says why
            f"Mend what is named here, and in {home}/postgres.log; then try again.")  # fmt: skip


def _is_missing(path: Path) -> bool:
    """Whether nothing is there; a place we may not look into may hold something."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _room_at(home: Path | None) -> int | None:
    """Free bytes on the disk of `home`, None when there is no such folder to ask."""
    try:
        return None if home is None else shutil.disk_usage(home).free
    except OSError:
        return None


def _site(settings: Settings) -> Site:
    home = settings.data_dir if settings.database_url is None else None
    per_process = parts.OWN_CONNECTIONS
    web, jobs = parts.worker_count(), 1
    direct = (web + jobs) * per_process + 1  # and the leader's lock
    return Site(
        base_url=settings.base_url,
        port=settings.port,
        is_loopback=settings.is_loopback,
        has_trusted_proxies=bool(settings.trusted_proxies),
        dev_login=settings.dev_login,
        metrics_token=settings.metrics_token,
        connections=web * parts.POOL_SIZE + jobs * parts.JOBS_POOL_SIZE + direct,
        direct_connections=direct,
        free_bytes=_room_at(home),
        home=str(home or ""),
        zone_version=version("tzdata"),
    )
