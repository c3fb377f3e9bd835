"""Boundaries over two servers: one row, one removed mark, one bell, whoever dies (R28)."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import click
import pytest

from tests.race.bells import Lane, both, canaries, count_marks, lane, rung
from tests.support.clock import Clock
from tests.support.ears import Ears
from tests.support.rounds import LONG, rounds
from tests.support.servers import Fleet
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]
HOUR = timedelta(hours=1)
SWEEP = 30.0
ROW = ("select taken_by from doorbells where kind = 'reopen' and queue_id = %s"
       " order by id desc limit 1")


@contextmanager
def hourly(fleet: Fleet) -> Iterator[tuple[Lane, Boundaries]]:
    """A queue that admits one claim an hour, with work for all of them, and its boundaries."""
    one = lane(fleet)
    fleet.make.policy(one.queue, max_claims_per_window=1, period="hour")
    count_marks(fleet.make)
    try:
        yield one, Boundaries(one, fleet.clock, fleet.make.now())
    finally:
        fleet.clock.real()


class Boundaries:
    """The hours of a queue, one after the other."""

    def __init__(self, one: Lane, clock: Clock, now: datetime) -> None:
        self._one = one
        self._clock = clock
        self._at = now.replace(minute=0, second=0, microsecond=0)

    def spend(self, server: int = 0) -> None:
        """Takes the one todo of this hour, which leaves the mark; completed, it frees nothing."""
        held = self._one.claim(server)
        assert held, "the hour was spent already"
        self._one.end(held, server=server)
        wait_for(self._one.owes, what="the mark of a spent hour")

    def next(self) -> float:
        """Moves the clock to the next hour; when that was, by this host's monotonic clock."""
        self._at += HOUR
        self._clock.set(self._at)
        return time.monotonic()


@pytest.mark.rule("R28")
def test_every_boundary_is_one_row_one_removed_mark_and_one_bell_in_time(
    pair: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = rounds(10, 100)
    delays = []
    with hourly(pair) as (one, hours), canaries(pair) as birds, both(one) as ears:
        one.fill(turns + 3)
        # Neither heartbeat nor attach rings these: every bell is one of a boundary.
        pair.make.run("update todos set ring_attempts = 5 where queue_id = %s", int(one.queue))
        hours.spend()
        for turn in range(1, turns + 1):
            moved = hours.next()
            wait_for(lambda: rung(*ears) >= turn, what="the bell of a boundary")  # noqa: B023
            delays.append(max(bell.at for each in ears for bell in each.bells) - moved)
            hours.spend(server=turn % 2)
        birds.sing()

        assert rung(*ears) == one.written() == one.removed() == turns
    with capsys.disabled():
        click.echo(f"\n{turns} boundaries: a bell after"
                   f" {sorted(delays)[len(delays) // 2] * 1000:.0f} ms,"
                   f" at the latest {max(delays) * 1000:.0f} ms")
    assert sorted(delays)[int(len(delays) * 0.9) - 1] < 1
    assert max(delays) < SWEEP


@pytest.mark.rule("R28")
@pytest.mark.timeout(3600)
def test_a_server_killed_around_a_boundary_doubles_no_bell_and_loses_only_its_own(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.add_together(2)
    chance = random.Random(20261130)
    kills = _Kills()
    with hourly(fleet) as (one, hours):
        # Four rings spent: the heartbeat is six hours away, and attach may ring each once more.
        one.fill(rounds(20, 700))
        fleet.make.run("update todos set ring_attempts = 4 where queue_id = %s", int(one.queue))
        ears = [Ears(server.url, one.credential) for server in fleet]
        hours.spend()
        for turn in range(1, rounds(1, 100) + 1):
            killed = chance.randrange(2)
            survivor = 1 - killed
            before = [len(each.bells) for each in ears]
            hours.next()
            threading.Event().wait(chance.uniform(0, 0.6))
            fleet[killed].kill()
            wait_for(lambda: one.written() >= turn, SWEEP + 15, what="the row")  # noqa: B023
            wait_for(lambda: fleet.make.value(ROW, int(one.queue)), 15, what="a taker")
            assert (one.written(), one.removed()) == (turn, turn)
            kills.judge(one, ears, before, survivor)

            fleet[killed].restart()
            ears[killed].close()
            ears[killed] = Ears(fleet[killed].url, one.credential)
            wait_for(lambda: ears[killed].todo_ids, what="the attach ring")  # noqa: B023
            hours.spend(server=survivor)
        for each in ears:
            each.close()
    with capsys.disabled():
        click.echo(f"\n{kills.delivered} bells delivered,"
                   f" {kills.lost} lost with the process that took them")
    assert kills.delivered + kills.lost == rounds(1, 100)
    assert not LONG or kills.delivered > 50


class _Kills:
    """What became of the bell of each boundary."""

    def __init__(self) -> None:
        self.delivered = 0
        self.lost = 0
        self._alive: dict[str, int] = {}

    def judge(self, one: Lane, ears: list[Ears], before: list[int], survivor: int) -> None:
        """One bell, or none and then by the fault of the process that was killed."""
        taken_by = str(one.fleet.make.value(ROW, int(one.queue)))

        def heard() -> list[int]:
            return [len(each.bells) - had for each, had in zip(ears, before, strict=True)]

        ends_at = time.monotonic() + 2
        while sum(heard()) == 0 and time.monotonic() < ends_at:
            threading.Event().wait(0.05)
        assert sum(heard()) <= 1, "two bells for one boundary"
        if sum(heard()):
            self.delivered += 1
            self._alive[taken_by] = heard().index(1)
            return
        self.lost += 1
        assert self._alive.get(taken_by) != survivor, "a process that lives lost its bell"
