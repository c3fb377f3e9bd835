"""Migrations are numbered without holes and say why, what they lock, and whether they are safe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.tree import Copy, files, holds

_NAME = re.compile(r"(\d{4})_[a-z0-9]+(_[a-z0-9]+)*\.sql")
_HEADER = ("-- Why: ", "-- Locks: ")


def check(root: Path) -> list[str]:
    """Misnamed files, holes and doubles in the numbers, headers that do not say enough."""
    faults, numbers = [], []
    for path in files(root, "sql/migrations/*"):
        found = _NAME.fullmatch(path.name)
        if not found:
            faults.append(f"{path.name}: a migration is called NNNN_what_it_does.sql")
            continue
        numbers.append(int(found[1]))
        head = re.split(r"^(?!--)", path.read_text(), maxsplit=1, flags=re.MULTILINE)[0]
        faults += [f"{path.name}: the header does not say {word.strip('- :')}"
                   for word in _HEADER if word not in head]
        if "safe live" not in head.lower():
            faults.append(f"{path.name}: the header does not say whether it is safe live")
    if numbers != list(range(1, len(numbers) + 1)):
        faults.append(f"the numbers have holes or doubles: {numbers}")
    return faults


def test_migrations_are_numbered_and_explained() -> None:
    holds(check)


@pytest.mark.parametrize(("name", "text"), [
    ("0999_far_away.sql", "-- Why: x\n-- Locks: none. Safe live: yes.\nselect 1;\n"),
    ("0001_again.sql", "-- Why: x\n-- Locks: none. Safe live: yes.\nselect 1;\n"),
    ("later.sql", "-- Why: x\n-- Locks: none. Safe live: yes.\nselect 1;\n"),
    ("0001_clock_and_people.sql", "select 1;\n"),
])
def test_a_bad_migration_is_found(copy: Copy, name: str, text: str) -> None:
    copy.write(f"sql/migrations/{name}", text)
    copy.turns_red(check)
