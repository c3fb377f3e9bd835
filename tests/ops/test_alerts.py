"""The alert rules are well-formed, fire when they should and stay silent when they should not."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.ops.series import named

ROOT = Path(__file__).parents[2]
RULES = ROOT / "static" / "ops" / "alerts.yml"
UNIT_TESTS = Path(__file__).with_name("alerts_test.yml")
ALERTS = {
    "SwitchboardNothingDraining", "SwitchboardBudgetExhausted", "SwitchboardAdmissionUnavailable",
    "SwitchboardLeasesExpiring", "SwitchboardCollectorFailing", "SwitchboardHooksDisabled",
}  # fmt: skip
MUTANTS = [
    # Each takes away something that a rule needs; the first of each pair must be there.
    ("              - on (job, queue) sum by", "              - on (job, queue) 0 * sum by"),
    ("            or\n            (\n              max by (job, queue) (switchboard_queue_todos",
     "            and\n            (\n              max by (job, queue) (switchboard_queue_todos"),
    ("unless on (job, queue) (\n", "unless on (queue) (\n"),
    ("for: 30m", "for: 0m"),
    ('reason="window_exhausted"', 'reason=~".+"'),
    ("for: 1h", "for: 30m"),
    ('status="admission_unavailable"', 'status=~".+"'),
    ("switchboard_admission_refusals_total offset 10m", "switchboard_admission_refusals_total"),
    ("{reason=\"admission_unavailable\"}[10m]", "[10m]"),
    (">= 3", ">= 1"),
    ("0.1 *", "0.001 *"),
    ("unless switchboard_todo_leases_expired_total offset 30m",
     "unless switchboard_todo_leases_expired_total"),
    ("[10m])) > 0\n        for: 5m\n        labels:\n          severity: warning",
     "[10m])) >= 0\n        for: 5m\n        labels:\n          severity: warning"),
    # Without these a series that comes back after a gap counts as moved.
    ("claimed_total >= last_over_time(", "claimed_total < -1 * last_over_time("),
    (">= last_over_time(switchboard_admission_ref",
     "< -1 * last_over_time(switchboard_admission_ref"),
    (">= last_over_time(switchboard_todo_leases", "< -1 * last_over_time(switchboard_todo_leases"),
    (">= last_over_time(switchboard_notify", "< -1 * last_over_time(switchboard_notify"),
    # And without these one that began anew does not.
    (">= last_over_time(switchboard_notify", ">= 0 * last_over_time(switchboard_notify"),
    (">= last_over_time(switchboard_todo_leases", ">= 0 * last_over_time(switchboard_todo_leases"),
    ("hooks_disabled_total offset 1h", "hooks_disabled_total"),
    ('{reason="consecutive_failures"}\n', "\n"),
]  # fmt: skip


def promtool(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run promtool and keep what it says."""
    argv = ["promtool", *words]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_rules_are_well_formed_and_all_there() -> None:
    checked = promtool("check", "rules", str(RULES))

    assert checked.returncode == 0, checked.stderr
    assert set(re.findall(r"- alert: (\w+)", RULES.read_text())) == ALERTS


def test_the_rules_name_only_series_and_labels_that_exist() -> None:
    found = named(RULES.read_text())

    assert len(found) > 6
    assert not [one for one in found if one.fault]


def test_every_rule_fires_when_it_should_and_not_otherwise() -> None:
    tested = promtool("test", "rules", str(UNIT_TESTS))

    assert tested.returncode == 0, tested.stderr
    assert set(re.findall(r"alertname: (\w+)", UNIT_TESTS.read_text())) == ALERTS


@pytest.mark.parametrize(("old", "new"), MUTANTS)
def test_a_fault_planted_in_a_rule_turns_its_unit_test_red(
    old: str, new: str, tmp_path: Path
) -> None:
    text = RULES.read_text()
    assert old in text
    (tmp_path / "alerts.yml").write_text(text.replace(old, new, 1))
    assert promtool("check", "rules", "alerts.yml", cwd=tmp_path).returncode == 0
    (tmp_path / "test.yml").write_text(
        UNIT_TESTS.read_text().replace("../../static/ops/alerts.yml", "alerts.yml"))

    assert promtool("test", "rules", "test.yml", cwd=tmp_path).returncode == 1
