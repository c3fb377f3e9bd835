"""What this process counts, as Prometheus counters: its own, or its slot's share of a server's.

The directory of PROMETHEUS_MULTIPROC_DIR holds files for each slot, and a scrape sums them; without
one (tests) everything stays in memory. (design/dependencies.md 3)
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from flask import Flask, request
from prometheus_client import CollectorRegistry, Counter, values
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_flask_exporter import PrometheusMetrics

from app.edge import metric_slots
from app.edge.metric_families import COLLECTION_ERRORS, COLLECTORS, COUNTERS
from app.edge.metric_labels import QueueLabels, source_label

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where prometheus_client looks for the directory in which processes count together."""

# Requests that wait for work or stream for hours would only be noise among the durations.
_UNTIMED = ("/metrics$", "/agent/v1/stream$", "/events$")
_BUCKETS = (0.005, 0.025, 0.1, 0.5, 2.0, 10.0)  # seconds; each costs a series per route and status
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NAMES_FILE = "queue-labels"

_log = logging.getLogger(__name__)


class Metrics:
    """The counters of one process; a sink of app/db/counters.py, and what a scrape reads."""

    def __init__(self, folder: Path | None = None, *, process: str = "self") -> None:
        """`folder` is the server's directory once `join` has put this process into a slot of it.

        `process` is what the series of this process alone are told apart by: its slot.
        """
        self.folder = folder
        self.process = process
        self.queues = QueueLabels(None if folder is None else folder / _NAMES_FILE)
        self._registry = CollectorRegistry()
        self._counters = {
            family.name: Counter(
                family.name, family.help, family.labels, registry=self._registry
            )
            for family in COUNTERS
        }
        for collector in COLLECTORS:
            self._counters[COLLECTION_ERRORS].labels(collector)

    def moved(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        """Count one move, under labels that stay few. Never raises."""
        try:
            self._counters[name].labels(**self._bounded(labels)).inc(amount)
        except (KeyError, ValueError, OSError) as fault:
            _log.error("counter_not_moved name=%s fault=%s", name, type(fault).__name__)

    def watch(self, app: Flask) -> None:
        """Count and time the requests of an application, by route and status."""
        PrometheusMetrics(
            app,
            path=None,
            group_by="url_rule",
            defaults_prefix="switchboard",
            buckets=_BUCKETS,
            excluded_paths=_UNTIMED,
            registry=self._registry,
        )
        app.before_request(_bound_method)

    def counted(self) -> Iterable[Metric]:
        """Every counter as it stands now, summed over the processes of the server."""
        if self.folder is None:
            return self._registry.collect()
        # A file that was just made, or whose maker was killed right then, is empty: no counter yet.
        files = [path for path in self.folder.glob("[ch]*.db") if path.stat().st_size]
        merged: Iterable[Metric] = MultiProcessCollector.merge([str(path) for path in files])
        return merged

    def _bounded(self, labels: Mapping[str, str]) -> dict[str, str]:
        bounded = dict(labels)
        if "queue" in labels:
            bounded["queue"] = self.queues.label(labels["queue"])
        if "source" in labels:
            bounded["source"] = source_label(labels["source"])
        return bounded


def join(folder: Path, prefix: str) -> Metrics:
    """Take a slot of a server's directory and count in its files from now on.

    Once per process, before it makes any other metric; VARIABLE names the folder already.
    """
    slot = metric_slots.take(folder, prefix)
    values.ValueClass = values.MultiProcessValue(process_identifier=lambda: slot.name)
    return Metrics(folder, process=slot.name)


def _bound_method() -> None:
    """A method no route knows is refused as such, but its name must not become a label."""
    if request.method not in _METHODS:
        request.method = "OTHER"
