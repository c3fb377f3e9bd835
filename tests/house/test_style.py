"""How we write: documented, fully typed, without print, swallowing only what we can name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import Check, Copy, Function, holds, modules

MAY_CAST = {"app/db/statements.py", "app/edge/deps.py"}

# Where everything is caught and not raised again, and why that is right there.
MAY_CATCH_ALL: dict[str, str] = {
    "app/db/listener.py": "one subscriber's mistake must not deafen the process; it is logged",
    "app/edge/watcher.py": "a failed cancel must not blind the process; COMMIT still looks",
    "jobs/runner.py": "a sweep that fails is logged and tried again; the others go on",
    "app/outbound/courier.py": "a mistake with one hook must not silence the others; it is logged",
    "app/edge/gauges.py": "a collector that fails is logged, counted and left out of the scrape",
    "app/edge/timely.py": "the fault is raised where the answer is asked for",
    "app/edge/ringer.py": "a mistake must not silence the doorbells of a process for good",
}
FLOORS_WITHOUT_CLOCK = ("app/domain/", "app/reads/", "app/transactions/")
CLOCKS = {"now", "utcnow", "today", "time", "time_ns"}
CLOCK_OWNERS = {"datetime", "date", "time"}
_IGNORE = re.compile(r"#\s*type:\s*ignore|#\s*mypy:\s*ignore")


def undocumented(root: Path) -> list[str]:
    """Modules, public classes, functions and methods without a docstring."""
    faults = []
    for module in modules(root):
        if module.text.strip() and not ast.get_docstring(module.tree):
            faults.append(f"{module.where}: no docstring")
        faults += [f"{module.where}:{node.lineno}: {name} has no docstring"
                   for name, node in _public(module.tree.body) if not ast.get_docstring(node)]
    return faults


def loosely_typed(root: Path) -> list[str]:
    """`Any`, `cast` outside its two places, and silenced type errors."""
    faults = []
    for module in modules(root):
        names = [(getattr(node, "lineno", 0), _named(node)) for node in ast.walk(module.tree)]
        faults += [f"{module.where}:{line}: Any" for line, name in names if name == "Any"]
        if module.where not in MAY_CAST:
            faults += [f"{module.where}:{line}: cast" for line, name in names if name == "cast"]
        faults += [f"{module.where}:{number}: a silenced type error"
                   for number, text in enumerate(module.text.splitlines(), 1)
                   if _IGNORE.search(text)]
    return faults


def swallowed(root: Path) -> list[str]:
    """Handlers that catch everything and do not raise again."""
    return [
        f"{module.where}:{handler.lineno}: catches everything and goes on"
        for module in modules(root)
        if module.where not in MAY_CATCH_ALL
        for handler in ast.walk(module.tree)
        if isinstance(handler, ast.ExceptHandler)
        and _catches_all(handler.type)
        and not any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    ]


def printed(root: Path) -> list[str]:
    """Calls of print."""
    return [
        f"{module.where}:{node.lineno}: print"
        for module in modules(root)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]


def host_clocks(root: Path) -> list[str]:
    """Reads of the host's clock below the doors: time there is the database's `clock()`."""
    return [
        f"{module.where}:{node.lineno}: reads the host's clock"
        for module in modules(root)
        if module.where.startswith(FLOORS_WITHOUT_CLOCK)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr in CLOCKS
        and isinstance(node.value, ast.Name | ast.Attribute)
        and _last_name(node.value) in CLOCK_OWNERS
    ]


def _public(
    body: list[ast.stmt], prefix: str = ""
) -> Iterator[tuple[str, Function | ast.ClassDef]]:
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body, f"{node.name}.")


def _named(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id == "typing" else None
    if isinstance(node, ast.alias):
        return node.name
    return None


def _catches_all(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(each is None or (isinstance(each, ast.Name)
                                and each.id in ("Exception", "BaseException")) for each in kinds)


def _last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr



CHECKS = [undocumented, loosely_typed, swallowed, printed, host_clocks]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_style_is_kept(check: Check) -> None:
    holds(check)


def test_the_places_that_may_catch_all_do(copy: Copy) -> None:
    """A permission nobody uses any more is taken back."""
    for where in MAY_CATCH_ALL:
        text = (copy.root / where).read_text()
        assert "except Exception" in text or "except BaseException" in text, where


@pytest.mark.parametrize(("check", "where", "text"), [
    (undocumented, "app/domain/bare.py", "x = 1\n"),
    (undocumented, "app/domain/todos.py", "def bare() -> None:\n    pass\n"),
    (undocumented, "app/domain/todos.py", "class Bare:\n    pass\n"),
    (undocumented, "app/domain/todos.py",
     'class Half:\n    """A."""\n    def bare(self) -> None:\n        pass\n'),
    (loosely_typed, "app/domain/todos.py", "from typing import Any\n"),
    (loosely_typed, "app/domain/todos.py", "import typing\nx: typing.Any = 1\n"),
    (loosely_typed, "app/domain/todos.py", "from typing import cast\n"),
    (loosely_typed, "app/domain/todos.py", "x = 1  # type: " + "ignore[x]\n"),
    (swallowed, "app/domain/todos.py", "try:\n    x = 1\nexcept Exception:\n    x = 2\n"),
    (swallowed, "app/domain/todos.py", "try:\n    x = 1\nexcept:\n    x = 2\n"),
    (swallowed, "app/domain/todos.py",
     "try:\n    x = 1\nexcept (ValueError, BaseException):\n    x = 2\n"),
    (printed, "jobs/reaper.py", "print('hello')\n"),
    (host_clocks, "app/transactions/claiming.py",
     "import datetime\nx = datetime.datetime.now()\n"),
    (host_clocks, "app/reads/todos.py", "import time\nx = time.time()\n"),
    (host_clocks, "app/domain/todos.py", "from datetime import date\nx = date.today()\n"),
])
def test_a_breach_of_style_is_found(copy: Copy, check: Check, where: str, text: str) -> None:
    path = copy.root / where
    copy.write(where, (path.read_text() if path.exists() else "") + text)
    copy.turns_red(check, where)
