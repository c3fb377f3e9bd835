"""Every setting is in the README's table, every row is a setting, and only the roof reads them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.house.test_arrows import ROOF, story_of
from tests.house.tree import Check, Copy, holds, modules

_NAME = re.compile(r"SWITCHBOARD_[A-Z][A-Z_]*[A-Z]")
# What `switchboard work` gives its command; the README may list them, nobody reads them.
GIVEN = {"SWITCHBOARD_TODO_ID", "SWITCHBOARD_QUEUE", "SWITCHBOARD_ATTEMPT"}


def undocumented(root: Path) -> list[str]:
    """Settings without a row, and rows without a setting."""
    readme = root / "README.md"
    if not readme.exists():
        return ["README.md is not there"]
    rows = {name for line in readme.read_text().splitlines() if line.lstrip().startswith("|")
            for name in _NAME.findall(line)}
    read = _read(root)
    return [f"README.md: no row for {name}" for name in sorted(read - rows)] + [
        f"README.md: a row for {name}, which nobody reads" for name in sorted(rows - read - GIVEN)]


def read_elsewhere(root: Path) -> list[str]:
    """Reads of the environment below the roof."""
    return [
        f"{module.where}:{node.lineno}: reads the environment"
        for module in modules(root)
        if story_of(module) not in (ROOF, "app.settings")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb")
        and isinstance(node.value, ast.Name) and node.value.id == "os"
    ]


def _read(root: Path) -> set[str]:
    """First arguments of `read(...)` in the settings, and names asked of os.environ anywhere."""
    names = set()
    for module in modules(root, "app", "jobs", "tests", "a11y"):
        for node in ast.walk(module.tree):
            said = _asked(node, is_settings=module.where == "app/settings.py")
            if said and _NAME.fullmatch(said):
                names.add(said)
    return names


def _asked(node: ast.AST, *, is_settings: bool) -> str | None:
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript) and _is_environ(node.value):
        key = node.slice
    elif isinstance(node, ast.Call) and node.args and _asks(node.func, is_settings=is_settings):
        key = node.args[0]
    return str(key.value) if isinstance(key, ast.Constant) else None


def _asks(called: ast.expr, *, is_settings: bool) -> bool:
    return isinstance(called, ast.Attribute) and (
        _is_environ(called.value) or (is_settings and called.attr == "read"))


def _is_environ(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "environ"


@pytest.mark.parametrize("check", [undocumented, read_elsewhere], ids=lambda check: check.__name__)
def test_settings_are_documented_and_read_in_one_place(check: Check) -> None:
    holds(check)


def test_a_setting_without_a_row_is_found(copy: Copy) -> None:
    copy.append("app/settings.py", '\nX = env.read("SWITCHBOARD_SECRET_SAUCE", str)\n')
    copy.turns_red(undocumented, "SWITCHBOARD_SECRET_SAUCE")


def test_a_row_without_a_setting_is_found(copy: Copy) -> None:
    copy.append("README.md", "\n| `SWITCHBOARD_SECRET_SAUCE` | none | no more |\n")
    copy.turns_red(undocumented, "SWITCHBOARD_SECRET_SAUCE")


def test_a_read_below_the_roof_is_found(copy: Copy) -> None:
    copy.append("app/edge/deps.py", "\nimport os\nX = os.environ.get('HOME')\n")
    copy.turns_red(read_elsewhere, "app/edge/deps.py")
