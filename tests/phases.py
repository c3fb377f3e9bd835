"""The phases of `python3 tests`: static checks, the fast tests, then the races, three at a time."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.words import Asked, folder, parse

ROOT = Path(__file__).resolve().parent.parent
RACES = "race or crash"  # these kill and wait, each with servers and databases of its own
_COUNTER = "tests.support.rounds"
APART = ("soak", "bench", "mutants")  # never in the default run
# In the order given: xdist would begin the files with the fewest tests last, and of those are the
# longest.
_BY_FILE = ("--dist", "loadfile", "--no-loadscope-reorder")
_NOTHING_COLLECTED = 5
_CLOSING = re.compile(r"^=+ (.+) in [0-9.]+s(?: \([0-9:, days]+\))? =+$|^(.+) in [0-9.]+s")
_COUNT = re.compile(r"([0-9]+) ([a-z]+)")


@dataclass(slots=True)
class Phase:
    """One command, and how it went."""

    name: str
    argv: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    code: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Run it, showing its output as it comes, and remember what pytest's last line counts."""
        _say(f"\n== {self.name}: {' '.join(_short(self.argv))}")
        began = time.monotonic()
        with subprocess.Popen(
            self.argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", env={**os.environ, **self.environment},
        ) as process:  # fmt: skip
            assert process.stdout is not None
            last = ""
            for line in process.stdout:
                sys.stdout.write(line)
                sys.stdout.flush()
                last = line if _CLOSING.match(line) else last
        self.code, self.seconds = process.returncode, time.monotonic() - began
        self.counts = closing_counts(last)

    @property
    def passed(self) -> bool:
        """Whether it counts as success; a selection that has nothing here is none."""
        return self.code in (0, _NOTHING_COLLECTED)


def main(words: list[str]) -> int:
    """Run what the words select, or everything but what is apart; 0 only when all of it passed.

    1 when something failed, 2 when the audit of another server could not begin.
    """
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    began = time.monotonic()
    asked = parse(words)
    phases = planned(asked)
    for phase in phases:
        phase.run()
    code = _close(phases, time.monotonic() - began)
    return phases[0].code if asked.audit else code  # 2 when it could not begin


def planned(asked: Asked) -> list[Phase]:
    """The phases that a command line asks for."""
    chosen, rest = list(asked.words), list(asked.rest)
    if asked.audit:
        return [Phase("audit", [sys.executable, "-m", "a11y", *asked.audit])]
    if asked.reader:
        return [_reader(rest)]
    if not chosen and not rest:
        return [*_static(), *_pytest([], [])]
    if chosen == ["static"]:
        return _static()
    phases = _static() if "static" in chosen else []
    for name in ("bench", "mutants"):
        if name in chosen and (ROOT / "tests" / name / "__main__.py").exists():
            phases.append(Phase(name, [sys.executable, "-m", f"tests.{name}", *rest]))
            chosen.remove(name)
            if not [word for word in chosen if word != "static"]:
                return phases
    folders = [folder(word) for word in chosen if word != "static"]
    return [*phases, *_pytest(folders, rest)]


def closing_counts(line: str) -> Counter[str]:
    """What pytest's closing line counts: `3 passed, 1 failed in 2.1s` is passed 3, failed 1."""
    found: Counter[str] = Counter()
    for number, word in _COUNT.findall(line.split(" in ")[0]):
        found["errors" if word == "error" else word] += int(number)
    return found


def _static() -> list[Phase]:
    return [
        Phase("ruff", [sys.executable, "-m", "ruff", "check", "--no-fix", "."]),
        Phase("mypy", [sys.executable, "-m", "mypy"]),
    ]


def _pytest(folders: list[str], rest: list[str]) -> list[Phase]:
    base = [sys.executable, "-m", "pytest", "-q", "--color=no", "-rfE"]
    apart = [f"--ignore=tests/{name}" for name in APART if f"tests/{name}" not in folders]
    if "tests/soak" in folders:
        # Long rounds mostly wait (for leases, crashes, restarts), so files run side by side.
        long = [*base, *apart, "-n", "2", *_BY_FILE, "--timeout=0", "--durations=15",
                *_lengthened(), *folders, *rest]
        planted = Phase("mutants", [sys.executable, "-m", "tests.mutants"])
        return [Phase("soak", long, environment={"TESTS_LONG": "1"}), *([] if rest else [planted])]
    if any(f"tests/{name}" in folders for name in APART):
        return [Phase("tests", [*base, "-s", "--timeout=0", *folders, *apart, *rest])]
    if "-m" in rest or any("::" in word for word in rest):
        return [Phase("tests", [*base, *apart, *folders, *rest])]
    cores = str(max(2, os.cpu_count() or 2))
    side_by_side = ["-n", cores, *_BY_FILE, "-m", f"not ({RACES})"]
    # Not with the others, whose browsers and databases keep the cores busy; but a race mostly
    # waits, and three files of them at a time take a third as long.
    in_threes = ["-n", "3", *_BY_FILE, "-m", RACES]
    return [
        Phase("side by side", [*base, *apart, *side_by_side, *folders, *rest]),
        Phase("races", [*base, *apart, *in_threes, *folders, *rest]),
    ]


def _reader(rest: list[str]) -> Phase:
    """The pages as a screen reader says them: one reader, so one process."""
    argv = [sys.executable, "-m", "pytest", "-q", "-s", "--color=no", "-rfE", "a11y/screen_reader"]
    return Phase("screen reader", [*argv, *rest], environment={"A11Y_SCREEN_READER": "1"})


def _lengthened() -> list[str]:
    """The test files whose number of rounds depends on the run, by themselves or by a helper.

    The storms first, then the other races: at the end one of them would keep one core busy alone.
    """
    uses = {path: _imported(path) for path in (ROOT / "tests").rglob("*.py")}
    counting = {_COUNTER} | {_module(path) for path, names in uses.items() if _COUNTER in names}
    found = [
        str(path.relative_to(ROOT))
        for path, names in uses.items()
        if path.name.startswith("test_") and counting & names
    ]
    return sorted(found, key=lambda name: ("storm" not in name, "/race/" not in name, name))


def _imported(path: Path) -> set[str]:
    """Everything a file imports from, as `package.module` and `package.module.name`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _close(phases: list[Phase], seconds: float) -> int:
    total: Counter[str] = Counter()
    _say("\n== summary")
    for phase in phases:
        total += phase.counts
        verdict = "ok" if phase.passed else f"FAILED (exit code {phase.code})"
        counted = ", ".join(f"{number} {word}" for word, number in phase.counts.items())
        _say(f"{phase.name:<14}{verdict:<26}{phase.seconds:7.1f} s   {counted}")
    tested = [phase for phase in phases if "pytest" in phase.argv]
    is_empty = bool(tested) and all(phase.code == _NOTHING_COLLECTED for phase in tested)
    failed = [phase.name for phase in phases if not phase.passed]
    if failed:
        _say(f"failed: {', '.join(failed)}")
    if is_empty:
        _say("nothing was selected")
    if tested:
        order = ("failed", "passed", "skipped", "xfailed", "errors")
        counted = ", ".join(f"{total[word]} {word}" for word in order if total[word])
        closing = f" {counted or 'no tests ran'} in {seconds:.2f}s "
        _say(f"{closing:=^80}")
    return 1 if failed or is_empty else 0


def _short(argv: list[str]) -> list[str]:
    return ["python", *argv[1:]]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
