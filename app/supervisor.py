"""`switchboard serve`: Postgres, web and jobs, up in that order and down in reverse."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from app import children, hosting, listening, measuring, parts
from app.db import migrate
from app.edge.metrics import VARIABLE
from app.greeting import greet
from app.hosting import Backing
from app.listening import StartError
from app.reads import keys
from app.settings import KEY_NAME, Settings

_LOOK = 0.1  # seconds between two looks at the children
_RESTARTS = 5
_RESTART_WINDOW = 60.0
_GRACE = 20.0  # seconds: gunicorn gives its requests 15
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Kept:
    """A child that is started again when it ends by itself, but not for ever."""

    name: str
    start: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes]
    ended_at: list[float] = field(default_factory=list)

    def mind(self) -> None:
        """Start it again if it ended; StartError when that helped too rarely.

        A lost process costs its requests, not the service; one that cannot live would only hide
        its reason behind restarts.
        """
        code = self.process.poll()
        if code is None:
            return
        now = time.monotonic()
        self.ended_at = [at for at in self.ended_at if now - at < _RESTART_WINDOW] + [now]
        if len(self.ended_at) > _RESTARTS:
            raise StartError(f"The {self.name} process ends again and again; the log says why.")
        _log.warning("process_ended name=%s code=%s restarting=true", self.name, code)
        self.process = self.start()

    def stop(self) -> None:
        """Ask it to finish what it does and end; after the grace time it is killed."""
        self.process.terminate()
        try:
            self.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            _log.warning("process_killed name=%s", self.name)
            self.process.kill()
            self.process.wait()


def serve(settings: Settings, *, level: str) -> int:
    """Run until told to stop (0), or until Postgres or a process that cannot live ends (1).

    Raises SettingsError, EmbeddedError, MigrationError, StartError or psycopg.OperationalError
    when it cannot start.
    """
    for name in settings.unknown:
        click.echo(f"warning: {name} is not a setting of this release; it is ignored.", err=True)
    try:
        _catch_stop_signals()
        with contextlib.ExitStack() as stack:
            listener = stack.enter_context(listening.bind(settings.host, settings.port))
            backing = stack.enter_context(hosting.backing(settings))
            _prepare(backing)
            environment = _environment(backing.settings, stack.enter_context(measuring.directory()))
            kept = _start_children(stack, environment, listener, level)
            _log.info("serving address=%s", settings.base_url)
            _watch(backing, kept)
    except KeyboardInterrupt:
        _log.info("stopped")
        return 0


def _prepare(backing: Backing) -> None:
    """Migrate, and say what the person at the terminal must know."""
    urls = parts.urls_of(backing.settings)
    for version in migrate.migrate(urls.direct):
        _log.info("migrated version=%s", version)
    if not backing.is_embedded and not listening.wake_ups_arrive(urls.direct):
        click.echo(
            "warning: LISTEN brings nothing through this database URL (a transaction pooler?)."
            " Waiting claims look only now and then; set SWITCHBOARD_DATABASE_DIRECT_URL.",
            err=True,
        )
    with parts.open_database(urls, parts.key_of(backing.settings), size=1) as db:
        if not keys.opens_stored_secrets(db):
            raise StartError(
                f"{KEY_NAME} is not the key that the secrets in this database were sealed with;"
                " every server of a database needs the same one."
            )
        greet(db, backing.settings, data=backing.data)


def _start_children(
    stack: contextlib.ExitStack, environment: dict[str, str], listener: socket.socket, level: str
) -> list[Kept]:
    jobs = _keep("jobs", "app.jobsprocess", [level], environment, ())
    stack.callback(jobs.stop)
    descriptor = listener.fileno()
    web = _keep("web", "app.webserver", [str(descriptor), level], environment, (descriptor,))
    stack.callback(web.stop)
    stack.callback(listener.close)  # first of all: take no new connection
    return [web, jobs]


def _keep(
    name: str,
    module: str,
    arguments: list[str],
    environment: Mapping[str, str],
    descriptors: tuple[int, ...],
) -> Kept:
    def start() -> subprocess.Popen[bytes]:
        # -P: a file in the folder we were started from must not pass for one of our modules.
        argv = [sys.executable, "-P", "-m", module, *arguments]
        return children.spawn(argv, env=environment, pass_fds=descriptors)

    return Kept(name=name, start=start, process=start())


def _environment(settings: Settings, counting: Path) -> dict[str, str]:
    """Our own environment, with the database and the key that were found or made, and the
    directory in which the children count.
    """
    return {
        **own_modules(),
        "SWITCHBOARD_DATABASE_URL": parts.urls_of(settings).pooled,
        KEY_NAME: parts.key_of(settings).hex(),
        VARIABLE: str(counting),
    }


def own_modules() -> dict[str, str]:
    """Our own environment for another Python of ours, which finds the modules we run from."""
    root = str(Path(__file__).resolve().parent.parent)
    paths = [root, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def _watch(backing: Backing, kept: list[Kept]) -> NoReturn:
    while True:
        if not backing.is_running():
            raise StartError("Postgres ended. Start again: it recovers what was committed.")
        for child in kept:
            child.mind()
        time.sleep(_LOOK)


def _catch_stop_signals() -> None:
    for number in _STOP_SIGNALS:
        # nohup ignores SIGHUP, and that is to stay so.
        if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # a second one must not tear the stop
    raise KeyboardInterrupt
