"""Who is logged in: one small file that only its owner can read, replaced in one step."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import click

from app.cli.host import Host
from app.cli.output import Failure
from app.domain.values import Json

TOKEN_LIMIT = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What renews and ends an OAuth login. `expires_at` is when the access token ends, in seconds
    of this machine's clock, or None when the server did not say."""

    refresh_token: str
    client_id: str
    token_url: str
    revoke_url: str | None
    expires_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A server's base URL and the token it accepted: an operator token, or the access token of an
    OAuth `grant`."""

    url: str
    token: str
    grant: Grant | None = None


def location(host: Host) -> Path:
    """SWITCHBOARD_CREDENTIALS, or `switchboard/credentials.json` in the user config directory."""
    if host.credentials_path is not None:
        return host.credentials_path
    return Path(click.get_app_dir("switchboard", force_posix=False)) / "credentials.json"


def load(host: Host) -> Credentials | None:
    """The saved credentials, or None when nobody is logged in. Raises Failure when the file is
    there and cannot be used."""
    path = location(host)
    try:
        saved: Json = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Failure(f"The credentials in {path} cannot be read: {error}") from error
    if isinstance(saved, dict):
        url, token = saved.get("url"), saved.get("token")
        if isinstance(url, str) and isinstance(token, str):
            return Credentials(url=url, token=token, grant=_grant(saved))
    raise Failure(f"The credentials in {path} make no sense; log in again.")


def save(host: Host, credentials: Credentials) -> Path:
    """Write the credentials with mode 0600, whole or not at all, and answer where they are."""
    path = location(host)
    text = json.dumps(_told(credentials), indent=2) + "\n"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(path, text)
    except OSError as error:
        raise Failure(f"The credentials cannot be saved in {path}: {error}") from error
    return path


def forget(host: Host) -> None:
    """Remove the saved credentials; nothing happens when there are none."""
    path = location(host)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Failure(f"The credentials in {path} cannot be removed: {error}") from error


@contextmanager
def locked(host: Host) -> Iterator[None]:
    """While inside, no other command that asks for this lock is: it is a file beside the
    credentials, and the system lets go of it when a process dies. Raises Failure when there can be
    no such file."""
    path = location(host)
    lock = path.with_name(f"{path.name}.lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Failure(f"The credentials cannot be locked with {lock}: {error}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def base_url(text: str) -> str:
    """A server's base URL without a trailing slash. Raises click.BadParameter for anything that is
    not http or https, names no host, or carries a user, a query or a fragment."""
    try:
        if text.isprintable() and _names_a_server(urlsplit(text)):
            return text.rstrip("/")
    except ValueError:  # a port or an address that is none
        pass
    raise click.BadParameter(f"{text!r} is not the URL of a server; try http://127.0.0.1:8080")


def is_token(text: str) -> bool:
    """Whether `text` could be a bearer token at all: visible ASCII of a sane length."""
    return 0 < len(text) <= TOKEN_LIMIT and all("!" <= char <= "~" for char in text)


def _told(credentials: Credentials) -> dict[str, Json]:
    told: dict[str, Json] = {"url": credentials.url, "token": credentials.token}
    grant = credentials.grant
    if grant is not None:
        told |= {
            "refresh_token": grant.refresh_token, "expires_at": grant.expires_at,
            "client_id": grant.client_id, "token_url": grant.token_url,
            "revoke_url": grant.revoke_url,
        }  # fmt: skip
    return told


def _grant(saved: Mapping[str, Json]) -> Grant | None:
    """The grant that was saved; None for an operator token, or for one that makes no sense."""
    refresh, client = saved.get("refresh_token"), saved.get("client_id")
    token_url, revoke_url = saved.get("token_url"), saved.get("revoke_url")
    expires = saved.get("expires_at")
    if not (isinstance(refresh, str) and isinstance(client, str) and isinstance(token_url, str)):
        return None
    return Grant(
        refresh_token=refresh, client_id=client, token_url=token_url,
        revoke_url=revoke_url if isinstance(revoke_url, str) else None,
        expires_at=expires if isinstance(expires, int) else None,
    )  # fmt: skip


def _names_a_server(parts: SplitResult) -> bool:
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        return False
    return not ("@" in parts.netloc or parts.query or parts.fragment)


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")  # mkstemp: mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError:
        with suppress(OSError):
            os.unlink(name)
        raise
