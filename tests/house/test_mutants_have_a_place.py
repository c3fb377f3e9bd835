"""Every planted fault still finds the text it replaces: one that does not proves nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tests.house.tree import ROOT
from tests.mutants.planted import ALL, Mutant
from tests.mutants.planted_metrics import METRICS
from tests.mutants.planted_oauth import OAUTH
from tests.mutants.planted_web import WEB


def check(root: Path, mutants: Iterable[Mutant]) -> list[str]:
    """Faults whose text is gone from their file."""
    return [
        f"{mutant.name}: {mutant.file} does not hold {old!r}"
        for mutant in mutants
        for old, _ in ((mutant.old, mutant.new), *mutant.and_also)
        if old not in (root / mutant.file).read_text()
    ]


def test_every_planted_fault_has_a_place() -> None:
    assert check(ROOT, (*ALL, *WEB, *METRICS, *OAUTH)) == []


def test_a_fault_without_a_place_is_found() -> None:
    assert len(check(ROOT, [replace(ALL[0], old="text that stands nowhere")])) == 1
