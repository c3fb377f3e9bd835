"""`python3 tests bench`: claims per second and latencies, as ratios to the same driver's bound."""

from __future__ import annotations

import statistics
import sys
import time

import click

from tests.bench import board, claim, push
from tests.bench.callers import APART, BOUND, HTTP, MODULE, Crowd, Sample, crowd
from tests.bench.ground import TERMINAL, Ground, Place, ground
from tests.bench.plans import MAY_READ, plans

CALLERS = (1, 4, 16, 50)
SIZES = (1_000, 100_000, 1_000_000)
ROUNDS = 5
SECONDS = 1.5
BASE = 30_000
SIZE_CALLERS = 4
SIZE_ROUNDS = 21
SIZE_SECONDS = 0.1  # few enough claims that a queue of 1,000 stays one of about 1,000
WITHIN = 1.5
NAMES = {BOUND: "bound: all update one row", APART: "each updates its own row",
         MODULE: "claim_next, module", HTTP: "claim_next, HTTP"}

Cells = dict[tuple[int, str], list[Sample]]


def main(words: list[str]) -> int:
    """Measures, prints the tables, and answers 1 when a promise is not kept.

    The word `callers` or `sizes` measures that half alone; `claim` measures what policies cost,
    `board` how long a page with 200 queues takes, `push` how fast doorbells ring.
    """
    if words == ["claim"]:
        return claim.main()
    if words == ["board"]:
        return board.main()
    if words == ["push"]:
        return push.main()
    began_at = time.monotonic()
    kept = True
    with ground() as here, crowd() as people:
        if words != ["sizes"]:
            place = here.place("callers")
            place.fill(BASE)
            with here.server(place) as server_url:
                print_callers(measure(place, server_url, people))
        if words != ["callers"]:
            places = fill_sizes(here)
            kept = print_sizes(measure_sizes(places, people))
            kept = print_plans(places[max(SIZES)]) and kept
    click.echo(f"\n{time.monotonic() - began_at:.0f} s in all")
    return 0 if kept else 1


def measure(place: Place, server_url: str, people: Crowd) -> Cells:
    """Every kind of call at every number of callers, kinds interleaved within each round."""
    cells: Cells = {}
    for _ in range(ROUNDS):
        for callers in CALLERS:
            for kind in NAMES:
                sample = people.sample(kind, callers, SECONDS, **place.where(server_url))
                assert len(set(sample.claimed)) == len(sample.claimed), "a todo claimed twice"
                cells.setdefault((callers, kind), []).append(sample)
                if kind in (MODULE, HTTP):
                    place.reset()
    return cells


def fill_sizes(here: Ground) -> dict[int, Place]:
    """One database per size, alike in everything else."""
    full = here.place("terminal")
    full.fill_terminal()
    places = {size: here.clone(full, f"pending_{size}") for size in SIZES}
    for size, place in places.items():
        place.fill(size)
    return places


def measure_sizes(places: dict[int, Place], people: Crowd) -> Cells:
    """The bound and a claim at each size, interleaved; the bound counts as size 0."""
    cells: Cells = {}
    for _ in range(SIZE_ROUNDS):
        for size, kind in [(0, BOUND), *((size, MODULE) for size in SIZES)]:
            place = places[size or min(SIZES)]
            sample = people.sample(kind, SIZE_CALLERS, SIZE_SECONDS, **place.where())
            cells.setdefault((size, kind), []).append(sample)
        for place in places.values():
            place.reset()
    return cells


def print_callers(cells: Cells) -> None:
    """The table over the numbers of callers."""
    click.echo(f"Medians of {ROUNDS} interleaved rounds of {SECONDS} s; durable cluster "
               "(fsync and synchronous_commit on); callers in two processes\n")
    click.echo(f"{'callers':>7}  {'what':<26} {'per s':>8} {'p50 ms':>8} {'p99 ms':>8} "
               f"{'of bound':>8}")
    for callers in CALLERS:
        bound = _rate(cells[callers, BOUND])
        for kind, name in NAMES.items():
            samples = cells[callers, kind]
            click.echo(f"{callers:>7}  {name:<26} {_rate(samples):>8.0f} {_at(samples, 0.5):>8.2f} "
                       f"{_at(samples, 0.99):>8.2f} {_rate(samples) / bound:>8.2f}")


def print_sizes(cells: Cells) -> bool:
    """The table over the sizes; says whether they are within 1.5 of one another."""
    click.echo(f"\nclaim_next through the module, {SIZE_CALLERS} callers, {TERMINAL:,} terminal "
               f"todos in each table; medians of {SIZE_ROUNDS} interleaved rounds\n")
    click.echo(f"{'pending':>9} {'per s':>8} {'p50 ms':>8} {'p99 ms':>8} {'of bound':>8}")
    bound, times = _rate(cells[0, BOUND]), []
    for size in SIZES:
        samples = cells[size, MODULE]
        times.append(_at(samples, 0.5))
        click.echo(f"{size:>9,} {_rate(samples):>8.0f} {times[-1]:>8.2f} "
                   f"{_at(samples, 0.99):>8.2f} {_rate(samples) / bound:>8.2f}")
    apart = max(times) / min(times)
    click.echo(f"p50 within {WITHIN}: {'yes' if apart <= WITHIN else 'NO'} ({apart:.2f})")
    return apart <= WITHIN


def print_plans(here: Place) -> bool:
    """The plans of a claim; says whether they read only what they may."""
    kept = True
    for name, read, lines in plans(here):
        kept = kept and read <= MAY_READ[name]
        click.echo(f"\n{name} reads of todos: {', '.join(sorted(read))} "
                   f"({'as it may' if read <= MAY_READ[name] else 'MORE THAN IT MAY'})")
        for line in lines:
            click.echo(f"  {line}")
    return kept


def _rate(samples: list[Sample]) -> float:
    return statistics.median(sample.rate for sample in samples)


def _at(samples: list[Sample], share: float) -> float:
    return statistics.median(sample.percentile(share) for sample in samples)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
