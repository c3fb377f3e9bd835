"""Settings, parsed once at start from the environment and handed down as values."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import os
import pwd
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

PREFIX = "SWITCHBOARD_"
KEY_NAME = "SWITCHBOARD_SECRET_ENCRYPTION_KEY"
KEY_BYTES = 32
_RATE = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
_BASE = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_WORDS = {"1": True, "on": True, "true": True, "0": False, "off": False, "false": False}
T = TypeVar("T")
D = TypeVar("D")


class SettingsError(Exception):
    """A setting that cannot be used; the message is a sentence that begins with its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of this release, valid. (contract/cli.md, "Environment")

    `base_url` has no trailing slash. `agent_rate` is (requests per second, burst). `data_dir` is
    absolute. `secret_key` is 32 bytes or None. `unknown` are SWITCHBOARD_ names nobody reads.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    base_url: str = "http://127.0.0.1:8080"
    database_url: str | None = field(default=None, repr=False)
    database_direct_url: str | None = field(default=None, repr=False)
    data_dir: Path
    pg_bin: str | None = None
    pg_user: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    agent_rate: tuple[int, int] = (200, 400)
    dev_login: bool = False
    secret_key: bytes | None = field(default=None, repr=False)
    attempt_summary_from_result: bool = False
    grouped_commit: bool = False
    retention_events_per_owner: int = 50_000
    retention_todos_per_owner: int = 50_000
    url: str | None = None
    credentials: Path | None = None
    endpoint_token: str | None = field(default=None, repr=False)
    unknown: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Parse the environment; SettingsError names the variable that will not do.

        A variable that is set but empty counts as not set.
        """
        env = _Reader({name: text for name, text in environment.items() if text != ""})
        host, port = env.read("SWITCHBOARD_ADDR", _address, default=("127.0.0.1", 8080))
        direct = env.read("SWITCHBOARD_DATABASE_DIRECT_URL", _database_url, default=None)
        database = env.read("SWITCHBOARD_DATABASE_URL", _database_url, default=None)
        if direct and not database:
            raise SettingsError(
                "SWITCHBOARD_DATABASE_DIRECT_URL goes with SWITCHBOARD_DATABASE_URL, which is not"
                " set."
            )
        data_dir = env.read("SWITCHBOARD_DATA_DIR", _path, default=None)
        summaries = env.read("SWITCHBOARD_ATTEMPT_SUMMARY_FROM_RESULT", _switch, default=False)
        events = env.read("SWITCHBOARD_RETENTION_EVENTS_PER_OWNER", _count, default=50_000)
        todos = env.read("SWITCHBOARD_RETENTION_TODOS_PER_OWNER", _count, default=50_000)
        return cls(
            host=host,
            port=port,
            base_url=env.read("SWITCHBOARD_BASE_URL", _base_url, default=own_url(host, port)),
            database_url=database,
            database_direct_url=direct,
            data_dir=data_dir or default_data_dir(environment),
            pg_bin=env.read("SWITCHBOARD_PG_BIN", str, default=None),
            pg_user=env.read("SWITCHBOARD_PG_USER", str, default=None),
            trusted_proxies=env.read("SWITCHBOARD_TRUSTED_PROXIES", _networks, default=()),
            agent_rate=env.read("SWITCHBOARD_AGENT_RATE", _rate, default=(200, 400)),
            dev_login=env.read("SWITCHBOARD_DEV_LOGIN", _switch, default=False),
            secret_key=env.read("SWITCHBOARD_SECRET_ENCRYPTION_KEY", parse_key, default=None),
            attempt_summary_from_result=summaries,
            grouped_commit=env.read("SWITCHBOARD_GROUPED_COMMIT", _switch, default=False),
            retention_events_per_owner=events,
            retention_todos_per_owner=todos,
            url=env.read("SWITCHBOARD_URL", _base_url, default=None),
            credentials=env.read("SWITCHBOARD_CREDENTIALS", _path, default=None),
            endpoint_token=env.read("SWITCHBOARD_ENDPOINT_TOKEN", str, default=None),
            unknown=env.never_read(),
        )

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can reach the listen address."""
        return self.host == "localhost" or (
            _is_address(self.host) and ipaddress.ip_address(self.host).is_loopback
        )


class _Reader:
    """Reads SWITCHBOARD_ variables and remembers which names anybody asked for."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._asked: set[str] = set()

    def read(self, name: str, parse: Callable[[str], T], *, default: D) -> T | D:
        self._asked.add(name)
        text = self._environment.get(name)
        if text is None:
            return default
        try:
            return parse(text)
        except ValueError as wrong:
            raise SettingsError(f"{name} {wrong}") from None

    def never_read(self) -> tuple[str, ...]:
        ours = {name for name in self._environment if name.startswith(PREFIX)}
        return tuple(sorted(ours - self._asked))


def default_data_dir(environment: Mapping[str, str]) -> Path:
    """/var/lib/switchboard as root, else a folder of the user's data home."""
    if os.geteuid() == 0:
        return Path("/var/lib/switchboard")
    if sys.platform == "darwin":
        return _user_home(environment) / "Library" / "Application Support" / "switchboard"
    shared = environment.get("XDG_DATA_HOME")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "switchboard"
    return _user_home(environment) / ".local" / "share" / "switchboard"


def parse_key(text: str) -> bytes:
    """32 bytes out of hex or base64 (either alphabet); ValueError without repeating the text."""
    if re.fullmatch(r"[0-9A-Fa-f]{64}", text):
        return bytes.fromhex(text)
    try:
        padded = text.rstrip("=").replace("-", "+").replace("_", "/")
        key = base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError("must be 32 bytes, written in hex or base64.")
    return key


def _user_home(environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME")
    if home and Path(home).is_absolute():
        return Path(home)
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        raise SettingsError(
            "SWITCHBOARD_DATA_DIR is not set, and this account has no home folder to default to."
        ) from None


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    is_bracketed = host != bare
    if not colon or not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise ValueError("must be HOST:PORT with a port from 1 to 65535.")
    if (":" in bare) != is_bracketed or (is_bracketed and not _is_address(bare)):
        raise ValueError("must be HOST:PORT, an IPv6 address in brackets.")
    return bare or "0.0.0.0", int(port)


def own_url(host: str, port: int) -> str:
    """Where a server that listens there is found from this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _base_url(text: str) -> str:
    if not _BASE.fullmatch(text.rstrip("/")):
        raise ValueError("must be an http or https URL without a path: https://board.example.org.")
    return text.rstrip("/")


def _database_url(text: str) -> str:
    try:
        conninfo_to_dict(text)
    except ProgrammingError:
        raise ValueError("must be a Postgres connection URL.") from None
    return text


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _networks(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        try:
            ipaddress.ip_network(name, strict=False)
        except ValueError:
            raise ValueError("must be addresses or networks such as 10.0.0.0/8,::1.") from None
    return names


def _rate(text: str) -> tuple[int, int]:
    found = _RATE.fullmatch(text)
    if not found or not int(found[1]) or not int(found[2]):
        raise ValueError("must be RATE/BURST in whole numbers of at least 1, such as 200/400.")
    return int(found[1]), int(found[2])


def _switch(text: str) -> bool:
    if text.lower() not in _WORDS:
        raise ValueError("must be 1 or 0 (on, off, true and false do as well).")
    return _WORDS[text.lower()]


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise ValueError("must be a whole number of at least 1.")
    return int(text)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
