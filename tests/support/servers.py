"""Real servers: whole `switchboard serve` process trees on one database of the test's own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import urllib3

from app.db.database import Database
from tests.support import pooler
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.pg import SEALING_KEY, Fresh
from tests.support.wait import wait_for

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0
_http = urllib3.PoolManager(
    num_pools=64, maxsize=128, retries=False, timeout=urllib3.Timeout(connect=5, read=70)
)


class Server:
    """One `serve` with all its processes, on a port of its own."""

    def __init__(self, database_url: str, folder: Path, settings: Mapping[str, str]) -> None:
        """Names a server that keeps its files in `folder`; start() runs it."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"server-{self.port}.log"
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "TMPDIR": str(folder),  # what a killed server leaves goes with the test's folder
            **ways(database_url),
            "SWITCHBOARD_ADDR": f"127.0.0.1:{self.port}",
            "SWITCHBOARD_DATA_DIR": str(folder / "data"),
            "SWITCHBOARD_SECRET_ENCRYPTION_KEY": SEALING_KEY.hex(),
            "SWITCHBOARD_AGENT_RATE": "100000/100000",
            **settings,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, wait: bool = True) -> None:
        """Runs the server the way a user does, and waits until it is ready."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "app", "serve"], cwd=ROOT, env=self._environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Returns once /readyz answers 200; fails when the process ends first."""
        wait_for(self._is_ready_or_gone, START_SECONDS, what=f"{self.url} is ready")

    def is_running(self) -> bool:
        """Says whether the process we started is alive."""
        return self._process is not None and self._process.poll() is None

    def is_ready(self) -> bool:
        """Says whether /readyz answers 200."""
        return self.answers("/readyz") == 200

    def answers(self, path: str) -> int | None:
        """The status of a GET without credentials; None when there is no answer."""
        try:
            return _http.request("GET", self.url + path, timeout=5).status
        except urllib3.exceptions.HTTPError:
            return None

    def stop(self, seconds: float = 40.0) -> int:
        """Asks with SIGTERM, waits for the end, and returns the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"no end {seconds} s after SIGTERM:\n{self.words()}") from None

    def kill(self) -> None:
        """Ends every process of this server with SIGKILL, the supervisor first."""
        if self._process is None:
            return
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait(20)

    def processes(self) -> list[psutil.Process]:
        """The supervisor and everything below it, now."""
        assert self._process is not None
        try:
            supervisor = psutil.Process(self._process.pid)
            return [supervisor, *supervisor.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def restart(self) -> None:
        """Stops what runs and starts again on the same port."""
        if self.is_running():
            self.stop()
        self.start()

    def words(self) -> str:
        """What the server has written so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _is_ready_or_gone(self) -> bool:
        if not self.is_running():
            raise AssertionError(f"the server ended at start:\n{self.words()[-4000:]}")
        return self.is_ready()


class Fleet:
    """Servers on one database; `fleet[0]` is the first. Also that database's clock and builders."""

    def __init__(self, fresh: Fresh, folder: Path) -> None:
        """Makes a fleet without servers."""
        self.database_url = fresh.url
        self.db: Database = fresh.db
        self.make = Make(fresh.url)
        self.clock = Clock(fresh.url)
        self.members: list[Server] = []
        self._folder = folder

    def add(self, **settings: str) -> Server:
        """Starts one more server; `settings` are environment variables."""
        server = self._make(settings)
        server.start()
        return server

    def add_together(self, number: int, **settings: str) -> None:
        """Starts several servers at once, which takes no longer than one."""
        added = [self._make(settings) for _ in range(number)]
        for server in added:
            server.start(wait=False)
        for server in added:
            server.wait_until_ready()

    def _make(self, settings: Mapping[str, str]) -> Server:
        folder = self._folder / f"server-{len(self.members)}"
        folder.mkdir()
        server = Server(self.database_url, folder, settings)
        self.members.append(server)
        return server

    def __getitem__(self, number: int) -> Server:
        return self.members[number]

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Server]:
        return iter(self.members)

    def close(self) -> None:
        """Ends every server that still runs, and the builders."""
        for server in self.members:
            if server.is_running():
                server.kill()
        self.make.close()


@pytest.fixture
def fleet(fresh_database: Fresh, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet without servers yet, on a fresh database of the fast cluster."""
    made = Fleet(fresh_database, tmp_path)
    yield made
    made.close()


@pytest.fixture
def servers(fleet: Fleet) -> Fleet:
    """Two servers on one database."""
    fleet.add()
    fleet.add()
    return fleet


@pytest.fixture
def durable_fleet(durable_database: Fresh, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet without servers yet, on the durable cluster."""
    made = Fleet(durable_database, tmp_path)
    yield made
    made.close()


def ways(database_url: str) -> Mapping[str, str]:
    """The settings that name a database: in a run behind a pooler, both ways to it."""
    way = pooler.pooled(database_url)
    named = {"SWITCHBOARD_DATABASE_URL": way}
    return named if way == database_url else named | {
        "SWITCHBOARD_DATABASE_DIRECT_URL": database_url}


def free_port() -> int:
    """A TCP port of the loopback address nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> dict[str, object]:
        """The body as a JSON object."""
        parsed = json.loads(self.body)
        assert isinstance(parsed, dict)
        return parsed


class HttpCaller:
    """A JSON client of a real server with one bearer token; safe to share among threads."""

    def __init__(self, url: str, token: str) -> None:
        """Calls paths below `url`."""
        self._url = url
        self._token = token

    def request(self, method: str, path: str, body: object = None, *, timeout: float = 70.0,
                headers: Mapping[str, str] | None = None) -> Answer:
        """One request; urllib3's errors are passed on."""
        data = None if body is None else json.dumps(body).encode()
        said = {"Authorization": f"Bearer {self._token}", **(headers or {})}
        if data is not None:
            said["Content-Type"] = "application/json"
        response = _http.request(method, self._url + path, body=data, headers=said,
                                 timeout=timeout)
        return Answer(response.status, response.data, response.headers)

    def call(self, verb: str, /, *, key: str | None = None, timeout: float = 70.0,
             **arguments: object) -> Answer:
        """One agent verb; `key` is an Idempotency-Key."""
        headers = {"Idempotency-Key": key} if key else {}
        return self.request("POST", f"/{verb}", arguments, timeout=timeout, headers=headers)

    def get(self, path: str) -> Answer:
        """GET."""
        return self.request("GET", path)

    def post(self, path: str, body: object = None) -> Answer:
        """POST."""
        return self.request("POST", path, {} if body is None else body)

    def patch(self, path: str, body: object) -> Answer:
        """PATCH."""
        return self.request("PATCH", path, body)

    def delete(self, path: str) -> Answer:
        """DELETE."""
        return self.request("DELETE", path)


def agent(url: str, token: str) -> HttpCaller:
    """A caller of one server's agent surface."""
    return HttpCaller(f"{url}/agent/v1", token)


def operator(url: str, token: str) -> HttpCaller:
    """A caller of one server's operator surface."""
    return HttpCaller(f"{url}/api/v1", token)
