"""One scrape: every family of one server as Prometheus text."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from app.db.database import Database
from app.edge.gauges import Gauges
from app.edge.metrics import Metrics
from app.edge.runtime_metrics import runtime

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Exposition:
    """What one process answers a scrape with, for all processes of its server."""

    def __init__(self, metrics: Metrics, database: Database) -> None:
        """Reads nothing before the first scrape."""
        self._metrics = metrics
        self._gauges = Gauges(database, metrics.queues, metrics)

    def text(self) -> bytes:
        """The exposition, format 0.0.4, within three seconds whatever the database does.

        The gauges come first: a failure among them is counted in the same scrape.
        """
        gauges = self._gauges.collect()
        registry = CollectorRegistry()
        registry.register(_Collected([
            *self._metrics.counted(),
            *gauges,
            *runtime(self._metrics.folder, self._metrics.process),
        ]))  # fmt: skip
        return generate_latest(registry)


class _Collected(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
