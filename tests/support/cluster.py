"""A Postgres of the tests' own: initialised in a temporary folder, kept as a child, thrown away.

As a program (`python -m tests.support.cluster FOLDER PID`) it keeps the fast cluster for as long as
the process PID lives, so several pytest workers share one and a killed run leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import psycopg

from app import children
from app.binaries import find_binaries, reachable
from app.children import Account, account_named

FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
}
DURABLE = {"max_connections": "250", "shared_buffers": "512MB", "max_wal_size": "8GB"}
START_SECONDS = 120.0


class Cluster:
    """One data directory and the server that may be running on it."""

    def __init__(self, home: Path, settings: Mapping[str, str]) -> None:
        """Names the cluster in `home`, a folder the server's account can pass through."""
        self.home = home
        self.data = home / "pg"
        self._settings = dict(settings)
        self._process: subprocess.Popen[bytes] | None = None

    def init(self) -> None:
        """Makes the data directory; never more than once per folder."""
        account = _account()
        self.data.mkdir(mode=0o700)
        if account is not None:
            os.chown(self.data, account.uid, account.gid)
        made = children.run(
            [self._program("initdb"), "-D", str(self.data), "-U", "postgres", "-A", "trust",
             "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"],
            account=account, env=_environment(), cwd=self.home,
        )
        if made.returncode != 0:
            raise RuntimeError(f"initdb failed: {made.stdout}{made.stderr}")

    def start(self) -> None:
        """Starts the server and returns when it answers; crash recovery included."""
        if self.is_running():
            return
        command = [self._program("postgres"), "-D", str(self.data)]
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.data),
                    "timezone": "UTC", "jit": "off", **self._settings}
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with (self.home / "log").open("ab") as log:
            self._process = children.spawn(
                command, account=_account(), env=_environment(), death_signal=signal.SIGQUIT,
                output=log, cwd=self.home,
            )
        self._wait_until_ready()

    def _program(self, name: str) -> str:
        found = find_binaries(os.environ.get("SWITCHBOARD_PG_BIN"))
        return str(reachable(found, account=_account(), home=self.home) / name)

    def stop(self, number: int = signal.SIGINT) -> None:
        """Stops the server cleanly (SIGINT: open sessions end)."""
        if self._process is None:
            return
        self._process.send_signal(number)
        self._process.wait(60)
        self._process = None

    def crash(self) -> None:
        """Stops the server as `pg_ctl stop -m immediate` does: no checkpoint, recovery at start."""
        self.stop(signal.SIGQUIT)

    def is_running(self) -> bool:
        """Says whether our child is alive."""
        return self._process is not None and self._process.poll() is None

    def url(self, database: str = "postgres") -> str:
        """Names `database` of this cluster the way settings and psycopg take it."""
        return url_in(self.data, database)

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"postgres ended at start; its last words:\n{self.last_words()}")
            try:
                psycopg.connect(self.url()).close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return
        raise RuntimeError(f"postgres gave no answer in {START_SECONDS} s:\n{self.last_words()}")

    def last_words(self) -> str:
        """Reads the end of the server's log."""
        log = self.home / "log"
        return log.read_text(errors="replace")[-3000:] if log.exists() else "(no log)"


def url_in(data: Path, database: str) -> str:
    """Names a database of the cluster whose socket is in `data`."""
    return f"postgresql://postgres@/{database}?host={quote(str(data), safe='')}"


def new_home() -> Path:
    """Makes the temporary folder of one cluster, open to the account that runs it."""
    home = Path(tempfile.mkdtemp(prefix="sbpg-"))
    home.chmod(0o711)
    return home


def keep(home: Path, guarded_pid: int) -> None:
    """Runs the fast cluster in `home` until the process `guarded_pid` is gone or SIGTERM comes."""
    wanted = True

    def leave(_number: int, _frame: object) -> None:
        nonlocal wanted
        wanted = False

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cluster = Cluster(home, FAST)
    try:
        cluster.init()
        cluster.start()
        (home / "ready").touch()
        while wanted and cluster.is_running() and _alive(guarded_pid):
            time.sleep(0.1)
    finally:
        cluster.stop(signal.SIGQUIT)
        shutil.rmtree(home, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _account() -> Account | None:
    """The account Postgres runs as: our own, or for root (whom it refuses) another."""
    if os.geteuid() != 0:
        return None
    return account_named(os.environ.get("SWITCHBOARD_PG_USER", "nobody"))


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]))
