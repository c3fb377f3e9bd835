"""Settings, parsed once at start from the environment and handed down as values."""

from __future__ import annotations

import ipaddress
import os
import pwd
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from app import parsing

PREFIX = "SWITCHBOARD_"
KEY_NAME = "SWITCHBOARD_SECRET_ENCRYPTION_KEY"
T = TypeVar("T")
D = TypeVar("D")


class SettingsError(Exception):
    """A setting that cannot be used; the message is a sentence that begins with its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Oidc:
    """The sign-in provider people come through. (contract/identity.md, "OIDC login")

    Without `client_secret` we are a public client. `groups_claim` names the claim of the ID token
    that lists a person's groups. `enrollment` is open, allowlist or invite; `allow` are email
    addresses and @domains in lower case.
    """

    issuer: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    redirect_url: str
    groups_claim: str | None = None
    enrollment: str = "open"
    allow: tuple[str, ...] = ()


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
    oidc: Oidc | None = None
    secret_key: bytes | None = field(default=None, repr=False)
    attempt_summary_from_result: bool = False
    grouped_commit: bool = False
    metrics_token: str | None = field(default=None, repr=False)
    max_teams_per_human: int = 10
    notify_hook_max: int = 5
    notify_hook_allow_cidrs: tuple[str, ...] = ()
    push_allow_http: bool = False
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
        host, port = env.read("SWITCHBOARD_ADDR", parsing.address, default=("127.0.0.1", 8080))
        database, direct = _database_urls(env)
        data_dir = env.read("SWITCHBOARD_DATA_DIR", parsing.path, default=None)
        summaries = env.read(
            "SWITCHBOARD_ATTEMPT_SUMMARY_FROM_RESULT", parsing.switch, default=False
        )
        events = env.read("SWITCHBOARD_RETENTION_EVENTS_PER_OWNER", parsing.count, default=50_000)
        own = parsing.own_url(host, port)
        base = env.read("SWITCHBOARD_BASE_URL", parsing.base_url, default=own)
        todos = env.read("SWITCHBOARD_RETENTION_TODOS_PER_OWNER", parsing.count, default=50_000)
        teams = env.read("SWITCHBOARD_MAX_TEAMS_PER_HUMAN", parsing.whole, default=10)
        cidrs = env.read("SWITCHBOARD_NOTIFY_HOOK_ALLOW_CIDRS", parsing.networks, default=())
        return cls(
            host=host,
            port=port,
            base_url=base,
            database_url=database,
            database_direct_url=direct,
            data_dir=data_dir or default_data_dir(environment),
            pg_bin=env.read("SWITCHBOARD_PG_BIN", str, default=None),
            pg_user=env.read("SWITCHBOARD_PG_USER", str, default=None),
            trusted_proxies=env.read("SWITCHBOARD_TRUSTED_PROXIES", parsing.networks, default=()),
            agent_rate=env.read("SWITCHBOARD_AGENT_RATE", parsing.rate, default=(200, 400)),
            dev_login=env.read("SWITCHBOARD_DEV_LOGIN", parsing.switch, default=False),
            oidc=_oidc(env, base),
            secret_key=env.read("SWITCHBOARD_SECRET_ENCRYPTION_KEY", parsing.key, default=None),
            attempt_summary_from_result=summaries,
            grouped_commit=env.read("SWITCHBOARD_GROUPED_COMMIT", parsing.switch, default=False),
            max_teams_per_human=teams,
            notify_hook_max=env.read("SWITCHBOARD_NOTIFY_HOOK_MAX", parsing.whole, default=5),
            notify_hook_allow_cidrs=cidrs,
            push_allow_http=env.read("SWITCHBOARD_PUSH_ALLOW_HTTP", parsing.switch, default=False),
            metrics_token=env.read(
                "SWITCHBOARD_METRICS_TOKEN", parsing.metrics_token, default=None
            ),
            retention_events_per_owner=events,
            retention_todos_per_owner=todos,
            url=env.read("SWITCHBOARD_URL", parsing.base_url, default=None),
            credentials=env.read("SWITCHBOARD_CREDENTIALS", parsing.path, default=None),
            endpoint_token=env.read("SWITCHBOARD_ENDPOINT_TOKEN", str, default=None),
            unknown=env.never_read(),
        )

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can reach the listen address."""
        return self.host == "localhost" or (
            parsing.is_address(self.host) and ipaddress.ip_address(self.host).is_loopback
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


def _database_urls(env: _Reader) -> tuple[str | None, str | None]:
    direct = env.read("SWITCHBOARD_DATABASE_DIRECT_URL", parsing.database_url, default=None)
    database = env.read("SWITCHBOARD_DATABASE_URL", parsing.database_url, default=None)
    if direct and not database:
        raise SettingsError(
            "SWITCHBOARD_DATABASE_DIRECT_URL goes with SWITCHBOARD_DATABASE_URL, which is not set."
        )
    return database, direct


def _oidc(env: _Reader, base_url: str) -> Oidc | None:
    issuer = env.read("SWITCHBOARD_OIDC_ISSUER", parsing.issuer, default=None)
    client_id = env.read("SWITCHBOARD_OIDC_CLIENT_ID", str, default=None)
    secret = env.read("SWITCHBOARD_OIDC_CLIENT_SECRET", str, default=None)
    back = env.read("SWITCHBOARD_OIDC_REDIRECT_URL", parsing.redirect_url, default=None)
    groups = env.read("SWITCHBOARD_OIDC_GROUPS_CLAIM", str, default=None)
    mode = env.read("SWITCHBOARD_ENROLLMENT_MODE", parsing.enrollment_mode, default="open")
    allow = env.read("SWITCHBOARD_ENROLLMENT_ALLOW", parsing.allowed, default=())
    if mode == "allowlist" and not allow:
        raise SettingsError("SWITCHBOARD_ENROLLMENT_ALLOW is not set: the allowlist is empty.")
    if issuer is None or client_id is None:
        _refuse_half_named(issuer, client_id, secret, back)
        return None
    return Oidc(
        issuer=issuer,
        client_id=client_id,
        client_secret=secret,
        redirect_url=back or f"{base_url}/auth/callback",
        groups_claim=groups,
        enrollment=mode,
        allow=allow,
    )


def _refuse_half_named(issuer: str | None, *others: str | None) -> None:
    if issuer is not None:
        raise SettingsError("SWITCHBOARD_OIDC_CLIENT_ID is not set, but the provider is named.")
    if any(other is not None for other in others):
        raise SettingsError("SWITCHBOARD_OIDC_ISSUER is not set, but other OIDC settings are.")


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
