"""`python3 tests bench claim`: what policies cost a claim, as ratios of one run, beside targets."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import click

from app.transactions import claiming
from app.transactions.claims import ClaimRequest
from tests.bench import plans
from tests.bench.callers import (
    BARE,
    BOUND,
    DRAINED,
    HTTP,
    LOOK,
    MODULE,
    REFUSED,
    Crowd,
    Sample,
    crowd,
)
from tests.bench.field import CAP, Field, Spot
from tests.bench.ground import RETENTION, Ground, ground
from tests.support.pg import Fresh, opened
from tests.support.servers import Fleet, Server

CALLERS = (1, 4, 16, 50)
ROUNDS = 5
SECONDS = 0.6
SHORT_ROUNDS = 9
SHORT_SECONDS = 0.2
QUEUES = 50
FILL = 6_000
SLOW_FLUSH = "-c%20commit_delay%3D2000%20-c%20commit_siblings%3D0"

Cells = dict[tuple[str, int], list[Sample]]


@dataclass(frozen=True, slots=True)
class What:
    """A row of the table: which calls, by whom, on which queue."""

    name: str
    kind: str
    spot: Spot
    drains: bool = False
    grouped: bool = False
    url: str = ""
    beside: Spot | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A promise and what came out."""

    name: str
    measured: float
    limit: float
    at_least: bool

    @property
    def is_met(self) -> bool:
        """Whether the promise is kept."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def line(self) -> str:
        """The promise, the measure, and by how much it is missed."""
        sign = ">=" if self.at_least else "<="
        said = "met" if self.is_met else f"NOT MET, {self.measured / self.limit:.2f} of it"
        return f"{self.name:<66} {sign} {self.limit:>5.2f} {self.measured:>7.2f}  {said}"


def main() -> int:
    """Measures, prints both tables; 1 when a target is missed."""
    began_at = time.monotonic()
    with ground() as here, crowd() as people:
        bench = _Bench(here, people)
        cells = bench.measure_callers()
        print_cells(cells)
        targets = [*_of_callers(cells), *bench.small_targets()]
    click.echo(f"\n{'target':<66} {'limit':>8} {'is':>7}")
    for target in targets:
        click.echo(target.line())
    click.echo(f"\n{time.monotonic() - began_at:.0f} s in all")
    return 0 if all(target.is_met for target in targets) else 1


class _Bench:
    """The field, and each kind of measure on it."""

    def __init__(self, here: Ground, people: Crowd) -> None:
        self._here = here
        self._people = people
        self._field = field = Field(here.place("claims"))
        self._plain, self._budgeted, self._capped, self._other = (field.spot() for _ in range(4))
        self._plain_many, self._budgeted_many = field.spot(QUEUES), field.spot(QUEUES)
        field.budget(self._budgeted.queue_ids)
        field.budget(self._capped.queue_ids, cap=CAP)
        field.budget(self._budgeted_many.queue_ids)
        for spot in (self._plain, self._budgeted, self._capped, self._other, self._plain_many,
                     self._budgeted_many):
            field.fill(spot.queue_ids, FILL)
        field.settle()
        self._cpu: list[float] = []

    def measure_callers(self) -> Cells:
        """Every row at every number of callers, rows interleaved within each round."""
        whats = [
            What("bound", BOUND, self._plain),
            What("bare statement", BARE, self._plain),
            What("no policy", MODULE, self._plain),
            What("budgeted", MODULE, self._budgeted),
            What(f"budgeted, cap {CAP}", DRAINED, self._capped, drains=True),
            What(f"no policy, {QUEUES} queues", MODULE, self._plain_many),
            What(f"budgeted, {QUEUES} queues", MODULE, self._budgeted_many),
            What("no policy, HTTP", HTTP, self._plain),
            What("budgeted, HTTP", HTTP, self._budgeted),
        ]
        cells: Cells = {}
        with self._server() as server:
            for _ in range(ROUNDS):
                for callers in CALLERS:
                    for what in whats:
                        sample = self._sample(what, callers, SECONDS, server)
                        cells.setdefault((what.name, callers), []).append(sample)
        return cells

    def small_targets(self) -> list[Target]:
        """What is measured apart from the table of callers."""
        return [
            Target("HTTP: CPU ms per claim outside the database",
                   statistics.median(self._cpu), 2.5, at_least=False),
            *self._beside_a_hot_queue(),
            *self._grouped(),
            *self._sizes(),
            *self._facts(),
        ]

    @contextlib.contextmanager
    def _server(self) -> Iterator[Server]:
        place = self._field.place
        with opened(place.url) as database:
            fleet = Fleet(Fresh(place.url, database), self._here.folder)
            try:
                yield fleet.add(**RETENTION)
            finally:
                fleet.close()

    def _sample(
        self, what: What, callers: int, seconds: float, server: Server | None = None
    ) -> Sample:
        where: dict[str, object] = {
            "database_url": what.url or self._field.place.url, "endpoint": what.spot.endpoint,
            "token": what.spot.token, "server_url": server.url if server else "",
            "queue_id": what.spot.queue_ids[0], "is_grouped": what.grouped,
            "beside": what.beside.endpoint if what.beside else None,
        }
        drain = (self._field.drained(what.spot.queue_ids[0]) if what.drains
                 else contextlib.nullcontext())
        busy = _cpu_seconds(server) if server and what.kind == HTTP else 0.0
        with drain:
            sample = self._people.sample(what.kind, callers, seconds, **where)
        if server and what.kind == HTTP:
            took = _cpu_seconds(server) - busy
            self._cpu.append(took * 1000 / len(sample.latencies))
        assert len(set(sample.claimed)) == len(sample.claimed), "a todo claimed twice"
        if what.kind not in (BOUND, REFUSED, LOOK):
            self._field.reset()
        return sample

    def _rounds(self, whats: list[What], callers: int, seconds: float = SHORT_SECONDS,
                rounds: int = SHORT_ROUNDS) -> list[list[Sample]]:
        found: list[list[Sample]] = [[] for _ in whats]
        for _ in range(rounds):
            for samples, what in zip(found, whats, strict=True):
                samples.append(self._sample(what, callers, seconds))
        return found

    def _beside_a_hot_queue(self) -> list[Target]:
        whats = What("", MODULE, self._budgeted, beside=self._other)
        idle, hot = [], []
        for _ in range(ROUNDS):
            idle.append(self._sample(whats, 0, SECONDS))
            hot.append(self._sample(whats, 50, SECONDS))
        return [Target("p99 of claims on another queue beside 50 callers, to idle",
                       _at(hot, 0.99) / _at(idle, 0.99), 2.0, at_least=False)]

    def _grouped(self) -> list[Target]:
        url = self._field.place.url
        slow = url + ("&" if "?" in url else "?") + "options=" + SLOW_FLUSH
        bound, grouped = self._rounds([
            What("", BOUND, self._plain, url=slow),
            What("", MODULE, self._budgeted, url=slow, grouped=True),
        ], 16, SECONDS, ROUNDS)
        return [Target("grouped commit, flush of 2 ms, 16 callers, to the bound",
                       _rate(grouped) / _rate(bound), 5.0, at_least=True)]

    def _sizes(self) -> list[Target]:
        field = self._field
        alone, beside = field.spot(2), field.spot(2)
        for spot in (alone, beside):
            field.exhaust(spot.queue_ids[0])
            field.budget(spot.queue_ids[1:])
            field.fill(spot.queue_ids[1:], FILL)
        field.fill(beside.queue_ids[:1], 5_000, age_days=9)
        few, lots = field.spot(), field.spot()
        for spot, number in ((few, 100), (lots, 100_000)):
            field.exhaust(spot.queue_ids[0])
            field.fill(spot.queue_ids, number)
        field.settle()
        without, with_older = self._rounds(
            [What("", MODULE, alone), What("", MODULE, beside)], 4)
        at_100, at_100k = self._rounds([What("", REFUSED, few), What("", REFUSED, lots)], 4)
        return [
            Target("p50 with 5,000 older todos in an exhausted queue, to none",
                   _at(with_older, 0.5) / _at(without, 0.5), 1.5, at_least=False),
            Target("p50 of a refused claim_next, 100,000 pending to 100",
                   _at(at_100k, 0.5) / _at(at_100, 0.5), 2.0, at_least=False),
            *self._in_flight(),
        ]

    def _in_flight(self) -> list[Target]:
        spots = []
        for claimed in (0, 100, 10_000):
            spot = self._field.spot()
            self._field.cap(spot.queue_ids[0])
            self._field.fill(spot.queue_ids, claimed, "claimed")
            self._field.fill(spot.queue_ids, 500)
            spots.append(What("", LOOK, spot))
        self._field.settle()
        zero, *more = (_at(samples, 0.5) for samples in self._rounds(spots, 1))
        return [Target(f"p50 of the locked section, {claimed:,} claimed to 0, cap {CAP}",
                       took / zero, 1.5, at_least=False)
                for claimed, took in zip((100, 10_000), more, strict=True)]

    def _facts(self) -> list[Target]:
        place = self._field.place
        probed = plans.probes(place, self._plain_many.endpoint)
        untouched = self._touched(self._plain)
        touched = self._touched(self._budgeted)
        assert touched > 0, "the counters of the admission tables do not move: they say nothing"
        click.echo(f"\nthe peek over {QUEUES} queues probes {probed}")
        return [
            Target(f"index probes of the peek per queue, {QUEUES} queues",
                   probed.get("todos_pending", 0) / QUEUES if max(probed.values()) <= QUEUES
                   and set(probed) <= plans.MAY_READ["peek_heads"] else 99.0, 1.0,
                   at_least=False),
            Target("reads of admission tables by 100 claims without a policy", untouched, 0.0,
                   at_least=False),
        ]

    def _touched(self, spot: Spot) -> int:
        before = self._field.admission_reads()
        with opened(self._field.place.url, size=2) as database:
            for _ in range(100):
                claiming.claim_next(database, spot.endpoint, None, ClaimRequest(),
                                    gone=lambda: False)
        return self._field.admission_reads() - before


def print_cells(cells: Cells) -> None:
    """Rates and latencies of every row at every number of callers."""
    click.echo(f"Medians of {ROUNDS} interleaved rounds of {SECONDS} s; durable cluster (fsync "
               "and synchronous_commit on); callers in two processes\n")
    click.echo(f"{'callers':>7}  {'what':<26} {'per s':>8} {'of bound':>8} {'p50 ms':>8} "
               f"{'p99 ms':>8} {'max ms':>8}")
    for callers in CALLERS:
        bound = _rate(cells["bound", callers])
        for (name, number), samples in cells.items():
            if number == callers:
                click.echo(f"{callers:>7}  {name:<26} {_rate(samples):>8.0f} "
                           f"{_rate(samples) / bound:>8.2f} {_at(samples, 0.5):>8.2f} "
                           f"{_at(samples, 0.99):>8.2f} {_at(samples, 1.0):>8.2f}")


def _of_callers(cells: Cells) -> list[Target]:
    def ratio(name: str, to: str, callers: int) -> float:
        return _rate(cells[name, callers]) / _rate(cells[to, callers])

    budgeted = ("budgeted", f"budgeted, cap {CAP}", f"budgeted, {QUEUES} queues")
    hot = cells["budgeted", 50]
    return [
        *(Target(f"{name}, {callers} callers, to the bound", ratio(name, "bound", callers),
                 limit, at_least=True)
          for callers, limit in zip(CALLERS, (0.25, 0.25, 0.40, 0.40), strict=True)
          for name in budgeted),
        *(Target(f"budgeted to no policy, {callers} callers",
                 ratio("budgeted", "no policy", callers), 0.70, at_least=True)
          for callers in CALLERS),
        *(Target(f"no policy to the bare statement, {callers} callers",
                 ratio("no policy", "bare statement", callers), 0.80, at_least=True)
          for callers in CALLERS),
        Target("longest wait to p50, budgeted, 50 callers",
               _at(hot, 1.0) / _at(hot, 0.5), 4.0, at_least=False),
    ]


def _cpu_seconds(server: Server) -> float:
    """CPU time of all the server's processes so far."""
    times = [process.cpu_times() for process in server.processes()]
    return float(sum(each.user + each.system for each in times))


def _rate(samples: list[Sample]) -> float:
    return statistics.median(sample.rate for sample in samples)


def _at(samples: list[Sample], share: float) -> float:
    return statistics.median(sample.percentile(share) for sample in samples)
