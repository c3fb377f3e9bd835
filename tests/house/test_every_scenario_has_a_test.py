"""Every scenario of the admission specification that is built is proven by a marked test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import Copy, holds

SCENARIOS = {
    "REQ-1": ("No policy, no change", "A daily budget", "Zero pauses the queue",
              "Unknown zone is refused"),
    "REQ-2": ("A pool shares one budget", "Same name, different owners",
              "A fan-out copy is governed by its own endpoint"),
    "REQ-3": ("A retry is charged", "A takeover is charged", "Release does not refund",
              "A redelivery is free"),
    "REQ-4": ("Concurrent claimers cannot exceed the limit", "In-flight cap",
              "Takeover at the in-flight cap", "One deferred queue does not starve the others"),
    "REQ-5": ("A Pacific day", "The fall-back day", "Hourly window"),
    "REQ-6": ("An exhausted day keeps its work", "Deferral outlives the retry backoff"),
    "REQ-7": ("A worker is told to wait, not to poll", "Headroom on a successful claim",
              "A specific claim in a deferred queue", "Status is scoped to the caller"),
    "REQ-8": ("No wake-up for work that cannot be claimed", "One ring at midnight",
              "Reopening while clocked out"),
    "REQ-9": ("A policy that cannot be evaluated",),
    "REQ-10": ("By default an agent cannot raise its own ceiling", "An owner opts an agent in",
               "Another human's queue is opaque", "Lowering mid-window"),
    "REQ-11": ("The owner sees why work waits",),
    "REQ-12": ("A budget shows up in Grafana", "Charges match claims"),
    "REQ-13": ("A cancelled claim charges nothing",),
}


def check(root: Path) -> list[str]:
    """Scenarios that no test is marked with."""
    marked = set(_marks(root / "tests"))
    return [f"{requirement}: no test is marked with {scenario!r}"
            for requirement, scenarios in SCENARIOS.items() for scenario in scenarios
            if (requirement, scenario) not in marked]


def _marks(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.req":
                    words = [w.value for w in mark.args if isinstance(w, ast.Constant)]
                    if len(words) == 2:
                        yield str(words[0]), str(words[1])


def test_every_scenario_has_a_test() -> None:
    holds(check)


@pytest.mark.parametrize("scenario", ["Hourly window", "Another human's queue is opaque"])
def test_a_scenario_without_a_test_is_found(copy: Copy, scenario: str) -> None:
    for path in (copy.root / "tests").rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if scenario in text and "test_every_scenario" not in path.name:
            path.write_text(text.replace(scenario, "Something else"), encoding="utf-8")

    copy.turns_red(check, scenario)
