"""The Postgres we carry, with real processes: made, shared, killed, recovered, stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from app import binaries, postmaster, sharing
from app.binaries import EmbeddedError, find_binaries, reachable
from app.children import Account, account_named
from app.embedded import Cluster
from app.home import make_home
from app.sharing import Embedded, open_embedded
from tests.support.cluster import new_home
from tests.support.wait import wait_for

ROOT = Path(__file__).parent.parent
NOBODY = Account(name="stranger", uid=3_999_998, gid=3_999_998)
KEEPER = """
import sys, time
from pathlib import Path
from app.sharing import open_embedded
found = open_embedded(Path(sys.argv[1]), pg_bin=None, pg_user=None)
print(found.cluster.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A data folder of the test's own that the server's account can pass through."""
    folder = new_home()
    yield folder / "data"
    shutil.rmtree(folder)


@contextlib.contextmanager
def opened(home: Path) -> Iterator[Embedded]:
    """The embedded Postgres of `home`, closed at the end."""
    found = open_embedded(home, pg_bin=None, pg_user=None)
    try:
        yield found
    finally:
        found.close()


@contextlib.contextmanager
def kept_elsewhere(home: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Another run that keeps the Postgres of `home`, and its postmaster's process id."""
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(home)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert keeper.stdout is not None
    server = int(keeper.stdout.readline())
    try:
        yield keeper, server
    finally:
        keeper.kill()
        keeper.communicate()
        wait_for(lambda: not psutil.pid_exists(server), what="its Postgres ended")


def cluster_at(home: Path) -> Cluster:
    """A cluster in `home`, not made yet."""
    account = account_named("nobody") if os.geteuid() == 0 else None
    make_home(home)
    bin_dir = reachable(find_binaries(), account=account, home=home)
    return Cluster(home, bin_dir=bin_dir, account=account, options={})


def mode(path: Path) -> int:
    """The permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)


def note(dsn: str, text: str) -> None:
    """Commit one row."""
    with psycopg.connect(dsn) as conn:
        conn.execute("create table if not exists notes (text text)")
        conn.execute("insert into notes values (%s)", [text])


def notes(dsn: str) -> list[str]:
    """Every committed row."""
    with psycopg.connect(dsn) as conn:
        return [str(row[0]) for row in conn.execute("select text from notes")]


def test_it_starts_answers_only_to_its_password_and_keeps_its_data(home: Path) -> None:
    with opened(home) as first:
        assert first.cluster is not None
        note(first.dsn, "kept")
        word = (home / "password").read_text()
        wrong = first.dsn.replace(word, "0" * len(word))
        assert not postmaster.answers(wrong)
        assert mode(home / "pg") == 0o700
        assert mode(home / "password") == mode(home / "run.json") == 0o600
        with psycopg.connect(first.dsn) as conn:
            shown = [
                conn.execute(f"show {name}").fetchone()
                for name in ("listen_addresses", "fsync", "data_checksums", "timezone")
            ]
        assert shown == [("",), ("on",), ("on",), ("UTC",)]
        server = first.cluster.pid

    assert server is not None
    assert not psutil.pid_exists(server)
    assert not (home / "run.json").exists()
    with opened(home) as second:
        assert notes(second.dsn) == ["kept"]


def test_a_second_run_attaches_and_does_not_stop_it(home: Path) -> None:
    with kept_elsewhere(home) as (_, server), opened(home) as second:
        assert second.cluster is None
        note(second.dsn, "from the second")
        second.close()

        assert psutil.pid_exists(server)
        assert notes(second.dsn) == ["from the second"]


def test_kill_9_of_the_run_ends_its_postgres_and_the_next_start_finds_the_data(home: Path) -> None:
    with kept_elsewhere(home) as (keeper, server):
        with opened(home) as attached:
            note(attached.dsn, "acknowledged")
        keeper.kill()
        keeper.wait()

        with opened(home) as next_run:
            assert next_run.cluster is not None
            wait_for(lambda: not psutil.pid_exists(server), what="the left-over server ended")
            assert notes(next_run.dsn) == ["acknowledged"]


def test_kill_9_of_the_postmaster_loses_nothing_acknowledged(home: Path) -> None:
    with opened(home) as found:
        assert found.cluster is not None
        for number in range(20):
            note(found.dsn, str(number))
        assert found.cluster.pid is not None
        os.kill(found.cluster.pid, signal.SIGKILL)
        wait_for(lambda: not found.is_running(), what="the end of the postmaster is seen")

        found.cluster.start()

        assert notes(found.dsn) == [str(number) for number in range(20)]


def test_an_immediate_stop_recovers_at_the_next_start(home: Path) -> None:
    cluster = cluster_at(home)
    cluster.init()
    cluster.start()
    note(cluster.dsn(), "acknowledged")

    cluster.stop("immediate")
    cluster.start()

    assert notes(cluster.dsn()) == ["acknowledged"]
    cluster.kill()
    assert not cluster.is_running()


def test_a_server_left_over_without_its_run_is_stopped_first(home: Path) -> None:
    cluster = cluster_at(home)
    cluster.init()
    cluster.start()
    note(cluster.dsn(), "of the orphan")
    orphan = cluster.pid
    assert orphan is not None

    with opened(home) as found:  # nobody holds the folder's lock, yet a server answers
        assert found.cluster is not None
        assert found.cluster.pid != orphan
        assert notes(found.cluster.dsn()) == ["of the orphan"]
    cluster.stop()


def test_a_half_made_cluster_is_never_picked_up(home: Path) -> None:
    make_home(home)
    (home / "pg.new").mkdir()
    (home / "pg.new" / "PG_VERSION").write_text("18\n")

    with opened(home) as found:
        note(found.dsn, "works")

    assert not (home / "pg.new").exists()


def test_a_long_path_gets_a_short_socket_folder_that_goes_with_the_server(home: Path) -> None:
    deep = home.parent / ("d" * 60) / ("e" * 60)
    deep.parent.mkdir(mode=0o711)

    with opened(deep) as found:
        note(found.dsn, "reached")
        folder = Path(postmaster.pidfile(deep / "pg")[4])
        assert len(os.fsencode(folder)) < 85
        assert mode(folder) == 0o700

    assert not folder.exists()


def test_programs_of_another_major_version_are_refused(home: Path) -> None:
    make_home(home)
    (home / "pg").mkdir()
    (home / "pg" / "PG_VERSION").write_text("11\n")
    here = find_binaries()

    with pytest.raises(EmbeddedError, match="version 11") as refused:
        find_binaries(str(here.bin_dir), data_dir=home / "pg")

    assert f"{here.bin_dir} (version {here.major})" in str(refused.value)
    assert "SWITCHBOARD_DATABASE_URL" in str(refused.value)


def test_the_wheel_comes_before_the_system(home: Path) -> None:
    assert find_binaries(data_dir=home / "pg").package is not None


def test_a_named_folder_without_programs_is_refused(home: Path) -> None:
    with pytest.raises(EmbeddedError, match="SWITCHBOARD_PG_BIN"):
        find_binaries(str(home))


def test_programs_behind_a_closed_door_are_copied_and_the_door_stays_closed(home: Path) -> None:
    found = find_binaries()
    assert found.package is not None
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    package = closed / found.package.name
    for name in (found.package.name, f"{found.package.name}.libs"):
        shutil.copytree(found.package.parent / name, closed / name, symlinks=True)
    behind = binaries.Binaries(
        bin_dir=package / "pginstall" / "bin", major=found.major, package=package
    )
    make_home(home)

    bin_dir = reachable(behind, account=NOBODY, home=home)

    assert bin_dir.is_relative_to(home)
    assert binaries.may_reach(bin_dir / "postgres", NOBODY)
    assert mode(closed) == 0o700
    asked = subprocess.run([bin_dir / "initdb", "--version"], capture_output=True, check=True)
    assert f"(PostgreSQL) {found.major}".encode() in asked.stdout


def test_other_programs_behind_a_closed_door_are_refused(home: Path) -> None:
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    (closed / "postgres").touch(mode=0o755)
    found = binaries.Binaries(bin_dir=closed, major=18)

    with pytest.raises(EmbeddedError, match="SWITCHBOARD_PG_USER"):
        reachable(found, account=NOBODY, home=home)


def test_a_data_folder_the_account_cannot_enter_is_named(home: Path) -> None:
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    cluster = Cluster(closed / "data", bin_dir=Path("/nowhere"), account=NOBODY, options={})

    with pytest.raises(EmbeddedError, match=str(closed)):
        cluster.init()


def test_the_key_is_made_once_and_before_the_cluster(home: Path) -> None:
    key = sharing.kept_key(home)

    assert len(key) == 32
    assert sharing.kept_key(home) == key
    assert mode(home / "secret.key") == 0o600


def test_a_cluster_without_its_key_is_refused(home: Path) -> None:
    make_home(home)
    (home / "pg").mkdir()

    with pytest.raises(EmbeddedError, match="SWITCHBOARD_SECRET_ENCRYPTION_KEY"):
        sharing.kept_key(home)


def test_root_needs_an_existing_account_other_than_root(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing.os, "geteuid", lambda: 0)

    for name in ("root", "no-such-account"):
        with pytest.raises(EmbeddedError, match="SWITCHBOARD_PG_USER"):
            open_embedded(home, pg_bin=None, pg_user=name)


def test_a_user_id_without_an_entry_is_told_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing.os, "geteuid", lambda: 3_999_999)

    with pytest.raises(EmbeddedError, match="SWITCHBOARD_DATABASE_URL"):
        open_embedded(home, pg_bin=None, pg_user=None)
