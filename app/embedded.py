"""The Postgres we carry: make a cluster, run it as our child, recover, stop."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import psycopg

from app import children, postmaster
from app.binaries import EmbeddedError, first_closed
from app.children import Account
from app.home import make_home, write_private

SUPERUSER = "switchboard"
_PORT = "5432"
_LONGEST_SOCKET_FOLDER = 85  # bytes; the socket's own name must still fit into 103 on macOS
_START_SECONDS = 600.0  # replaying a large log takes minutes, and must not be called a failure
_STOP_SECONDS = 60.0
_LOG_BYTES = 10_000_000
_DEFAULTS = {"listen_addresses": "", "max_connections": "200", "log_timezone": "UTC"}
_log = logging.getLogger(__name__)


class Cluster:
    """One data directory under home, and the server on it while it runs as our child.

    home is made 0711 when absent. `account` owns the data directory and runs the server (None: we
    do). `options` are server settings; they win over ours. Reachable by a Unix socket only.
    """

    def __init__(
        self, home: Path, *, bin_dir: Path, account: Account | None, options: Mapping[str, str]
    ) -> None:
        self.home = home
        self.data_dir = home / "pg"
        self.log_file = home / "postgres.log"
        self._bin_dir = bin_dir
        self._account = account
        self._options = {**_DEFAULTS, **options}
        self._server: subprocess.Popen[bytes] | None = None
        self._sockets = self.data_dir
        self._borrowed: Path | None = None  # a socket folder under /tmp, ours to remove

    def init(self) -> None:
        """Make the cluster unless it exists; a half-made one is thrown away, never picked up."""
        make_home(self.home)
        self._require_way(self.home)
        if self.data_dir.exists():
            return
        half = self.home / "pg.new"
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(mode=0o700)
        self._give(half)
        with contextlib.ExitStack() as stack:
            # A file, not a pipe: /dev/fd may not be opened again after the change of account.
            word = self.home / "password.new"
            stack.callback(word.unlink, missing_ok=True)
            write_private(word, self._password())
            self._give(word)
            self._initdb(half, word)
        half.rename(self.data_dir)

    def start(self) -> None:
        """Start the server and wait until it answers. Call it from the main thread.

        A server left over from a supervisor that died is stopped first. Raises EmbeddedError with
        the server's last words when it will not start.
        """
        self._require_way(self.data_dir)
        self._stop_orphan()
        deadline = time.monotonic() + _START_SECONDS
        self._choose_sockets()
        for attempt in range(6):
            self._launch()
            if self._ready(deadline):
                return
            if attempt < 5:
                # The backends of a killed server may hold its memory for a moment longer.
                time.sleep(0.5)
        self._drop_sockets()
        raise EmbeddedError(f"Postgres did not start. Its last words:\n{self._last_words()}")

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server: "fast" ends sessions and writes all out, "immediate" does as a crash."""
        server = self._server
        if server is None:
            return
        server.send_signal(signal.SIGINT if mode == "fast" else signal.SIGQUIT)
        try:
            server.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.send_signal(signal.SIGQUIT)
            server.wait()
        self._server = None
        self._drop_sockets()

    def kill(self) -> None:
        """End the postmaster with SIGKILL, as a crash of the host's memory would."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None
            self._drop_sockets()

    def is_running(self) -> bool:
        """Whether our child still runs."""
        return self._server is not None and self._server.poll() is None

    @property
    def pid(self) -> int | None:
        """The postmaster's process id while it runs."""
        return self._server.pid if self._server is not None else None

    def dsn(self, dbname: str = "postgres") -> str:
        """A connection URL of the superuser for one database of this cluster."""
        folder = quote(str(self._sockets), safe="")
        word = self._password()
        return f"postgresql://{SUPERUSER}:{word}@/{quote(dbname)}?host={folder}&port={_PORT}"

    def ensure_database(self, dbname: str) -> None:
        """Create the database when the cluster has none of that name."""
        with psycopg.connect(self.dsn(), autocommit=True) as conn:
            found = conn.execute("select 1 from pg_database where datname = %s", [dbname])
            if found.fetchone() is None:
                name = psycopg.sql.Identifier(dbname)
                conn.execute(psycopg.sql.SQL("create database {}").format(name))

    def _password(self) -> str:
        path = self.home / "password"
        if not path.exists():
            half = self.home / "password.half"
            write_private(half, secrets.token_hex(24))
            half.rename(path)
        return path.read_text().strip()

    def _initdb(self, folder: Path, word: Path) -> None:
        argv = [str(self._bin_dir / "initdb"), "-D", str(folder), "-U", SUPERUSER]
        argv += ["-A", "scram-sha-256", f"--pwfile={word}", "-E", "UTF8", "--locale=C"]
        argv += ["--data-checksums"]
        asked = children.run(
            [str(self._bin_dir / "postgres"), "--version"],
            account=self._account, env=_environment(), cwd=Path("/"),
        )  # fmt: skip
        if int(asked.stdout.split(")")[1].split(".")[0]) >= 17:
            # The same order of text on every operating system.
            argv += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        done = children.run(argv, account=self._account, env=_environment(), cwd=Path("/"))
        if done.returncode != 0:
            raise EmbeddedError(f"initdb failed:\n{done.stdout}{done.stderr}")

    def _launch(self) -> None:
        if self.log_file.exists() and self.log_file.stat().st_size > _LOG_BYTES:
            self.log_file.unlink()
        argv = [str(self._bin_dir / "postgres"), "-D", str(self.data_dir), "-p", _PORT]
        for name, value in {**self._options, "unix_socket_directories": str(self._sockets)}.items():
            argv += ["-c", f"{name}={value}"]
        descriptor = os.open(self.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "ab") as log:
            self._server = children.spawn(
                argv, account=self._account, env=_environment(), output=log, cwd=Path("/"),
                death_signal=signal.SIGINT,
            )  # fmt: skip

    def _ready(self, deadline: float) -> bool:
        server, said = self._server, time.monotonic()
        while server is not None and server.poll() is None:
            # Only our own child counts: an orphan on the same socket would answer just as well.
            ours = postmaster.pidfile(self.data_dir)[:1] == [str(server.pid)]
            if ours and postmaster.answers(self.dsn()):
                return True
            if time.monotonic() > deadline:
                self.stop("immediate")
                return False
            if time.monotonic() - said > 2:
                said = time.monotonic()
                _log.info("Postgres is recovering; waiting for it to answer.")
            time.sleep(0.02)
        self._server = None
        return False

    def _stop_orphan(self) -> None:
        lines = postmaster.pidfile(self.data_dir)
        if not lines:
            return
        folder = lines[4].strip() if len(lines) > 4 else ""
        if folder and postmaster.listens(Path(folder) / f".s.PGSQL.{_PORT}"):
            _log.info("Stopping the Postgres of a run that ended without it.")
            argv = [str(self._bin_dir / "pg_ctl"), "-D", str(self.data_dir)]
            argv += ["-m", "fast", "-w", "-t", "60", "stop"]
            children.run(argv, account=self._account, env=_environment(), cwd=Path("/"))
        deadline = time.monotonic() + 10
        while postmaster.pidfile(self.data_dir) and postmaster.lives(lines[0]):
            if time.monotonic() > deadline:
                return
            time.sleep(0.02)  # it is shutting down already

    def _choose_sockets(self) -> None:
        self._sockets = self.data_dir
        if len(os.fsencode(self.data_dir)) > _LONGEST_SOCKET_FOLDER:
            self._borrowed = self._sockets = Path(tempfile.mkdtemp(prefix="sb-pg-", dir="/tmp"))
            self._give(self._borrowed)

    def _drop_sockets(self) -> None:
        if self._borrowed is not None:
            shutil.rmtree(self._borrowed, ignore_errors=True)
            self._borrowed = None

    def _require_way(self, folder: Path) -> None:
        closed = first_closed(folder, self._account) if self._account else None
        if self._account and closed:
            raise EmbeddedError(
                f"The account {self._account.name}, which runs Postgres, may not enter {closed}."
                " Set SWITCHBOARD_DATA_DIR to a place it can reach, such as /var/lib/switchboard."
            )

    def _give(self, path: Path) -> None:
        if self._account:
            os.chown(path, self._account.uid, self._account.gid)

    def _last_words(self) -> str:
        lines = self.log_file.read_text(errors="replace").splitlines() if self.log_file else []
        return "\n".join(lines[-8:])


def _environment() -> dict[str, str]:
    return {"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ.get("PATH", "/usr/bin:/bin")}
