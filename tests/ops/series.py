"""Which series, labels and values a query names, judged against those of the metrics page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.edge.metric_families import COUNTERS

REASONS = {"window_exhausted", "in_flight_full", "paused", "admission_unavailable"}
LABELS: dict[str, set[str]] = {
    **{family.name: set(family.labels) for family in COUNTERS},
    "switchboard_queue_todos": {"queue", "state"},
    "switchboard_queue_oldest_pending_seconds": {"queue"},
    "switchboard_admission_policies": {"queue", "status"},
    "switchboard_admission_deferred_todos": {"queue", "reason"},
}
GIVEN = {"job", "instance"}  # by Prometheus, to every series
VALUES = {
    "state": {"pending", "claimed", "done", "failed"},
    "status": {"admitted", *REASONS},
    "reason": {*REASONS, "consecutive_failures", "operator"},
}
_NAMED = re.compile(r"\b(switchboard_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_GROUPED = re.compile(r"\b(?:by|on)\s*\(([\w, ]+)\)")


@dataclass(frozen=True, slots=True)
class Named:
    """One mention of a series, and what is wrong with it, if anything is."""

    name: str
    fault: str | None


def named(text: str) -> list[Named]:
    """Every series that a text of queries mentions."""
    return [Named(name, _fault(name, matchers)) for name, matchers in _NAMED.findall(text)]


def grouped(query: str) -> set[str]:
    """The labels that one query groups by or joins on."""
    return {label.strip() for labels in _GROUPED.findall(query) for label in labels.split(",")}


def labels_of(query: str) -> set[str]:
    """Every label that the series of one query may carry."""
    return GIVEN.union(*(LABELS.get(one.name, set()) for one in named(query)))


def _fault(name: str, matchers: str) -> str | None:
    if name not in LABELS:
        return f"there is no series {name}"
    for label, operator, value in _MATCHER.findall(matchers):
        if label not in LABELS[name] | GIVEN:
            return f"{name} has no label {label}"
        if operator == "=" and value not in VALUES.get(label, {value}):
            return f"{label} is never {value}"
    return None
