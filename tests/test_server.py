"""`switchboard serve` as a person meets it: what it prints, how it stops, what it survives."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import psycopg
import pytest
import urllib3

from app import listening, parts
from app.settings import Settings
from app.version import VERSION
from tests.support.cluster import new_home
from tests.support.make import Make
from tests.support.pg import SEALING_KEY, Fresh
from tests.support.servers import Fleet, free_port
from tests.support.wait import wait_for

ROOT = Path(__file__).parent.parent
START_SECONDS = 90.0
_http = urllib3.PoolManager(retries=False, timeout=10)


@pytest.fixture
def home() -> Iterator[Path]:
    """A data folder of the test's own that the server's account can pass through."""
    folder = new_home()
    yield folder / "data"
    shutil.rmtree(folder)


class Run:
    """One `switchboard ARGS` with an embedded Postgres, and everything it wrote."""

    def __init__(self, home: Path, *arguments: str, **settings: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._written = home.parent / f"run-{self.port}.log"
        with self._written.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", *(arguments or ("serve",))], cwd=ROOT,
                env=environment(home, SWITCHBOARD_ADDR=f"127.0.0.1:{self.port}", **settings),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def words(self) -> str:
        """What it has written so far."""
        return self._written.read_text()

    def is_ready(self) -> bool:
        """Whether /readyz answers 200; fails when the server has ended."""
        assert self.process.poll() is None, self.words()
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            return _http.request("GET", f"{self.url}/readyz").status == 200
        return False

    def tree(self) -> list[psutil.Process]:
        """The supervisor and every process below it."""
        supervisor = psutil.Process(self.process.pid)
        return [supervisor, *supervisor.children(recursive=True)]

    def child(self, name: str) -> psutil.Process:
        """The web master, the jobs process or the postmaster."""
        mark = {"web": "app.webserver", "jobs": "app.jobsprocess", "postgres": "-D"}[name]
        direct = psutil.Process(self.process.pid).children()
        return next(process for process in direct if mark in process.cmdline())


def environment(home: Path, **settings: str) -> Mapping[str, str]:
    """The bare environment of a server whose data is in `home`."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home.parent),
        "SWITCHBOARD_DATA_DIR": str(home),
        **settings,
    }


@contextlib.contextmanager
def serving(home: Path, **settings: str) -> Iterator[Run]:
    """A server on an embedded Postgres that answers /readyz, killed at the end if need be."""
    run = Run(home, **settings)
    try:
        wait_for(run.is_ready, START_SECONDS, what=f"{run.url} is ready")
        yield run
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in run.tree():
                process.kill()
        run.process.wait(20)


def assert_gone(processes: list[psutil.Process]) -> None:
    """Assert that none of them is left."""
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not alive


def refused(home: Path, **settings: str) -> tuple[int, str]:
    """The exit code and the words of a server that cannot start."""
    done = subprocess.run(
        [sys.executable, "-m", "app", "serve"], cwd=ROOT, env=environment(home, **settings),
        capture_output=True, text=True, timeout=START_SECONDS, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def host_command(home: Path, *arguments: str) -> str:
    """What a command on the server host prints."""
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments], cwd=ROOT, env=environment(home),
        capture_output=True, text=True, timeout=START_SECONDS, check=True,
    ).stdout  # fmt: skip


def test_the_first_start_prints_a_link_that_signs_in_and_a_token_that_works(home: Path) -> None:
    with serving(home) as run:
        said = run.words()
        link = re.search(rf"{run.url}/auth/link/\S+", said)
        token = re.search(r"sbo_[\w-]{43}", said)
        assert link is not None
        assert token is not None
        assert str(home) in said

        shown = _http.request("GET", link[0])
        used = _http.request("POST", link[0], redirect=False)
        again = _http.request("POST", link[0], redirect=False)
        mine = _http.request(
            "GET", f"{run.url}/api/v1/me", headers={"Authorization": f"Bearer {token[0]}"}
        )

        assert (shown.status, used.status, again.status, mine.status) == (200, 303, 410, 200)
        cookie = used.headers["Set-Cookie"].split(";")[0]
        assert _http.request("GET", run.url, headers={"Cookie": cookie}).status == 200


def test_ctrl_c_leaves_no_process_and_the_next_start_finds_the_data(home: Path) -> None:
    with serving(home) as run:
        everything = run.tree()
        assert len(everything) > 4
        token = re.search(r"sbo_[\w-]{43}", run.words())
        assert token is not None

        run.process.send_signal(signal.SIGINT)

        assert run.process.wait(40) == 0
        assert_gone(everything)
        assert "Traceback" not in run.words()
    with serving(home) as second:
        assert "sbo_" not in second.words()
        assert "/auth/link/" not in second.words()  # its output is no terminal
        mine = _http.request(
            "GET", f"{second.url}/api/v1/me", headers={"Authorization": f"Bearer {token[0]}"}
        )
        assert mine.status == 200


def test_sigterm_ends_with_0_and_a_clean_database(home: Path) -> None:
    with serving(home) as run:
        everything = run.tree()

        run.process.terminate()

        assert run.process.wait(40) == 0
        assert_gone(everything)
    assert "database system is shut down" in (home / "postgres.log").read_text()


def test_kill_9_of_the_supervisor_ends_every_process(home: Path) -> None:
    with serving(home) as run:
        everything = run.tree()

        run.process.kill()
        run.process.wait(10)

        _, alive = psutil.wait_procs(everything, timeout=30)
        assert not alive


def test_the_end_of_postgres_ends_the_server_with_1_and_a_sentence(home: Path) -> None:
    with serving(home) as run:
        everything = run.tree()

        run.child("postgres").kill()

        assert run.process.wait(40) == 1
        assert_gone(everything)
        assert "Postgres ended." in run.words()
    with serving(home):
        pass


@pytest.mark.parametrize("name", ["web", "jobs"])
def test_a_process_that_dies_is_started_again(home: Path, name: str) -> None:
    with serving(home) as run:
        first = run.child(name).pid

        run.child(name).kill()

        wait_for(lambda: pid_of(run, name) not in (None, first), 20)
        wait_for(run.is_ready, START_SECONDS, what="ready again")


def pid_of(run: Run, name: str) -> int | None:
    """That child's process id, or None while it is ending or not started yet.

    One look: between two of them the child can come or go.
    """
    with contextlib.suppress(StopIteration, psutil.NoSuchProcess, psutil.ZombieProcess):
        return run.child(name).pid
    return None


def test_a_start_on_a_terminal_prints_a_fresh_link_every_time(home: Path) -> None:
    with serving(home):
        port = free_port()
        ours, theirs = pty.openpty()
        second = subprocess.Popen(
            [sys.executable, "-m", "app", "serve"], cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=theirs, stderr=subprocess.DEVNULL,
            env=environment(home, SWITCHBOARD_ADDR=f"127.0.0.1:{port}"),
        )  # fmt: skip
        os.close(theirs)
        said = ""
        while "/auth/link/" not in said:
            said += os.read(ours, 4096).decode()
        second.terminate()
        assert second.wait(40) == 0
        os.close(ours)

        assert "embedded Postgres of another run" in said
        assert "sbo_" not in said


def test_two_servers_share_one_embedded_postgres(home: Path) -> None:
    with serving(home) as first, serving(home) as second:
        link = re.search(r"/auth/link/\S+", first.words())
        assert link is not None

        assert _http.request("POST", second.url + link[0], redirect=False).status == 303

        second.process.terminate()
        assert second.process.wait(40) == 0
        assert first.is_ready()


def test_host_commands_work_beside_a_server_and_without_one(home: Path) -> None:
    made = host_command(home, "admin", "create-human", "--name", "Ada", "--json")
    assert "/auth/link/" in made

    with serving(home) as run:
        token = host_command(home, "admin", "token", "--human", "Ada").strip()
        mine = _http.request(
            "GET", f"{run.url}/api/v1/me", headers={"Authorization": f"Bearer {token}"}
        )
        assert mine.status == 200


def test_a_port_in_use_is_a_sentence_and_1(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"127.0.0.1:{taken.getsockname()[1]}"

        code, words = refused(home, SWITCHBOARD_ADDR=where)

    assert code == 1
    assert f"{where} is in use" in words
    assert not (home / "pg").exists()


def test_a_malformed_setting_is_named_and_2(home: Path) -> None:
    code, words = refused(home, SWITCHBOARD_AGENT_RATE="many")

    assert code == 2
    assert "SWITCHBOARD_AGENT_RATE" in words


def test_a_database_of_ones_own_needs_the_key(home: Path) -> None:
    code, words = refused(home, SWITCHBOARD_DATABASE_URL="postgresql://127.0.0.1:1/none")

    assert code == 2
    assert "SWITCHBOARD_SECRET_ENCRYPTION_KEY" in words


def test_a_database_that_is_away_is_a_sentence_and_1(home: Path) -> None:
    code, words = refused(
        home,
        SWITCHBOARD_ADDR=f"127.0.0.1:{free_port()}",
        SWITCHBOARD_DATABASE_URL="postgresql://127.0.0.1:1/none",
        SWITCHBOARD_SECRET_ENCRYPTION_KEY=SEALING_KEY.hex(),
    )

    assert code == 1
    assert "The database cannot be used" in words


def test_an_unknown_setting_is_warned_about(fleet: Fleet) -> None:
    server = fleet.add(SWITCHBOARD_DEV_LOGON="1")

    assert "SWITCHBOARD_DEV_LOGON is not a setting" in server.words()


def test_two_servers_that_start_at_once_make_one_first_human(fleet: Fleet) -> None:
    with psycopg.connect(fleet.database_url, autocommit=True) as conn:
        conn.execute("drop schema public cascade; create schema public")
    fleet.add()
    fleet.add()
    with psycopg.connect(fleet.database_url) as conn:
        names = [row[0] for row in conn.execute("select display_name from humans")]

    assert names == ["operator"]
    assert sum("sbo_" in server.words() for server in fleet) == 1


def test_readyz_says_503_while_the_database_is_behind(fleet: Fleet) -> None:
    server = fleet.add()
    with psycopg.connect(fleet.database_url, autocommit=True) as conn:
        conn.execute("delete from schema_migrations")

    answer = _http.request("GET", f"{server.url}/readyz")

    assert answer.status == 503
    assert b'"code":"unavailable"' in answer.data
    assert _http.request("GET", f"{server.url}/healthz").status == 200


def test_a_server_with_a_direct_url_serves(fleet: Fleet) -> None:
    server = fleet.add(SWITCHBOARD_DATABASE_DIRECT_URL=fleet.database_url)

    assert server.is_ready()
    assert "LISTEN brings nothing" not in server.words()


@pytest.mark.parametrize("direct", [None, "same"])
def test_with_a_direct_url_nothing_is_prepared_on_the_other(
    fresh_database: Fresh, direct: str | None
) -> None:
    settings = Settings(
        data_dir=Path("/nowhere"),
        database_url=fresh_database.url,
        database_direct_url=fresh_database.url if direct else None,
    )

    with parts.open_database(parts.urls_of(settings), SEALING_KEY, size=1) as db:
        for _ in range(10):
            with db.reading() as conn:
                conn.execute("select 1 where %s = 1", [1])
        with db.reading() as conn:
            prepared = conn.execute("select count(*) from pg_prepared_statements").fetchone()

    assert prepared is not None
    assert (prepared[0] > 0) is (direct is None)


def test_wake_ups_are_probed_between_two_connections(fresh_database: Fresh) -> None:
    assert listening.wake_ups_arrive(fresh_database.url)


def test_the_version_is_that_of_the_project() -> None:
    assert f'version = "{VERSION}"' in (ROOT / "pyproject.toml").read_text()


def test_a_key_that_opens_no_stored_secret_is_a_sentence_and_1(durable_database: Fresh) -> None:
    make = Make(durable_database.url)
    make.webhook(make.endpoint(), "github", secret="sealed with the right key")
    make.close()
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "SWITCHBOARD_DATABASE_URL": durable_database.url,
        "SWITCHBOARD_SECRET_ENCRYPTION_KEY": "ff" * 32,
        "SWITCHBOARD_ADDR": f"127.0.0.1:{free_port()}",
    }

    ran = subprocess.run(
        [sys.executable, "-m", "app", "serve"], cwd=ROOT, env=environment, timeout=60,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )

    assert ran.returncode == 1
    assert "SWITCHBOARD_SECRET_ENCRYPTION_KEY is not the key" in ran.stderr
