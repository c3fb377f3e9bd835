"""The whole flow on a real server: a person vends and pushes, a worker drains, the person sees."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Ran
from tests.support.servers import ROOT, Fleet, Server
from tests.support.wait import wait_for

Switchboard = Callable[..., Ran]


class Worker:
    """A `switchboard work` process of its own."""

    def __init__(self, environment: Mapping[str, str], log: Path, *words: str):
        self._log = log
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", "work", *words], cwd=ROOT, env=environment,
                stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            )  # fmt: skip

    def words(self) -> str:
        """What it has printed so far."""
        return self._log.read_text()

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@pytest.fixture
def server(fleet: Fleet) -> Server:
    """One real server."""
    return fleet.add()


@pytest.fixture
def environment(server: Server, tmp_path: Path) -> dict[str, str]:
    """What a person's shell would hold; no endpoint credential yet."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "SWITCHBOARD_URL": server.url,
        "SWITCHBOARD_CREDENTIALS": str(tmp_path / "credentials.json"),
    }  # fmt: skip


@pytest.fixture
def switchboard(cli: Cli, server: Server) -> Switchboard:
    """Run one command against the real server."""
    return partial(cli, default_url=server.url)


@pytest.fixture
def separately(environment: dict[str, str]) -> Switchboard:
    """Run one command in a process of its own, the way a shell does."""

    def run(*words: str, stdin: str = "", **more: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "app", *words], cwd=ROOT, env={**environment, **more},
            input=stdin, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def vended(fleet: Fleet, switchboard: Switchboard) -> dict[str, str]:
    """A logged-in person and an endpoint they vended, by command."""
    token = fleet.make.operator_token(fleet.make.human("Ada"))
    assert switchboard("login", "--token-stdin", stdin=token).code == 0
    ran = switchboard("vend", "lane m", "--queue", "lane-m", "--json")
    assert ran.code == 0, ran.err
    made = json.loads(ran.out)
    return {"slug": made["slug"], "token": made["token"]}


@pytest.fixture
def worker(
    environment: dict[str, str], vended: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., Worker]]:
    """Start workers with the vended credential; whatever still runs is ended."""
    started: list[Worker] = []

    def start(*words: str) -> Worker:
        given = {**environment, "SWITCHBOARD_ENDPOINT_TOKEN": vended["token"]}
        started.append(Worker(given, tmp_path / f"worker-{len(started)}.log", *words))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A named pipe: `cat gate` runs until the test opens it."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def test_a_todo_is_pushed_worked_on_and_seen_done(
    switchboard: Switchboard, vended: dict[str, str]
) -> None:
    pushed = json.loads(
        switchboard("todo", "push", vended["slug"], "Look", "--payload", '{"n":41}', "--json").out
    )

    ran = switchboard("work", "--once", "--", "cat", endpoint_token=vended["token"])

    shown = json.loads(switchboard("todo", "show", pushed["id"], "--json").out)
    listed = switchboard("todo", "list").out
    assert (ran.code, ran.err) == (0, "")
    assert (shown["state"], shown["result"]["payload"]) == ("done", {"n": 41})
    assert [one["outcome"] for one in shown["attempts"]] == ["completed"]
    assert f"{pushed['id']}  lane-m  done" in listed


def test_a_shell_can_do_it_all_with_its_environment(
    separately: Switchboard, fleet: Fleet
) -> None:
    token = fleet.make.operator_token(fleet.make.human("Ada"))

    assert separately("login", "--token-stdin", stdin=token).code == 0
    vended = json.loads(separately("vend", "lane m", "--json").out)
    assert separately("todo", "push", vended["slug"], "Look").code == 0
    ran = separately(
        "work", "--once", "--", "true", SWITCHBOARD_ENDPOINT_TOKEN=vended["token"]
    )
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1].startswith("done  td_")


def test_every_list_of_the_product_prints(
    switchboard: Switchboard, vended: dict[str, str]
) -> None:
    switchboard("todo", "push", vended["slug"], "Look")
    hook = json.loads(switchboard("webhook", "list", vended["slug"], "--json").out)["webhooks"][0]
    event = json.loads(switchboard("event", "list", "--json").out)["events"][0]

    for words in (
        ("status",), ("endpoints",), ("agents",), ("todo", "list"), ("webhook", "list"),
        ("webhook", "routes", hook["webhook_id"]), ("event", "list"),
        ("event", "show", str(event["id"])),
        ("endpoint", "edit", vended["slug"], "--default-lease", "90"),
        ("endpoint", "shift", vended["slug"], "TZ=Europe/Berlin Mon-Fri 09:00-17:00"),
        ("endpoint", "clock-out", vended["slug"], "--until", "2999-01-01T00:00:00Z"),
        ("endpoint", "presence", vended["slug"]), ("endpoint", "clock-in", vended["slug"]),
        ("webhook", "rotate", hook["webhook_id"]), ("webhook", "delete", hook["webhook_id"]),
        ("endpoint", "revoke", vended["slug"], "-y"), ("logout",),
    ):  # fmt: skip
        ran = switchboard(*words)
        assert (ran.code, ran.err) == (0, ""), words

    assert switchboard("status").code == 1


def test_a_team_shares_a_queue_by_command_alone(
    switchboard: Switchboard, vended: dict[str, str], fleet: Fleet, tmp_path: Path
) -> None:
    bo, queue = fleet.make.human("Bo"), "team:crew/builds/fast"
    as_bo = partial(switchboard, credentials_path=tmp_path / "bo.json")
    assert as_bo("login", "--token-stdin", stdin=fleet.make.operator_token(bo)).code == 0

    def tell(*words: str, **given: str) -> str:
        ran = switchboard(*words, **given)
        assert (ran.code, ran.err) == (0, ""), words
        return ran.out

    tell("team", "create", "crew", "--name", "The crew")
    tell("team", "edit", "crew", "--members-create-webhooks", "on")
    assert tell("team", "queue", "create", "crew", "builds/fast") == f"{queue} is made.\n"
    assert "already" in tell("team", "queue", "create", "crew", "builds/fast")
    tell("team", "grant", vended["slug"], queue)
    assert f"{queue}  no      {vended['slug']}" in tell("team", "queue", "list", "crew")
    tell("queue", "budget", "set", "team:crew", "builds/fast", "--max-in-flight", "2")
    assert "builds/fast" in tell("queue", "budget", "show", "team:crew")
    own = json.loads(tell("webhook", "list", vended["slug"], "--json"))["webhooks"][0]
    tell("webhook", "delete", own["webhook_id"])  # an endpoint has one at most
    tell("webhook", "create", vended["slug"], "--source-type", "generic", "--queue", queue)
    pushed = tell("todo", "push", "team:crew", "Look", "--queue", "builds/fast")
    assert pushed.split()[0] in tell("todo", "list", "--team", "crew")
    worked = tell("work", "--once", "--queue", queue, "--", "true", endpoint_token=vended["token"])
    assert worked.splitlines()[-1].startswith("done  ")

    invite = json.loads(tell("team", "invite", "create", "crew", "bo@sb.example", "--json"))
    joined = as_bo("team", "invite", "accept", stdin=invite["invite_url"])
    assert (joined.code, joined.out) == (0, "You are member of crew.\n")
    again = as_bo("team", "invite", "accept", stdin=invite["invite_url"])
    assert (again.code, "No such invite" in again.err) == (1, True)
    spare = json.loads(tell("team", "invite", "create", "crew", "cy@sb.example", "--json"))
    tell("team", "invite", "revoke", "crew", spare["id"], "-y")
    assert "cy@sb.example" in tell("team", "invite", "list", "crew")
    assert as_bo("team", "queue", "delete", "crew", "builds/fast", "-y").code == 1

    tell("team", "member", "role", "crew", str(bo.id), "admin")
    assert f"{bo.id}  Bo    admin" in tell("team", "member", "list", "crew")
    assert tell("team", "group", "list", "crew").startswith("No groups")
    tell("team", "transfer", "crew", str(bo.id))
    assert "crew  The crew  admin" in tell("team", "list")
    tell("team", "ungrant", vended["slug"], queue)
    tell("team", "leave", "crew")
    assert switchboard("team", "show", "crew").code == 1
    assert as_bo("team", "queue", "delete", "crew", "builds/fast", "-y").code == 0
    assert as_bo("team", "delete", "crew", "-y").out == "crew is deleted.\n"


def test_a_failing_command_parks_the_todo_and_a_person_may_discard_it(
    switchboard: Switchboard, vended: dict[str, str]
) -> None:
    id_ = json.loads(switchboard("todo", "push", vended["slug"], "Look", "--json").out)["id"]

    ran = switchboard(
        "work", "--once", "--", "sh", "-c", "echo no luck >&2; exit 1",
        endpoint_token=vended["token"],
    )  # fmt: skip

    shown = json.loads(switchboard("todo", "show", id_, "--json").out)
    assert ran.out.splitlines()[-1].startswith(f"failed  {id_}  lane-m  retried at ")
    assert shown["attempts"][0]["summary"] == "no luck"
    assert switchboard("todo", "discard", id_, "-y").out == f"{id_} is failed (dead letter).\n"


def test_heartbeats_keep_a_lease_far_beyond_its_length(
    switchboard: Switchboard, vended: dict[str, str], gate: Path, fleet: Fleet,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("app.cli.work_agent.Agent.lease_seconds", lambda _: 2)
    id_ = json.loads(switchboard("todo", "push", vended["slug"], "Look", "--json").out)["id"]
    outlived = "select clock() > claimed_at + interval '5 s' from todos where state = 'claimed'"

    def open_late() -> None:
        wait_for(lambda: fleet.make.value(outlived), 20)
        with gate.open("wb"):
            pass

    opener = threading.Thread(target=open_late)
    opener.start()
    ran = switchboard("work", "--once", "--", "cat", str(gate), endpoint_token=vended["token"])
    opener.join()

    assert ran.out.splitlines()[-1] == f"done  {id_}  lane-m"
    assert [one["outcome"] for one in fleet.make.attempts(id_)] == ["completed"]


def test_sigterm_ends_a_waiting_worker_at_once(
    worker: Callable[..., Worker], fleet: Fleet
) -> None:
    waiting = worker("--", "true")
    wait_for(lambda: fleet.make.value("select max(last_seen_at) from endpoints"))

    assert waiting.stop() == 0


def test_a_second_signal_releases_what_runs(
    worker: Callable[..., Worker], switchboard: Switchboard, vended: dict[str, str], gate: Path,
    fleet: Fleet,
) -> None:  # fmt: skip
    id_ = json.loads(switchboard("todo", "push", vended["slug"], "Look", "--json").out)["id"]
    busy = worker("--", "cat", str(gate))
    wait_for(lambda: "claimed" in busy.words(), 20)

    busy.process.send_signal(signal.SIGTERM)
    wait_for(lambda: "Stopping" in busy.words())
    busy.process.send_signal(signal.SIGTERM)

    assert busy.process.wait(30) == 0
    assert f"released  {id_}" in busy.words()
    assert fleet.make.row(id_)["state"] == "pending"
    assert fleet.make.attempts(id_)[0]["outcome"] == "released"


def test_a_worker_survives_a_restart_of_its_server_and_loses_nothing(
    worker: Callable[..., Worker], switchboard: Switchboard, vended: dict[str, str], gate: Path,
    server: Server, fleet: Fleet,
) -> None:  # fmt: skip
    id_ = json.loads(switchboard("todo", "push", vended["slug"], "Look", "--json").out)["id"]
    busy = worker("--", "cat", str(gate))
    wait_for(lambda: "claimed" in busy.words(), 20)

    server.stop()
    with gate.open("wb") as file:
        file.write(b'"made it"')
    wait_for(lambda: "Trying again." in busy.words(), 20)
    server.start()

    wait_for(lambda: f"done  {id_}" in busy.words(), 40)
    assert fleet.make.row(id_)["result"] == "made it"
    assert fleet.make.value("select count(*) from todo_attempts") == 1
    assert busy.stop() == 0


def test_a_revoked_endpoint_ends_its_worker(
    worker: Callable[..., Worker], switchboard: Switchboard, vended: dict[str, str], gate: Path
) -> None:
    switchboard("todo", "push", vended["slug"], "Look")
    busy = worker("--", "cat", str(gate))
    wait_for(lambda: "claimed" in busy.words(), 20)

    switchboard("endpoint", "revoke", vended["slug"], "-y")
    with gate.open("wb"):
        pass

    assert busy.process.wait(30) == 1
    assert "Error: " in busy.words()
