"""The checklist names every row, and tests that exist."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from a11y.checklist import BY_HAND, ROWS

ROOT = Path(__file__).parent.parent
# How many rows each part has: board, header, chip, editor, record, drawer, sign-in, vend.
EXPECTED = {
    *(f"B{n}" for n in range(1, 16)), *(f"H{n}" for n in range(8)), *(f"C{n}" for n in range(1, 7)),
    *(f"E{n}" for n in range(1, 13)), *(f"A{n}" for n in range(1, 8)),
    *(f"D{n}" for n in range(1, 7)), *(f"L{n}" for n in range(1, 4)),
    *(f"V{n}" for n in range(1, 7)),
}


@cache
def names_in(path: str) -> set[str]:
    """The names of the tests of a file; none when there is no such file."""
    file = ROOT / path
    if not file.exists():
        return set()
    return {node.name for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def missing(rows: dict[str, tuple[str, tuple[str, ...]]]) -> list[str]:
    """The rows without a test, and the tests named that are not there."""
    found = [f"{row} names no test" for row, (_, tests) in rows.items() if not tests]
    for row, (_, tests) in rows.items():
        for test in tests:
            path, _, name = test.partition("::")
            if name not in names_in(path):
                found.append(f"{row}: there is no {test}")
    return found


def test_every_row_is_proved_or_named_with_a_reason() -> None:
    by_hand = {row for row in BY_HAND if " " not in row}

    assert set(ROWS) | by_hand == EXPECTED
    assert not set(ROWS) & by_hand
    assert all(BY_HAND.values())


def test_every_test_that_is_named_is_there() -> None:
    assert missing(ROWS) == []


def test_a_name_that_leads_nowhere_is_found() -> None:
    assert missing({"B1": ("x", ("a11y/test_board.py::test_gone",))}) == [
        "B1: there is no a11y/test_board.py::test_gone"]
    assert missing({"B1": ("x", ())}) == ["B1 names no test"]
