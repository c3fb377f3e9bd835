"""The top of the tree is the nine names, the README's map is true, nothing names one machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.tree import ROOT, Check, Copy, holds

NAMES = {"pyproject.toml", "app", "templates", "static", "sql", "jobs", "tests", "a11y",
         "README.md"}
FOR_TOOLS = {"requirements.lock", "requirements-dev.lock", ".ci", ".gitignore", ".git"}
# Made by tools, in .gitignore.
MADE = re.compile(r"\.venv.*|\..*_cache|__pycache__|.*\.egg-info|\.hypothesis|\.soak|dist|build|"
                  r"uv\.lock|\.coverage|test-results")
_MAP = re.compile(r"`((?:app|jobs|sql|templates|static|tests|a11y|\.ci)/[\w./-]*)`(?:,? `(\w+)`)?")

# Written in two halves, so that this file does not name what it forbids.
MACHINES = tuple(first + second for first, second in (
    ("/wo", "rk/"), ("/op", "t/py"), ("/tm", "p/"), ("/root/.", "pyenv"), ("pypi", ".org"),
    ("pythonhosted", ".org"), ("registry.npm", "js.org"), ("artifact", "ory"),
))
_TEXT = {".py", ".sql", ".html", ".css", ".js", ".md", ".toml", ".lock", ".txt", ".json", ".yml",
         ".yaml", ".svg", ".sh", ""}


def wrong_top(root: Path) -> list[str]:
    """Names at the top that should not be there, and the nine that should."""
    there = {path.name for path in root.iterdir() if not MADE.fullmatch(path.name)}
    return [f"{name} at the top of the tree" for name in sorted(there - NAMES - FOR_TOOLS)] + [
        f"no {name} at the top of the tree" for name in sorted(NAMES - there)]


def false_map(root: Path) -> list[str]:
    """Paths in the README that are not there, and names that are not in them."""
    readme = root / "README.md"
    if not readme.exists():
        return ["README.md is not there"]
    faults = []
    for where, name in _MAP.findall(readme.read_text()):
        path = root / where
        if not path.exists():
            faults.append(f"README.md: {where} is not there")
        elif name and path.is_file() and name not in path.read_text():
            faults.append(f"README.md: {where} has no {name}")
    return faults


def machines(root: Path) -> list[str]:
    """Paths of one machine, registries and mirrors, in any text of the repository."""
    return [
        f"{path.relative_to(root)}: names {found}"
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix in _TEXT
        and not any(MADE.fullmatch(part) or part in (".git", "vendor")
                    for part in path.relative_to(root).parts)
        for found in MACHINES
        if found in path.read_text(encoding="utf-8", errors="replace")
    ]


CHECKS = [wrong_top, false_map, machines]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_tree_keeps_its_shape(check: Check) -> None:
    holds(check)


def test_the_ci_runs_the_tests_and_nothing_else() -> None:
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    commands = [line for line in lines if not re.match(r"(set |cd )", line)]
    assert [re.sub(r'^exec | "\$@"$', "", line) for line in commands] == ["python3 tests"]


def test_what_tools_make_is_ignored() -> None:
    """Without asking git, which a bare machine does not have."""
    ignored = {line.strip().rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
    assert {".venv", "__pycache__", "*.egg-info", ".pytest_cache", ".mypy_cache", ".ruff_cache",
            ".hypothesis", "uv.lock", "dist", "build"} <= ignored


@pytest.mark.parametrize("name", ["Makefile", "docs/a.md", "setup.cfg"])
def test_another_name_at_the_top_is_found(copy: Copy, name: str) -> None:
    copy.write(name, "x")
    copy.turns_red(wrong_top, name.split("/")[0])


def test_a_false_map_is_found(copy: Copy) -> None:
    copy.append("README.md", "\n| it | `app/domain/nowhere.py` |\n")
    copy.append("README.md", "\n| so | `app/data.py` `nothing` |\n")
    copy.turns_red(false_map, "nowhere.py", "nothing")


@pytest.mark.parametrize("machine", MACHINES)
def test_the_name_of_a_machine_is_found(copy: Copy, machine: str) -> None:
    copy.append("app/data.py", f"# {machine}x\n")
    copy.turns_red(machines, "app/data.py")
