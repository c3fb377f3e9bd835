"""Plants one fault in a copy of the tree and sees whether the tests it names turn red."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.planted import Mutant

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("app", "jobs", "sql", "templates", "static", "tests", "pyproject.toml", "README.md")
TESTS_FAILED = 1  # pytest's exit code; any other is an accident, not a catch


def check(mutant: Mutant) -> str | None:
    """None when the fault was caught; else what happened instead."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        _copy(copy)
        planted = copy / mutant.file
        text = planted.read_text(encoding="utf-8")
        for old, new in ((mutant.old, mutant.new), *mutant.and_also):
            if old not in text:
                return f"{mutant.file} does not hold the text to replace any more"
            text = text.replace(old, new)
        planted.write_text(text, encoding="utf-8")
        ran = _pytest(copy, mutant.tests)
        if ran.returncode == TESTS_FAILED:
            return None
        return f"exit code {ran.returncode}: {ran.stdout[-400:]}"


def _copy(copy: Path) -> None:
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / part)


def _pytest(copy: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    inherited = {name: text for name, text in os.environ.items()
                 if not name.startswith(("TESTS_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
        cwd=copy, env={**inherited, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )
