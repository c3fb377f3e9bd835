"""The way from a bare Python to our own environment, and the shape of what it installs from."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from app import bootstrap
from tests import phases, system_packages, words

ROOT = Path(__file__).parent.parent


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The bootstrap of another checkout, whose list of requirements is empty."""
    root = tmp_path / "checkout"
    (root / "app").mkdir(parents=True)
    (root / "app" / "bootstrap.py").write_bytes(Path(bootstrap.__file__).read_bytes())
    (root / "requirements.lock").write_text("")
    (root / "requirements-dev.lock").write_text("")
    spec = importlib.util.spec_from_file_location("carried", root / "app" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("bootstrap", sys.argv[1])
bootstrap = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bootstrap)
bootstrap.enter(bootstrap.RUN_LOCK, __file__, sys.argv[1:])
print(sys.prefix, sys.flags.safe_path)
"""


def entered(carried: ModuleType, **more: str) -> subprocess.Popen[str]:
    """A process that enters the other checkout's environment and says where it is."""
    script = carried.ROOT / "enter.py"
    script.write_text(SCRIPT)
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "", **more}
    return subprocess.Popen(
        [sys.executable, str(script), carried.__file__ or ""],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_two_first_runs_at_once_make_one_environment_and_both_enter_it(
    carried: ModuleType,
) -> None:
    runs = [entered(carried), entered(carried)]

    said = [run.communicate(timeout=100) for run in runs]

    assert [run.returncode for run in runs] == [0, 0], said
    assert {out for out, _ in said} == {f"{carried.VENV} True\n"}
    assert sum("Preparing" in err for _, err in said) == 1
    marks = json.loads((carried.VENV / "stamps.json").read_text())
    assert marks[carried.RUN_LOCK] == carried.stamp(carried.RUN_LOCK)


def test_a_changed_list_is_installed_again(carried: ModuleType) -> None:
    first = entered(carried)
    first.communicate(timeout=100)
    assert first.returncode == 0
    (carried.ROOT / carried.RUN_LOCK).write_text("# changed\n")

    run = entered(carried)

    assert "Preparing" in run.communicate(timeout=100)[1]
    assert run.returncode == 0


def test_what_cannot_be_installed_is_2_and_leaves_nothing_that_counts_as_made(
    carried: ModuleType,
) -> None:
    (carried.ROOT / carried.RUN_LOCK).write_text("no-such-thing-at-all==1 --hash=sha256:00\n")

    run = entered(carried, PIP_NO_INDEX="1")
    run.communicate(timeout=100)

    assert run.returncode == 2
    assert not (carried.VENV / "stamps.json").exists()


def test_an_ordinary_user_is_told_every_missing_package(
    carried: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carried.os, "geteuid", lambda: 1000)

    with pytest.raises(carried.Refused, match="apt install chromium python3-venv"):
        carried.install_packages(["chromium", "python3-venv"])


def test_root_without_apt_is_told_too(
    carried: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carried.os, "geteuid", lambda: 0)
    monkeypatch.setattr(carried.shutil, "which", lambda _: None)

    with pytest.raises(carried.Refused, match="Missing: chromium"):
        carried.install_packages(["chromium"])


def test_a_package_counts_as_here_when_any_of_its_programs_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    default = [one for one in system_packages.PACKAGES if one.group in ("pages", "tests")]
    assert system_packages.missing() == [package.name for package in default]

    for package in default:
        (tmp_path / package.programs[-1]).touch(mode=0o755)

    assert system_packages.missing() == []
    assert "orca" in system_packages.missing(("pages", "reader"))
    assert "faketime" not in system_packages.missing(("pages", "reader"))


def test_the_soak_alone_needs_the_pooler(monkeypatch: pytest.MonkeyPatch) -> None:
    def needed(*line: str) -> list[str]:
        return system_packages.missing(words.parse(list(line)).packages)

    monkeypatch.setattr(system_packages.shutil, "which", lambda _: None)

    assert "pgbouncer" in needed("soak")
    assert "pgbouncer" in needed("race", "soak", "-k", "kill")
    assert not any("pgbouncer" in needed(*line) for line in ([], ["race"], ["a11y"], ["static"]))


def test_both_lists_name_the_same_version_of_what_runs() -> None:
    run, dev = pins("requirements.lock"), pins("requirements-dev.lock")

    assert run.items() <= dev.items()


def pins(lock: str) -> dict[str, str]:
    """Name and version of everything a list pins."""
    return dict(re.findall(r"^([\w.-]+(?:\[[\w,]+\])?)==(\S+)", (ROOT / lock).read_text(), re.M))


def test_a_wheel_carries_templates_static_files_and_sql_and_its_command_runs(
    tmp_path: Path,
) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    carried = tmp_path / "site" / "app" / "_data"
    say = "import sys; from app.server import main; sys.exit(main(['version']))"

    ran = subprocess.run(
        [sys.executable, "-P", "-c", say], cwd=tmp_path, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/", "PYTHONPATH": str(tmp_path / "site")},
        check=False,
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, "")
    assert {folder.name for folder in carried.iterdir()} == {"templates", "static", "sql"}
    assert sorted((carried / "sql" / "queries").glob("*.sql"))


def test_words_select_folders_and_the_rest_is_pytests() -> None:
    assert words.split(["race", "-k", "budget"]) == (["race"], ["-k", "budget"])
    assert words.split(["domain", "house"]) == (["domain", "house"], [])
    assert words.split(["-k", "domain"]) == ([], ["-k", "domain"])


def test_soak_and_bench_are_not_in_the_default_run() -> None:
    for phase in phases.planned(words.parse([])):
        if "pytest" in phase.argv:
            assert "--ignore=tests/soak" in phase.argv
            assert "--ignore=tests/bench" in phase.argv

    soak, mutants = phases.planned(words.parse(["soak"]))
    assert mutants.argv[-1] == "tests.mutants"
    assert "--ignore=tests/soak" not in soak.argv
    assert "tests/soak" in soak.argv
    assert "tests/race/test_claims.py" in soak.argv
    assert soak.environment == {"TESTS_LONG": "1"}


def test_the_pages_are_audited_here_elsewhere_or_by_a_screen_reader() -> None:
    here = phases.planned(words.parse(["a11y"]))
    (elsewhere,) = phases.planned(words.parse(["a11y", "http://host", "http://host/auth/link/x"]))
    (spoken,) = phases.planned(words.parse(["a11y", "--screen-reader", "-k", "budget"]))

    assert all("a11y" in phase.argv for phase in here)
    assert elsewhere.argv[1:] == ["-m", "a11y", "http://host", "http://host/auth/link/x"]
    assert spoken.argv[-3:] == ["a11y/screen_reader", "-k", "budget"]
    assert words.parse(["a11y", "--screen-reader"]).packages == ("pages", "reader")
    assert words.parse(["a11y", "http://host", "http://host/x"]).packages == ("pages",)


@pytest.mark.parametrize("line", [
    "a12y", "a11y everything", "race storm", "a11y http://host", "a11y http://host link",
    "race --screen-reader", "a11y http://host http://host/x more",
])
def test_words_that_name_nothing_are_2_with_the_usage(line: str) -> None:
    ran = subprocess.run([sys.executable, "tests", *line.split()], cwd=ROOT, text=True,
                         capture_output=True, check=False)

    assert ran.returncode == 2
    assert "usage: python3 tests" in ran.stderr
    assert ran.stdout == ""


def test_help_is_printed_before_anything_is_installed() -> None:
    ran = subprocess.run([sys.executable, "tests", "--help"], cwd=ROOT, text=True,
                         capture_output=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "a11y URL SIGN_IN_LINK" in ran.stdout


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("== 3 passed, 1 failed in 2.10s ==", {"passed": 3, "failed": 1}),
        ("12 passed, 1 error in 61.52s (0:01:01)", {"passed": 12, "errors": 1}),
        ("no tests ran in 0.53s", {}),
    ],
)
def test_the_closing_line_of_each_phase_is_counted(line: str, counts: dict[str, int]) -> None:
    assert phases.closing_counts(line) == counts
