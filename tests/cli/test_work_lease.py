"""Heartbeats keep a lease while COMMAND runs, and COMMAND ends when the lease is lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.values import Json
from tests.cli.conftest import Cli
from tests.cli.fake import Asked, FakeServer, Reply, ok, refused
from tests.cli.test_work_claims import agent_server, claimed
from tests.support.wait import wait_for

SHORT = ok(effective_lease_ttl_seconds=1)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A named pipe: `cat gate` runs until the test opens it."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def opened_after(fact: object, gate: Path) -> threading.Thread:
    """Opens the gate once `fact()` is true."""

    def wait() -> None:
        wait_for(fact, 20)
        with gate.open("wb"):
            pass

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_heartbeats_come_at_a_third_of_the_lease_with_fence_and_length(
    cli: Cli, fake: FakeServer, gate: Path
) -> None:
    fake.script = agent_server(iter([claimed()]), whoami=SHORT)
    opener = opened_after(lambda: len(fake.of("heartbeat")) >= 3, gate)

    ran = cli("work", "--once", "--", "cat", str(gate))
    opener.join()

    assert ran.out.splitlines()[-1] == "done  td_1  inbox"
    assert fake.of("heartbeat")[0].body == {
        "id": "td_1", "lease_token": "fence", "lease_ttl_seconds": 1,
    }  # fmt: skip


def test_a_heartbeat_without_an_answer_is_tried_again(
    cli: Cli, fake: FakeServer, gate: Path
) -> None:
    answer = agent_server(iter([claimed()]), whoami=SHORT)
    troubles = iter([refused(503, "unavailable"), Reply(dropped=True)])
    fake.script = lambda asked: (
        (next(troubles, None) if asked.verb == "heartbeat" else None) or answer(asked)
    )
    opener = opened_after(lambda: len(fake.of("heartbeat")) >= 4, gate)

    ran = cli("work", "--once", "--", "cat", str(gate))
    opener.join()

    assert ran.out.splitlines()[-1] == "done  td_1  inbox"


@pytest.mark.parametrize(("status", "code"), [(409, "conflict"), (404, "not_found")])
def test_a_lost_lease_ends_the_command_with_all_it_started(
    status: int, code: str, cli: Cli, fake: FakeServer, gate: Path, tmp_path: Path
) -> None:
    lost = refused(status, code, "Another one holds it.")
    fake.script = agent_server(iter([claimed()]), whoami=SHORT, heartbeat=lost)
    noted = tmp_path / "pid"

    ran = cli("work", "--once", "--", "sh", "-c", f"sh -c 'echo $$ >{noted}; cat {gate}'; true")

    assert ran.code == 0
    assert "Another one holds it. The command was ended." in ran.out
    assert {"complete", "fail", "release"}.isdisjoint(fake.verbs())
    wait_for(lambda: not _is_running(int(noted.read_text())))


def test_a_revoked_endpoint_ends_command_and_worker(
    cli: Cli, fake: FakeServer, gate: Path
) -> None:
    dead = refused(401, "unauthenticated", "No more.")
    fake.script = agent_server(iter([claimed()]), whoami=SHORT, heartbeat=dead)

    ran = cli("work", "--", "cat", str(gate))

    assert (ran.code, ran.err) == (1, "Error: No more.\n")


def test_a_grant_without_heartbeat_is_said_and_the_work_goes_on(
    cli: Cli, fake: FakeServer, gate: Path
) -> None:
    may_not = refused(403, "forbidden", "The grant does not allow this.")
    fake.script = agent_server(iter([claimed()]), whoami=SHORT, heartbeat=may_not)
    opener = opened_after(lambda: fake.of("heartbeat"), gate)

    ran = cli("work", "--once", "--", "cat", str(gate))
    opener.join()

    assert "may not heartbeat" in ran.out
    assert ran.out.splitlines()[-1] == "done  td_1  inbox"
    assert len(fake.of("heartbeat")) == 1


def test_lanes_work_at_the_same_time(cli: Cli, fake: FakeServer, gate: Path) -> None:
    taken = threading.Lock()
    claims = iter([claimed(1), claimed(2), claimed(3)])
    answer = agent_server(iter([]))
    held: set[str] = set()
    together = threading.Event()

    def script(asked: Asked) -> Reply | None:
        if asked.verb != "claim_next":
            return answer(asked)
        with taken:
            reply = next(claims, None)
        if reply is None:
            together.wait(20)
            return refused(401, "unauthenticated", "Enough.")
        body = reply.body
        assert isinstance(body, dict)
        held.add(_id(body))
        if len(held) == 3:
            together.set()
        else:
            together.wait(20)
        return reply

    fake.script = script
    ran = cli("work", "--concurrency", "3", "--", "true")

    assert ran.code == 1
    assert sorted(str(one.body["id"]) for one in fake.of("complete")) == ["td_1", "td_2", "td_3"]


def _id(body: dict[str, Json]) -> str:
    todo = body["todo"]
    assert isinstance(todo, dict)
    return str(todo["id"])


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
