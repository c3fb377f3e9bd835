"""Who is logged in: one small file that only its owner can read, replaced in one step."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import click

from app.cli.host import Host
from app.cli.output import Failure
from app.domain.values import Json

TOKEN_LIMIT = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A server's base URL and the operator token it accepted."""

    url: str
    token: str


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
            return Credentials(url=url, token=token)
    raise Failure(f"The credentials in {path} make no sense; log in again.")


def save(host: Host, credentials: Credentials) -> Path:
    """Write the credentials with mode 0600, whole or not at all, and answer where they are."""
    path = location(host)
    text = json.dumps({"url": credentials.url, "token": credentials.token}, indent=2) + "\n"
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
