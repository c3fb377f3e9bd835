"""What the roof hands down to the command line: settings as values, and what only it can start."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from app.db.database import Database
from app.domain.checks import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The database a host command works on, as it stands: reachable or not, and never migrated.

    `pooled` and `direct` are the two ways to it; they are the same text unless `names_direct`.
    `key` is what stored secrets are sealed with, None when it is not set; `key_place` is where it
    comes from. `site` is what the settings and the host say. `wake_ups_arrive` says whether a
    NOTIFY reaches a LISTEN on the direct way. `away` says why the embedded database is not there,
    and `away_do` what to do about it; both URLs are empty then.
    """

    pooled: str
    direct: str
    names_direct: bool
    key: bytes | None
    key_place: str
    site: Site
    wake_ups_arrive: Callable[[], bool]
    away: str = ""
    away_do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The machine a command runs on, seen through the roof (house 4.1: settings arrive as values).

    `default_url` is SWITCHBOARD_URL, or the base URL when that is not set. `credentials_path` is
    SWITCHBOARD_CREDENTIALS, or None for the user's own config directory. `environment` is the
    environment of this process: `work` builds that of its commands from it. `set_log_level` takes
    debug, info, warning or error and is called at most once, before anything else. `serve` runs
    until it is told to stop and answers an exit code. `migrate` answers the names of the migrations
    it applied. `open_database` gives host commands a database that is migrated, and closes it: with
    the embedded Postgres it joins a running server's cluster or starts one for the moment.
    `is_embedded` says whether that is the database. `ground` gives them the same one untouched,
    and makes no data folder; `new_ground` makes one where there is none.
    `local_url` is where a server of these settings listens, seen from this machine. `spawn`
    runs another `switchboard WORDS` with these variables changed, its output and errors piped
    together; it does not outlive this process.
    """

    version: str
    base_url: str
    local_url: str
    is_embedded: bool
    default_url: str
    credentials_path: Path | None
    endpoint_token: str | None
    log_level: str
    environment: Mapping[str, str]
    set_log_level: Callable[[str], None]
    serve: Callable[[], int]
    migrate: Callable[[], list[str]]
    open_database: Callable[[], AbstractContextManager[Database]]
    ground: Callable[[], AbstractContextManager[Ground]]
    new_ground: Callable[[], AbstractContextManager[Ground]]
    spawn: Callable[[Sequence[str], Mapping[str, str]], subprocess.Popen[bytes]]
