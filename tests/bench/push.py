"""`python3 tests bench push`: bells per second, commit to bell, what 200 streams cost claims."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import click

from app.db.database import Database
from app.db.direct import dial
from app.db.notifier import Notifier
from app.domain.callers import Endpoint
from app.transactions import ringing
from tests.bench.callers import HTTP, Crowd, Sample, crowd
from tests.bench.claim import Target
from tests.bench.ground import RETENTION, Place, ground
from tests.support.ears import Ears
from tests.support.make import Make
from tests.support.pg import Fresh, opened
from tests.support.servers import Fleet
from tests.support.wait import wait_for

STREAMS = 200
EACH = 8  # streams of one endpoint
CALLERS = 16
ROUNDS = 5
SECONDS = 1.5
PACED = 200
BURST = 2_000
CLAIMABLE = 30_000


def main() -> int:
    """Measures and prints; 1 when a promise is not kept."""
    began_at = time.monotonic()
    with ground() as here, crowd() as people:
        place = here.place("push")
        place.fill(CLAIMABLE)
        make = Make(place.url)
        lanes = [make.endpoint() for _ in range(STREAMS // EACH)]
        with _servers(place, here.folder) as (fleet, db):
            without, beside, ears = [], [], []
            for _ in range(ROUNDS):  # the two kinds take turns, so that the machine is the same
                without.append(_claims(place, fleet, people))
                with contextlib.ExitStack() as stack:
                    ears = _listen(fleet, make, lanes, stack)
                    beside.append(_claims(place, fleet, people))
            with contextlib.ExitStack() as stack:
                ears = _listen(fleet, make, lanes, stack)
                delays = _paced(make, db, lanes, ears)
                rate, heard = _burst(make, db, lanes, ears)
        make.close()
    return _report(without, beside, delays, (rate, heard), time.monotonic() - began_at)


@contextlib.contextmanager
def _servers(place: Place, folder: Path) -> Iterator[tuple[Fleet, Database]]:
    """Two servers, and a database whose changes are told as a real process tells them."""
    sender = Notifier(dial(place.url))
    sender.start()
    with opened(place.url) as database:
        fleet = Fleet(Fresh(place.url, database), folder)
        try:
            for _ in range(2):
                fleet.add(**RETENTION)
            yield fleet, replace(database, feed=sender)
        finally:
            fleet.close()
            sender.stop()


def _listen(
    fleet: Fleet, make: Make, lanes: list[Endpoint], stack: contextlib.ExitStack
) -> list[Ears]:
    """Eight streams of every endpoint, at both servers in turn."""
    def one(number: int) -> Ears:
        return Ears(fleet[number % 2].url, make.credential(lanes[number // EACH]))

    with ThreadPoolExecutor(8) as threads:
        ears = list(threads.map(one, range(STREAMS)))
    for each in ears:
        stack.callback(each.close)
    return ears


def _claims(place: Place, fleet: Fleet, people: Crowd) -> Sample:
    sample = people.sample(HTTP, CALLERS, SECONDS, **place.where(fleet[0].url))
    place.reset()
    return sample


def _paced(make: Make, db: Database, lanes: list[Endpoint], ears: list[Ears]) -> list[float]:
    """One todo after the other: milliseconds from its commit to its bell, sorted."""
    delays = []
    for number in range(PACED):
        place = number % len(lanes)
        mine = ears[place * EACH:(place + 1) * EACH]
        before = sum(len(each.bells) for each in mine)
        todo = make.todo(lanes[place], rings=True)
        committed_at = time.monotonic()
        ringing.created(db, [todo])
        wait_for(lambda: sum(len(each.bells) for each in mine) > before)  # noqa: B023
        newest = max(bell.at for each in mine for bell in each.bells)
        delays.append((newest - committed_at) * 1000)
    return sorted(delays)


def _burst(
    make: Make, db: Database, lanes: list[Endpoint], ears: list[Ears]
) -> tuple[float, int]:
    """Many todos at once: bells per second until the last one, and how many there were."""
    todos = [make.todo(lanes[number % len(lanes)], rings=True) for number in range(BURST)]
    before = sum(len(each.bells) for each in ears)
    began_at = time.monotonic()
    for start in range(0, BURST, 50):
        ringing.created(db, todos[start:start + 50])
    taken = "select count(*) from doorbells where taken_at is null"
    wait_for(lambda: make.value(taken) == 0, 60, what="every row is taken")
    time.sleep(1.0)  # what is in the buffers is on its way
    heard = sum(len(each.bells) for each in ears) - before
    last_at = max(bell.at for each in ears for bell in each.bells)
    return heard / (last_at - began_at), heard


def _report(
    without: list[Sample], beside: list[Sample], delays: list[float],
    burst: tuple[float, int], seconds: float,
) -> int:
    alone, crowded = (statistics.median(each.rate for each in samples)
                      for samples in (without, beside))
    rate, heard = burst
    click.echo(f"Two servers, durable cluster; {STREAMS} streams of {STREAMS // EACH} endpoints\n")
    click.echo(f"claims per second, {CALLERS} callers over HTTP: {alone:.0f} without streams,"
               f" {crowded:.0f} beside {STREAMS} that listen")
    click.echo(f"bells per second: {rate:.0f} ({heard} of {BURST} heard)")
    click.echo(f"commit to bell: p50 {_at(delays, 0.5):.0f} ms, p99 {_at(delays, 0.99):.0f} ms\n")
    targets = [
        Target(f"claims beside {STREAMS} streams, to none", crowded / alone, 0.8, at_least=True),
        Target("bells per second, to claims per second", rate / alone, 0.5, at_least=True),
        Target("share of a burst that was heard", heard / BURST, 0.95, at_least=True),
        Target("seconds from commit to bell, p99", _at(delays, 0.99) / 1000, 1.0, at_least=False),
    ]
    for target in targets:
        click.echo(target.line())
    click.echo(f"\n{seconds:.0f} s in all")
    return 0 if all(target.is_met for target in targets) else 1


def _at(delays: list[float], share: float) -> float:
    return delays[min(int(len(delays) * share), len(delays) - 1)]
