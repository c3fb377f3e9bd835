"""Small parts: a module over 250 lines is two topics, a function over 50 does two things."""

from __future__ import annotations

from pathlib import Path

from tests.house.tree import Copy, holds, modules

MODULE_LINES = 250
FUNCTION_LINES = 50


def check(root: Path) -> list[str]:
    """Every module and function that is too long."""
    faults = []
    for module in modules(root):
        lines = module.text.count("\n")
        if lines > MODULE_LINES:
            faults.append(f"{module.where}: {lines} lines, at most {MODULE_LINES}")
        for function in module.functions():
            length = (function.end_lineno or function.lineno) - function.lineno + 1
            if length > FUNCTION_LINES:
                faults.append(f"{module.where}: {function.name} has {length} lines, "
                              f"at most {FUNCTION_LINES}")
    return faults


def test_modules_and_functions_are_small() -> None:
    holds(check)


def test_a_long_module_is_found(copy: Copy) -> None:
    copy.append("app/domain/todos.py", "\n" * MODULE_LINES)
    copy.turns_red(check, "app/domain/todos.py")


def test_a_long_function_is_found(copy: Copy) -> None:
    copy.write("jobs/long.py", "def long() -> None:\n" + "    x = 1\n" * FUNCTION_LINES)
    copy.turns_red(check, "long has 51 lines")
