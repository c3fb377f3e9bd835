"""The dashboard loads, and its queries name only series, labels and values that exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ops.series import LABELS, grouped, labels_of, named

FILE = Path(__file__).parents[2] / "static" / "ops" / "grafana-dashboard.json"
DASHBOARD = json.loads(FILE.read_text())


def panels() -> list[dict[str, object]]:
    """Every panel that shows something."""
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def queries() -> Iterator[str]:
    """Every query of the panels and the variables."""
    for panel in panels():
        targets = panel["targets"]
        assert isinstance(targets, list)
        yield from (target["expr"] for target in targets)
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


def test_queries_name_only_series_labels_and_values_that_exist() -> None:
    for query in queries():
        assert named(query), query
        assert [one.fault for one in named(query) if one.fault] == [], query
        assert grouped(query) <= labels_of(query), query


def test_every_series_is_on_the_dashboard() -> None:
    assert {one.name for query in queries() for one in named(query)} == set(LABELS)


def test_gauges_are_not_added_up_over_servers_and_counters_are_never_shown_raw() -> None:
    for panel in panels():
        for target in panel["targets"]:
            expr = target["expr"]
            for one in named(expr):
                is_counter = one.name.endswith("_total")
                before = expr[: expr.index(one.name)]
                assert before.endswith(("rate(", "increase(") if is_counter else "("), expr
                assert is_counter or "max by" in before, expr


def test_panels_have_places_of_their_own_words_and_ids() -> None:
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]}

    assert len(places) == len(DASHBOARD["panels"])
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert all(panel["title"] and panel["description"] for panel in panels())
    assert DASHBOARD["uid"] == "switchboard"


@pytest.mark.parametrize("query", [
    "rate(switchboard_todos_eaten_total[5m])",
    'switchboard_queue_todos{endpoint="x"}',
    'switchboard_queue_todos{state="lost"}',
    'switchboard_admission_deferred_todos{reason="broke"}',
])
def test_a_query_for_what_does_not_exist_is_found(query: str) -> None:
    assert [one.fault for one in named(query)] != [None]
