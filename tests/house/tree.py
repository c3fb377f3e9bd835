"""The source tree as the house tests read it, and copies of it in which a fault is planted."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("app", "jobs", "sql", "templates", "static", "tests", "a11y")
_CACHES = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache", ".hypothesis")

Check = Callable[[Path], list[str]]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file: where it is, what it is called, what it says."""

    path: Path
    name: str
    where: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return _parse(self.text)

    def functions(self) -> Iterator[Function]:
        """Every function and method in it, nested ones too."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node


@lru_cache(maxsize=2000)
def _parse(text: str) -> ast.Module:
    """Copies of the tree share the syntax trees of what they did not change."""
    return ast.parse(text)


@lru_cache(maxsize=200)
def faults_today(check: Check) -> list[str]:
    """What a check finds in the real tree."""
    return check(ROOT)


def modules(root: Path, *folders: str) -> list[Module]:
    """Every Python file below the folders, `app` and `jobs` by default, in order of their paths."""
    found = []
    for folder in folders or ("app", "jobs"):
        for path in sorted((root / folder).rglob("*.py")):
            where = path.relative_to(root)
            if "_data" in where.parts or "vendor" in where.parts:
                continue
            parts = where.with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found.append(Module(path, name, str(where), path.read_text(encoding="utf-8")))
    return found


def files(root: Path, pattern: str) -> list[Path]:
    """Every file that matches, in order of their paths."""
    return sorted(path for path in root.glob(pattern) if path.is_file())


class Copy:
    """A copy of the tree in a temporary folder, shared by the tests of one worker."""

    def __init__(self, root: Path) -> None:
        """Copies everything the house tests read to `root`."""
        self.root = root
        self._before: dict[Path, bytes | None] = {}
        for part in PARTS:
            if (ROOT / part).exists():
                shutil.copytree(ROOT / part, root / part, ignore=_CACHES)
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy(path, root / path.name)
        if (ROOT / ".ci").exists():
            shutil.copytree(ROOT / ".ci", root / ".ci")

    def write(self, where: str, text: str) -> None:
        """Makes or overwrites a file."""
        path = self.root / where
        self._before.setdefault(path, path.read_bytes() if path.exists() else None)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def undo(self) -> None:
        """Takes every planted fault out again."""
        for path, text in self._before.items():
            if text is None:
                path.unlink()
                for folder in path.parents:  # what write() had to make
                    if any(folder.iterdir()):
                        break
                    folder.rmdir()
            else:
                path.write_bytes(text)
        self._before.clear()

    def append(self, where: str, text: str) -> None:
        """Adds text to the end of a file."""
        self.write(where, (self.root / where).read_text(encoding="utf-8") + text)

    def replace(self, where: str, old: str, new: str) -> None:
        """Changes a text that must be there."""
        text = (self.root / where).read_text(encoding="utf-8")
        assert old in text, f"{where} does not say {old!r}"
        self.write(where, text.replace(old, new))

    def turns_red(self, check: Check, *words: str) -> None:
        """Asserts that the check finds something here that it does not find in the real tree."""
        new = [fault for fault in check(self.root) if fault not in faults_today(check)]
        assert new, "the planted fault was not found"
        assert all(any(word in fault for fault in new) for word in words), new


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The copy of this worker."""
    return Copy(tmp_path_factory.mktemp("house") / "tree")


@pytest.fixture
def copy(pristine: Copy) -> Iterator[Copy]:
    """A copy of the tree to plant a fault in; it is taken out again afterwards."""
    yield pristine
    pristine.undo()


def holds(check: Check) -> None:
    """Asserts that the real tree keeps a rule."""
    faults = faults_today(check)
    assert not faults, "\n".join(["", *faults])
