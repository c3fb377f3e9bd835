"""One line of `doctor`, and the facts that such lines are judged from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of `doctor`: what was looked at, how it is, and what to do unless it is fine."""

    name: str
    verdict: Verdict
    says: str
    do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What the settings and the host say. `port` is where the server listens.

    `connections` is how many one server opens at most, of them `direct_connections` past a pooler.
    `free_bytes` is room on the disk of the embedded cluster, None with an external one or without
    a folder. `zone_version` is that of the bundled zone database.
    """

    base_url: str
    port: int
    is_loopback: bool
    has_trusted_proxies: bool
    dev_login: bool
    metrics_token: str | None
    connections: int
    direct_connections: int
    free_bytes: int | None
    home: str
    zone_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What Postgres says of itself: `settings` as pg_settings has them, times in milliseconds.

    `most_connections` is what the role may open, limits of role and database counted in.
    """

    version: str
    version_number: int
    encoding: str
    role: str
    is_standby: bool
    most_connections: int
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One URL to the database: which database it leads to, and whether a pooler is in between."""

    identity: str
    is_pooled: bool


def ok(name: str, says: str) -> Check:
    """It is fine."""
    return Check(name=name, verdict="ok", says=says)


def warn(name: str, says: str, do: str) -> Check:
    """It works, and should not be left so."""
    return Check(name=name, verdict="warn", says=says, do=do)


def fail(name: str, says: str, do: str) -> Check:
    """It is wrong."""
    return Check(name=name, verdict="fail", says=says, do=do)
