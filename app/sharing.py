"""One embedded Postgres per data folder: the first run starts it, later runs attach to it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app import postmaster
from app.binaries import EmbeddedError, find_binaries, reachable
from app.children import Account, account_named, has_own_entry
from app.embedded import Cluster
from app.home import make_home, write_private

DATABASE = "switchboard"
_ATTACH_SECONDS = 130.0  # the run that holds the lock may be recovering


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The embedded Postgres of a data folder; `cluster` is None when another run keeps it."""

    dsn: str
    cluster: Cluster | None
    lock: int | None

    def is_running(self) -> bool:
        """Whether the server we keep runs; True when another run keeps it."""
        return self.cluster is None or self.cluster.is_running()

    def close(self) -> None:
        """Stop the server if we started it, and let the next run have the folder."""
        if self.cluster is None or self.lock is None:
            return
        (self.cluster.home / "run.json").unlink(missing_ok=True)
        self.cluster.stop()
        os.close(self.lock)


def open_embedded(home: Path, *, pg_bin: str | None, pg_user: str | None) -> Embedded:
    """Start the Postgres of `home`, or attach to the run that keeps it. From the main thread.

    Raises EmbeddedError with a sentence when neither works. (dependencies.md 1.4)
    """
    with _in_words(home):
        make_home(home)
        return _start_or_attach(home, pg_bin, pg_user)


def kept_key(home: Path) -> bytes:
    """The 32 bytes that secrets of this data folder are sealed with, made before its cluster is.

    Raises EmbeddedError when the cluster is there and its key is not: a new one could open nothing.
    """
    path = home / "secret.key"
    with _in_words(home):
        make_home(home)
        if not path.exists() and not (home / "pg").exists():
            half = home / f"secret.key.{os.getpid()}"
            write_private(half, secrets.token_hex(32))
            with contextlib.suppress(FileExistsError):
                os.link(half, path)  # two first starts agree on one
            half.unlink()
        try:
            return bytes.fromhex(path.read_text().strip())
        except (FileNotFoundError, ValueError) as lost:
            raise EmbeddedError(
                f"{path} is missing or damaged, and the secrets in {home} open with no other key."
                " Put it back, or set SWITCHBOARD_SECRET_ENCRYPTION_KEY to the key you used."
            ) from lost


@contextlib.contextmanager
def _in_words(home: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as closed:
        raise EmbeddedError(
            f"This account may not use {closed.filename or home}. Set SWITCHBOARD_DATA_DIR to a"
            " folder of its own."
        ) from closed
    except OSError as wrong:
        raise EmbeddedError(f"The data folder {home} cannot be used: {wrong}.") from wrong


def _start_or_attach(home: Path, pg_bin: str | None, pg_user: str | None) -> Embedded:
    deadline = time.monotonic() + _ATTACH_SECONDS
    lock = os.open(home / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    while not _held(lock):
        dsn = _published(home)
        if dsn and postmaster.answers(dsn):
            os.close(lock)
            return Embedded(dsn=dsn, cluster=None, lock=None)
        if time.monotonic() > deadline:
            os.close(lock)
            raise EmbeddedError(f"Another run holds {home}, but its Postgres does not answer.")
        time.sleep(0.1)
    try:
        cluster = _started(home, pg_bin, _account(pg_user))
    except BaseException:
        os.close(lock)
        raise
    write_private(home / "run.json", json.dumps({"dsn": cluster.dsn(DATABASE), "pid": os.getpid()}))
    return Embedded(dsn=cluster.dsn(DATABASE), cluster=cluster, lock=lock)


def _started(home: Path, pg_bin: str | None, account: Account | None) -> Cluster:
    (home / "run.json").unlink(missing_ok=True)
    found = find_binaries(pg_bin, data_dir=home / "pg")
    bin_dir = reachable(found, account=account, home=home)
    cluster = Cluster(home, bin_dir=bin_dir, account=account, options=_room())
    cluster.init()
    cluster.start()
    try:
        cluster.ensure_database(DATABASE)
    except BaseException:
        cluster.stop()
        raise
    return cluster


def _room() -> dict[str, str]:
    """Connections for two servers of one web process per core, and for people beside."""
    return {"max_connections": str(max(200, 24 * (os.cpu_count() or 1)))}


def _held(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as busy:
        if busy.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _published(home: Path) -> str | None:
    try:
        said = json.loads((home / "run.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    dsn = said.get("dsn") if isinstance(said, dict) else None
    return dsn if isinstance(dsn, str) else None


def _account(name: str | None) -> Account | None:
    """Who runs Postgres: as root another account, for Postgres refuses root; else ourselves."""
    if os.geteuid() != 0:
        if not has_own_entry():
            raise EmbeddedError(
                f"User id {os.geteuid()} has no passwd entry, which Postgres needs. Add one, or"
                " set SWITCHBOARD_DATABASE_URL."
            )
        return None
    account = account_named(name or "nobody")
    if account is None or account.uid == 0:
        raise EmbeddedError(
            f"SWITCHBOARD_PG_USER must name an existing account other than root; {name or 'nobody'}"
            " is none."
        )
    return account
