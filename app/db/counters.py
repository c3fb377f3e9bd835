"""Counters of one process, moved after the commit by the verbs; a sink carries them to /metrics."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Series:
    """One time series: a metric's name and its label values, sorted by label."""

    name: str
    labels: tuple[tuple[str, str], ...]


class Sink(Protocol):
    """Where a process's counters go besides; app/edge/metrics.py has the one of Prometheus."""

    def moved(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        """Take one move. Never raises: what moved was committed already."""


class Counters:
    """Counters of one process. A verb adds after its commit, so a rollback never counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[Series, int] = {}
        self._sink: Sink | None = None

    def attach(self, sink: Sink) -> None:
        """Pass every further move on to `sink`; done once, before the first."""
        self._sink = sink

    def add(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add `amount` to the series of that name and those labels (metrics.md)."""
        if self._sink is not None:
            self._sink.moved(name, amount, labels)
            return
        series = Series(name, tuple(sorted(labels.items())))
        with self._lock:
            self._values[series] = self._values.get(series, 0) + amount

    def value(self, name: str, **labels: str) -> int:
        """Read one series that no sink took; 0 when it never moved."""
        with self._lock:
            return self._values.get(Series(name, tuple(sorted(labels.items()))), 0)

    def snapshot(self) -> dict[Series, int]:
        """Copy every series that ever moved and that no sink took."""
        with self._lock:
            return dict(self._values)
