"""A Postgres of the tests' own: our embedded one in a temporary folder, thrown away afterwards.

As a program (`python -m tests.support.cluster FOLDER PID`) it keeps the fast cluster for as long as
the process PID lives, so several pytest workers share one and a killed run leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from app.binaries import find_binaries, reachable
from app.children import Account, account_named
from app.embedded import Cluster
from tests.support import pooler

FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
}
DURABLE = {"max_connections": "250", "shared_buffers": "512MB", "max_wal_size": "8GB"}
# Any name will do in place of it: `url.replace(ANY, name)`.
ANY = "any_database"


def new_home() -> Path:
    """Makes the temporary folder of one cluster, open to the account that runs it."""
    home = Path(tempfile.mkdtemp(prefix="sbpg-"))
    home.chmod(0o711)
    return home


def make_cluster(home: Path, options: Mapping[str, str]) -> Cluster:
    """A cluster in `home`, made but not started.

    Its socket's folder is the guard, not a password: scram would cost each connection 10 ms.
    """
    account = own_account()
    found = find_binaries(os.environ.get("SWITCHBOARD_PG_BIN"))
    bin_dir = reachable(found, account=account, home=home)
    cluster = Cluster(home, bin_dir=bin_dir, account=account, options={"jit": "off", **options})
    cluster.init()
    (cluster.data_dir / "pg_hba.conf").write_text("local all all trust\n")
    return cluster


def keep(home: Path, guarded_pid: int) -> None:
    """Runs the fast cluster in `home` until the process `guarded_pid` is gone or SIGTERM comes."""
    wanted = True

    def leave(_number: int, _frame: object) -> None:
        nonlocal wanted
        wanted = False

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cluster = make_cluster(home, FAST)
    try:
        cluster.start()
        with pooler.before(home, cluster.dsn(), account=own_account()):
            half = home / "url.half"
            half.write_text(cluster.dsn(ANY))
            half.rename(home / "url")
            while wanted and cluster.is_running() and _alive(guarded_pid):
                time.sleep(0.1)
    finally:
        cluster.stop("immediate")
        shutil.rmtree(home, ignore_errors=True)


def _alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not reaped yet does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def own_account() -> Account | None:
    """The account Postgres runs as: our own, or for root (whom it refuses) another."""
    if os.geteuid() != 0:
        return None
    return account_named(os.environ.get("SWITCHBOARD_PG_USER", "nobody"))


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]))
