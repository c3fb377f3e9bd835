"""Counters that code moves are in the vocabulary, with exactly their labels."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from app.edge import metric_families
from tests.house.tree import Copy, holds, modules

# What contract/metrics.md lists; gauges are read at scrape time and are never moved by code.
COUNTERS: dict[str, set[str]] = {
    "switchboard_todos_created_total": {"queue", "source"},
    "switchboard_todos_claimed_total": {"queue"},
    "switchboard_todos_completed_total": {"queue", "outcome"},
    "switchboard_todo_leases_expired_total": {"queue"},
    "switchboard_todo_attempts_total": {"queue", "attempt_bucket"},
    "switchboard_todo_attempts_closed_total": {"queue", "outcome"},
    "switchboard_webhook_deliveries_total": {"provider", "trust_mode", "verdict"},
    "switchboard_webhook_verify_failures_total": {"provider", "reason"},
    "switchboard_notify_hook_notifications_total": {"type", "outcome"},
    "switchboard_notify_hook_attempts_total": {"result"},
    "switchboard_notify_hooks_disabled_total": {"reason"},
    "switchboard_metrics_collection_errors_total": {"collector"},
    "switchboard_admission_charged_total": {"queue"},
    "switchboard_admission_refusals_total": {"queue", "reason"},
}
_NAME = re.compile(r"switchboard_[a-z_]+_total")


def check(root: Path) -> list[str]:
    """Unknown names, and names moved with other labels than theirs."""
    faults = []
    for module in modules(root):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if _NAME.fullmatch(node.value) and node.value not in COUNTERS:
                    faults.append(f"{module.where}:{node.lineno}: no counter {node.value}")
            elif isinstance(node, ast.Call) and _moves(node):
                labels = {word.arg for word in node.keywords} - {"amount"}
                name = _name(node)
                if None not in labels and labels != COUNTERS.get(name, labels):
                    faults.append(f"{module.where}:{node.lineno}: {name} has the labels "
                                  f"{sorted(COUNTERS[name])}")
    return faults


def _moves(node: ast.Call) -> bool:
    return (isinstance(node.func, ast.Attribute) and node.func.attr == "add"
            and _name(node).startswith("switchboard_"))


def _name(node: ast.Call) -> str:
    first = node.args[0] if node.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def test_counters_are_in_the_vocabulary() -> None:
    holds(check)


def test_every_counter_of_the_vocabulary_is_served_and_no_other() -> None:
    served = {family.name: set(family.labels) for family in metric_families.COUNTERS}

    assert served == COUNTERS
    assert len(served) == len(metric_families.COUNTERS)
    assert all(family.help.endswith(".") for family in metric_families.COUNTERS)


@pytest.mark.parametrize("line", [
    'counters.add("switchboard_todos_eaten_total", queue=q)',
    'counters.add("switchboard_todos_claimed_total")',
    'counters.add("switchboard_todos_claimed_total", queue=q, endpoint=e)',
])
def test_a_wrong_counter_is_found(copy: Copy, line: str) -> None:
    copy.append("app/transactions/claiming.py", f"\n{line}\n")
    copy.turns_red(check, "claiming.py")
