"""The processes of a server as the operating system and Python see them, one label for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, ProcessCollector
from prometheus_client.core import Metric

from app.edge import metric_slots

LABEL = "process"


def runtime(folder: Path | None, own: str) -> list[Metric]:
    """`process_*` of every process that holds a slot, and `python_*` of this one, named `own`.

    Without the label a counter would fall whenever another worker answered the scrape.
    """
    merged: dict[str, Metric] = {}
    for name, collect in [*_processes(folder, own), (own, _python)]:
        for family in collect():
            into = merged.setdefault(
                family.name, Metric(family.name, family.documentation, family.type)
            )
            into.samples += [
                sample._replace(labels={**sample.labels, LABEL: name})
                for sample in family.samples
            ]
    return list(merged.values())


def _processes(
    folder: Path | None, own: str
) -> list[tuple[str, Callable[[], Iterable[Metric]]]]:
    if folder is None:
        return [(own, ProcessCollector(registry=None).collect)]
    return [
        (each.slot, ProcessCollector(pid=partial(int, each.pid), registry=None).collect)
        for each in metric_slots.holders(folder)
    ]


def _python() -> list[Metric]:
    return [*GC_COLLECTOR.collect(), *PLATFORM_COLLECTOR.collect()]
