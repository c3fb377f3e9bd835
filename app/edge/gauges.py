"""The gauges of a scrape, from the database: a collector that fails leaves its families out."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from prometheus_client.core import GaugeMetricFamily

from app.db.counters import Sink
from app.db.database import Database
from app.domain.admission import Admitted, Deferral, Reason
from app.domain.todos import State
from app.edge.metric_families import ADMISSION, COLLECTION_ERRORS, QUEUES
from app.edge.metric_labels import QueueLabels
from app.edge.timely import Question
from app.reads import gauges
from app.reads.gauges import PolicyGauge, QueueGauge

ADMITTED = "admitted"
_SECONDS = 2.6  # of the three in which a scrape is answered

Families: TypeAlias = tuple[GaugeMetricFamily, ...]
_log = logging.getLogger(__name__)


class Gauges:
    """The collectors of one process, each asked once per scrape, and failing alone."""

    def __init__(self, database: Database, labels: QueueLabels, counting: Sink) -> None:
        """`counting` counts what failed, and learns which queues have counters at all."""
        self._database = database
        self._labels = labels
        self._counting = counting
        self._questions: dict[str, Question[Families]] = {
            QUEUES: Question(self._queues),
            ADMISSION: Question(self._admission),
        }

    def collect(self) -> list[GaugeMetricFamily]:
        """The families of every collector that answered, within three seconds."""
        begun = {name: each.begin(_SECONDS) for name, each in self._questions.items()}
        return [family for name, answer in begun.items() for family in self._kept(name, answer)]

    def _kept(self, name: str, answer: Callable[[], Families]) -> Families:
        try:
            return answer()
        except Exception as fault:
            _log.warning("collector_failed collector=%s fault=%s", name, type(fault).__name__)
            self._counting.moved(COLLECTION_ERRORS, 1, {"collector": name})
            return ()

    def _queues(self) -> Families:
        rows = gauges.queues(self._database)
        self._show_zero("switchboard_todos_claimed_total", [row.queue for row in rows])
        return _queues(rows, self._labels)

    def _admission(self) -> Families:
        rows = gauges.policies(self._database)
        self._show_zero("switchboard_admission_charged_total", [row.queue for row in rows])
        return _admission(rows, self._labels)

    def _show_zero(self, counter: str, queues: Sequence[str | None]) -> None:
        """A rise from nothing is none to Prometheus: a series must be seen before it moves."""
        for label in {self._labels.label(queue): None for queue in queues}:
            self._counting.moved(counter, 0, {"queue": label})


def _queues(rows: Sequence[QueueGauge], labels: QueueLabels) -> Families:
    """Several names may share the label of the rest: counts add up, the oldest is the oldest."""
    todos: Counter[tuple[str, str]] = Counter()
    oldest: dict[str, float] = {}
    for row in rows:
        label = labels.label(row.queue)
        for state in State:
            todos[label, state] += getattr(row, state)
        oldest[label] = max(oldest.get(label, 0.0), row.oldest_pending_seconds)
    seconds = _gauge(
        "switchboard_queue_oldest_pending_seconds",
        "Age of the oldest pending todo; 0 without any.",
        ["queue"],
    )
    for label, age in oldest.items():
        seconds.add_metric([label], age)
    counted = _gauge("switchboard_queue_todos", "Todos by state.", ["queue", "state"], todos)
    return (counted, seconds)


def _admission(rows: Sequence[PolicyGauge], labels: QueueLabels) -> Families:
    """Every status and reason of every queue with a policy, zero where there is none."""
    policies: Counter[tuple[str, str]] = Counter()
    deferred: Counter[tuple[str, str]] = Counter()
    for row in rows:
        label = labels.label(row.queue)
        for status in (ADMITTED, *Reason):
            policies[label, status] += 0
        for reason in Reason:
            deferred[label, reason] += 0
        match row.decision:
            case Admitted():
                policies[label, ADMITTED] += 1
            case Deferral(reason=reason):
                policies[label, reason] += 1
                deferred[label, reason] += row.pending
    return (
        _gauge(
            "switchboard_admission_policies",
            "Live policies by what they say of a pending todo now.",
            ["queue", "status"],
            policies,
        ),
        _gauge(
            "switchboard_admission_deferred_todos",
            "Pending todos of deferred queues, by reason.",
            ["queue", "reason"],
            deferred,
        ),
    )


def _gauge(
    name: str, words: str, labels: list[str], counts: Counter[tuple[str, str]] | None = None
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=labels)
    for values, count in (counts or {}).items():
        family.add_metric([str(value) for value in values], count)
    return family
