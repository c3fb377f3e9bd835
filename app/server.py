"""The console script `switchboard`: settings in, the command line in front, the server behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

import click
import psycopg

from app import children, cli, hosting, logs, parts, supervisor
from app.binaries import EmbeddedError
from app.cli import Host
from app.db import migrate
from app.db.migrate import MigrationError
from app.domain.errors import Unavailable
from app.listening import StartError
from app.parsing import own_url
from app.settings import Settings, SettingsError
from app.version import VERSION

_LEVEL = "info"


def main(argv: list[str] | None = None) -> int:
    """Run `switchboard ARGV` and answer its exit code: 0, 1 refused or unreachable, 2 usage.

    A setting that will not do is usage: 2, and a sentence that names it.
    """
    given = sys.argv[1:] if argv is None else argv
    try:
        return cli.run(given, _host(Settings.from_environment(os.environ)))
    except SettingsError as wrong:
        return _refuse(str(wrong), 2)
    except (EmbeddedError, StartError, MigrationError) as refused:
        return _refuse(str(refused), 1)
    except Unavailable as away:
        return _refuse(away.sentence, 1)
    except psycopg.OperationalError as away:
        return _refuse(f"The database cannot be used: {away}", 1)


class _Level:
    """The log level; `--log-level` may change it once, before the command runs."""

    def __init__(self) -> None:
        self.name = _LEVEL
        logs.configure(self.name)

    def set(self, name: str) -> None:
        self.name = name
        logs.configure(name)


def _host(settings: Settings) -> Host:
    level = _Level()
    return Host(
        version=VERSION,
        base_url=settings.base_url,
        local_url=own_url(settings.host, settings.port),
        is_embedded=settings.database_url is None,
        default_url=settings.url or settings.base_url,
        credentials_path=settings.credentials,
        endpoint_token=settings.endpoint_token,
        log_level=level.name,
        environment=os.environ,
        set_log_level=level.set,
        serve=lambda: supervisor.serve(settings, level=level.name),
        migrate=lambda: _migrate(settings),
        open_database=lambda: hosting.open_database(settings),
        ground=lambda: hosting.ground(settings),
        new_ground=lambda: hosting.new_ground(settings),
        spawn=_spawn,
    )


def _migrate(settings: Settings) -> list[str]:
    with hosting.backing(settings) as found:
        return migrate.migrate(parts.urls_of(found.settings).direct)


def _spawn(words: Sequence[str], changed: Mapping[str, str]) -> subprocess.Popen[bytes]:
    # -P: a file in the folder we were started from must not pass for one of our modules.
    argv = [sys.executable, "-P", "-m", "app.server", *words]
    environment = {**supervisor.own_modules(), **changed}
    return children.spawn(argv, env=environment, output=subprocess.PIPE)


def _refuse(sentence: str, code: int) -> int:
    click.echo(f"switchboard: {sentence}", err=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
