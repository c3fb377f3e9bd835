"""`switchboard work` against real servers: woken by its bell, parked while its queue is closed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.race.bells import Lane, count, lane
from tests.support.servers import ROOT, Fleet, Server
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]
DAY = {"period": "day", "tz": "UTC", "start": "00:00"}
PATIENCE = 20.0  # seconds; a worker without its bell would ask after 30
LANES = 4


@contextmanager
def working(server: Server, one: Lane, *words: str, log: Path) -> Iterator[None]:
    """A worker of the lane at one server, for the length of a block."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(log.parent),
                   "SWITCHBOARD_URL": server.url, "SWITCHBOARD_ENDPOINT_TOKEN": one.credential}
    with log.open("wb") as out:
        worker = subprocess.Popen(
            [sys.executable, "-m", "app", "work", *words, "--", "true"], cwd=ROOT,
            env=environment, stdout=out, stderr=out, start_new_session=True)
    try:
        yield
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0, log.read_text()
    finally:
        with contextlib.suppress(ProcessLookupError):
            worker.kill()
        worker.wait(10)


def is_done(one: Lane, todo: str) -> bool:
    return count(one.fleet.make, "todos where id = %s and state = 'done'", todo) == 1


def attempts(one: Lane) -> int:
    return count(one.fleet.make, "todo_attempts a join todos t on t.id = a.todo_id"
                                 " where t.queue_id = %s", int(one.queue))


@pytest.mark.req("REQ-8")
def test_a_worker_is_woken_by_its_bell_and_sleeps_while_its_queue_is_closed(
    pair: Fleet, tmp_path: Path
) -> None:
    one, log = lane(pair), tmp_path / "worker.log"
    with working(pair[1], one, "--concurrency", "2", log=log):
        first = one.push()
        wait_for(lambda: is_done(one, first), 20, what="the first todo is done")
        # Idle by now, on its stream: one bell from the other server is one todo.
        for _ in range(3):
            todo = one.push(server=0)
            wait_for(lambda: is_done(one, todo), PATIENCE, what="a todo is done")  # noqa: B023

        one.policy(max_claims_per_window=1, window=DAY)
        todos = [one.push() for _ in range(3)]
        wait_for(lambda: "used up its budget" in log.read_text(), PATIENCE,
                 what="it says why it waits")
        assert attempts(one) == 5
        one.policy(max_claims_per_window=100, window=DAY)
        wait_for(lambda: all(is_done(one, each) for each in todos), PATIENCE,
                 what="woken by reopening")

    assert "Trying again" not in log.read_text()


@pytest.mark.req("REQ-8")
def test_a_worker_drains_a_backlog_that_a_bell_announced(pair: Fleet, tmp_path: Path) -> None:
    """Fewer bells than todos: whoever claims wakes the next lane, until the queue is empty."""
    one, log = lane(pair), tmp_path / "worker.log"
    one.policy(max_in_flight=0)
    todos = one.fill(12)
    with working(pair[0], one, "--concurrency", str(LANES), log=log):
        wait_for(lambda: "is paused" in log.read_text(), 20, what="the worker says why it waits")
        one.policy(server=1, max_in_flight=50)
        wait_for(lambda: all(is_done(one, each) for each in todos), PATIENCE, what="all are done")

    # A lane refused just before the queue opened may mark it just after, and is owed its own bell.
    assert 1 <= one.reopens() <= LANES
