"""Plain in-process counters, moved after the commit by the verbs; /metrics serves them."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Series:
    """One time series: a metric's name and its label values, sorted by label."""

    name: str
    labels: tuple[tuple[str, str], ...]


class Counters:
    """Counters of one process. A verb adds after its commit, so a rollback never counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[Series, int] = {}

    def add(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add `amount` to the series of that name and those labels (metrics.md)."""
        series = Series(name, tuple(sorted(labels.items())))
        with self._lock:
            self._values[series] = self._values.get(series, 0) + amount

    def value(self, name: str, **labels: str) -> int:
        """Read one series; 0 when it never moved."""
        with self._lock:
            return self._values.get(Series(name, tuple(sorted(labels.items()))), 0)

    def snapshot(self) -> dict[Series, int]:
        """Copy every series that ever moved."""
        with self._lock:
            return dict(self._values)
