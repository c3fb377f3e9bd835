"""SIGTERM and Ctrl-C: no more claims, a grace for what runs, and nothing left behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.cli.work_child import Child
from app.cli.work_stop import Stop
from tests.cli.conftest import Cli, Ran
from tests.cli.fake import DROPPED, Asked, FakeServer, Reply, ok, refused
from tests.cli.test_work_claims import agent_server, claimed
from tests.support.wait import wait_for


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A named pipe: `cat gate` runs until the test opens it."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def interrupted(
    cli: Cli, fact: Callable[[], object], *words: str, number: int = signal.SIGTERM
) -> Ran:
    """Run words, and send ourselves the signal once `fact()` is true (a worker is heeding it)."""

    def send() -> None:
        wait_for(fact, 20)
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=send)
    sender.start()
    ran = cli(*words)
    sender.join()
    return ran


def holding(fake: FakeServer, *then: Reply) -> None:
    """The first look is empty, and the wait after it is never answered; later claims answer
    `then`, and empty after that."""
    rest = iter(then)

    def script(asked: Asked) -> Reply | None:
        if asked.verb != "claim_next":
            return agent_server(iter([]))(asked)
        if len(fake.of("claim_next")) == 1:
            return ok(empty=True)
        if len(fake.of("claim_next")) == 2:
            fake.closing.wait(30)
            return DROPPED
        return next(rest, ok(empty=True))

    fake.script = script


def is_held(fake: FakeServer) -> bool:
    """Whether the wait that is never answered has begun."""
    return len(fake.of("claim_next")) >= 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_a_wait_ends_the_worker_at_once_and_asks_what_was_lost(
    number: int, cli: Cli, fake: FakeServer
) -> None:
    holding(fake)

    ran = interrupted(cli, lambda: is_held(fake), "work", "--", "true", number=number)

    _, first, second = fake.of("claim_next")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "Stopping: nothing more is claimed."
    assert first.key == second.key
    assert (first.body["wait_seconds"], second.body["wait_seconds"]) == (30, 0)


def test_a_claim_made_while_its_answer_was_lost_is_released(cli: Cli, fake: FakeServer) -> None:
    holding(fake, claimed())

    ran = interrupted(cli, lambda: is_held(fake), "work", "--", "false")

    assert ran.code == 0
    assert fake.of("release")[0].body == {"id": "td_1", "lease_token": "fence"}
    assert ran.out.splitlines()[-1] == "released  td_1  inbox"


def test_a_claim_remembered_with_its_wait_is_fetched_with_its_wait(
    cli: Cli, fake: FakeServer
) -> None:
    holding(fake, refused(409, "conflict"), claimed())

    interrupted(cli, lambda: is_held(fake), "work", "--", "false")

    _, first, _, third = fake.of("claim_next")
    assert (third.key, third.body) == (first.key, first.body)
    assert len(fake.of("release")) == 1


def test_a_command_may_finish_within_the_grace(
    cli: Cli, fake: FakeServer, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script = agent_server(iter([claimed()]))
    heeded = threading.Event()
    ask = Stop.ask

    def tell(stop: Stop) -> None:
        ask(stop)
        heeded.set()

    monkeypatch.setattr(Stop, "ask", tell)

    def open_gate() -> None:
        with gate.open("wb"):  # waits for the command to read
            os.kill(os.getpid(), signal.SIGTERM)
            heeded.wait(20)  # until then the command runs on

    opener = threading.Thread(target=open_gate)
    opener.start()
    ran = cli("work", "--", "cat", str(gate))
    opener.join()

    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "done  td_1  inbox"
    assert len(fake.of("claim_next")) == 1


def test_when_the_grace_is_over_commands_end_and_their_todos_are_released(
    cli: Cli, fake: FakeServer, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cli.work.GRACE_SECONDS", 0.1)
    fake.script = agent_server(iter([claimed(1), claimed(2)]))

    ran = interrupted(
        cli, lambda: len(fake.of("claim_next")) >= 2,
        "work", "--concurrency", "2", "--", "cat", str(gate),
    )  # fmt: skip

    assert ran.code == 0
    assert sorted(str(one.body["id"]) for one in fake.of("release")) == ["td_1", "td_2"]
    assert {"complete", "fail"}.isdisjoint(fake.verbs())


def test_a_second_signal_cuts_the_grace_short(cli: Cli, fake: FakeServer, gate: Path) -> None:
    fake.script = agent_server(iter([claimed()]))
    stopped = threading.Event()

    def send() -> None:
        with gate.open("wb"):
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            stopped.wait(20)  # keeps the command waiting for more

    sender = threading.Thread(target=send)
    sender.start()
    ran = cli("work", "--", "cat", str(gate))
    stopped.set()
    sender.join()

    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "released  td_1  inbox"


def test_a_server_that_stays_away_while_stopping_is_given_up(
    cli: Cli, fake: FakeServer, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cli.work.GRACE_SECONDS", 0.1)
    monkeypatch.setattr("app.cli.work.SETTLE_SECONDS", 0.5)
    fake.script = agent_server(iter([claimed()]), release=refused(503, "unavailable"))

    ran = interrupted(cli, lambda: fake.of("claim_next"), "work", "--", "cat", str(gate))

    assert ran.code == 0
    assert "no answer to release; its lease will lapse" in ran.out


def test_a_stop_while_the_server_is_away_ends_the_worker(cli: Cli, fake: FakeServer) -> None:
    fake.script = agent_server(iter([refused(503, "unavailable", "Down.")] * 1000))

    ran = interrupted(cli, lambda: len(fake.of("claim_next")) >= 2, "work", "--", "true")

    assert ran.code == 0
    assert ran.out.count("Down.") == 1


def test_a_command_that_will_not_end_is_killed(
    gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cli.work_child.KILL_SECONDS", 0.3)
    ended = threading.Event()
    script = f"trap '' TERM; echo ready >&2; while :; do cat {gate}; done"
    child = Child(("sh", "-c", script), dict(os.environ), "", ended.set)
    wait_for(lambda: child.errors)

    child.terminate()

    assert ended.wait(10)
    assert child.exit_code == -signal.SIGKILL
