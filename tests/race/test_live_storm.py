"""Boards over two servers while everything happens at once: what they show is what is stored."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress

import click
import pytest

from tests.race.boards import Board, truth
from tests.support.rounds import rounds
from tests.support.servers import Fleet, HttpCaller, agent, operator
from tests.support.wait import wait_for

SECONDS = rounds(60, 600)
STRETCH = 4.0  # seconds of storm between two calms
QUEUES = ("red", "green", "blue")
# Seconds, for a machine that does much else. Once all is calm nothing makes up for a lost notice,
# so patience hides none; what it took is printed.
PATIENCE = 20.0
BUDGET = 5_000  # units a day, more than a storm can spend
SEED = 30


class Storm:
    """Callers who work on one person's queues until told to stop, through both servers."""

    def __init__(self, fleet: Fleet) -> None:
        self.make = fleet.make
        self.ana = self.make.human()
        self.lane = self.make.endpoint(self.ana, queues=QUEUES)
        for queue in QUEUES:
            self.make.policy(self.make.queue_id(self.lane, queue), max_in_flight=6,
                             max_claims_per_window=BUDGET, human=self.ana)
        token = self.make.operator_token(self.ana)
        self.agents = [agent(each.url, self.make.credential(self.lane)) for each in fleet]
        self.operators = [operator(each.url, token) for each in fleet]
        self.dice = random.Random(SEED)
        self.did: Counter[str] = Counter()
        self.faults: list[str] = []

    def blow(self, seconds: float, boards: list[Board]) -> None:
        """Everybody acts for so long, and connections are cut meanwhile; then all is calm."""
        stop = threading.Event()
        acts: list[Callable[[random.Random, int], None]] = [
            self._create, self._work, self._work, self._edit]
        threads = [
            threading.Thread(target=self._act, args=(act, stop, self.dice.random(), n % 2))
            for n, act in enumerate(acts)]
        for thread in threads:
            thread.start()
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at and not stop.wait(0.3):
            self.dice.choice(boards).drop()
            self.did["drop"] += 1
        stop.set()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()

    def _act(self, act: Callable[[random.Random, int], None], stop: threading.Event,
             seed: float, server: int) -> None:
        dice = random.Random(seed)
        try:
            while not stop.is_set():
                act(dice, server)
        except BaseException as fault:
            self.faults.append(f"{act.__name__}: {fault!r}")
            stop.set()

    def _create(self, dice: random.Random, server: int) -> None:
        self._note("create", self.operators[server].post(
            f"/endpoints/{self.lane.id}/todos",
            {"queue": dice.choice(QUEUES), "title": "work"}).status, 201)
        time.sleep(0.1)  # below the rate an operator may write at

    def _work(self, dice: random.Random, server: int) -> None:
        caller = self.agents[server]
        answer = caller.call("claim_next", queue=dice.choice(QUEUES))
        self._note("claim", answer.status, 200)
        todo = answer.json.get("todo")
        if isinstance(todo, dict):
            self._settle(caller, dice, str(todo["id"]))

    def _settle(self, caller: HttpCaller, dice: random.Random, todo: str) -> None:
        verb = dice.choice(("complete", "fail", "release", "nothing"))
        if verb != "nothing":
            self._note(verb, caller.call(verb, id=todo).status, 200)

    def _edit(self, dice: random.Random, server: int) -> None:
        body = {"max_in_flight": dice.choice((0, 4, 6, 9)), "max_claims_per_window": BUDGET,
                "window": {"period": "day", "tz": "UTC", "start": "00:00"}}
        path = f"/admission/endpoint:{self.lane.slug}/{dice.choice(QUEUES)}"
        # Policy writes are limited by the minute; one that is refused changes nothing.
        self._note("edit", self.operators[server].request("PUT", path, body).status, 200, 429)
        time.sleep(0.5)

    def _note(self, what: str, status: int, *expected: int) -> None:
        assert status in expected, f"{what}: {status}"
        self.did[what] += 1


@pytest.mark.race
@pytest.mark.timeout(SECONDS * 3 + 60)
@pytest.mark.req("REQ-11")
@pytest.mark.rule("issue C: header counts equal a direct SQL count within one refresh")
def test_boards_over_dropped_connections_show_what_is_stored(
    pair: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    storm = Storm(pair)
    with ExitStack() as stack:
        boards = [
            stack.enter_context(closing(Board(server.url, storm.make.session(storm.ana))))
            for server in pair for _ in range(3)]
        ends_at, slowest = time.monotonic() + SECONDS, 0.0
        while time.monotonic() < ends_at and not storm.faults:
            storm.blow(STRETCH, boards)
            slowest = max(slowest, _calm(storm, boards))

    with capsys.disabled():
        click.echo(f"\nboards and database agreed at most {slowest:.1f} s after each storm")
    assert storm.faults == []
    assert set(storm.did) >= {"create", "claim", "complete", "fail", "release", "edit", "drop"}
    assert sum(board.reopened for board in boards) > len(boards)


def _calm(storm: Storm, boards: list[Board]) -> float:
    """Seconds until every board shows what is stored, reconnecting included."""
    began = time.monotonic()
    with suppress(AssertionError):
        wait_for(lambda: _differences(storm, boards) == [], PATIENCE)
    assert _differences(storm, boards) == []
    return time.monotonic() - began


def _differences(storm: Storm, boards: list[Board]) -> list[object]:
    fact = truth(storm.make, storm.ana)
    return [(board.says, fact) for board in boards if board.says != fact]
