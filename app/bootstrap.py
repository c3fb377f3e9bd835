"""From a bare Python to our own .venv with the locked requirements; standard library only.

Both `python3 app` and `python3 tests` load this file by its path, before anything is installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OLDEST = (3, 11)
RUN_LOCK = "requirements.lock"
DEV_LOCK = "requirements-dev.lock"
VENV_PACKAGE = "python3-venv"
_MARK = "BOOTSTRAP_ENTERED"  # set across the exec, so that a broken .venv cannot loop for ever


class Refused(Exception):
    """The machine lacks something we may not install; the message says what."""


def enter(lock: str, script: Path, argv: list[str]) -> None:
    """Return when we run inside our .venv with `lock` installed; else make it so and start over.

    Exits 2 with a sentence when something is missing that an ordinary user cannot install.
    """
    try:
        _require_python()
        if _is_inside() and _is_current(lock):
            os.environ.pop(_MARK, None)
            return
        if _MARK in os.environ:
            raise Refused(f"{VENV} does not work; remove it and start again.")
        with _turn():
            if not _is_current(lock):
                _make(lock)
    except Refused as missing:
        sys.stderr.write(f"{missing}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(1)
    # -P: neither app/ nor the folder we were started from may stand in for a library.
    python = str(_python())
    os.environ[_MARK] = "1"
    os.execv(python, [python, "-P", str(script), *argv])


def install_packages(names: list[str]) -> None:
    """Have apt install system packages; Refused, naming every one, where we may not."""
    if not names:
        return
    wanted = " ".join(names)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Refused(f"Missing: {wanted}. On Debian or Ubuntu: sudo apt install {wanted}")
    sys.stderr.write(f"Installing {wanted}\n")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for argv in (
        ["apt-get", "update", "-q"],
        ["apt-get", "install", "-q", "-y", "--no-install-recommends", *names],
    ):
        done = subprocess.run(argv, env=quiet, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0 and argv[1] == "install":
            raise Refused(f"apt could not install {wanted}.")


def lacks_venv() -> bool:
    """Whether this Python cannot make a virtual environment, as a minimal Debian's cannot."""
    return any(importlib.util.find_spec(name) is None for name in ("venv", "ensurepip"))


def stamp(lock: str) -> str:
    """What a .venv is marked with in which `lock` was installed: the hash of its text."""
    return hashlib.sha256((ROOT / lock).read_bytes()).hexdigest()


def _require_python() -> None:
    if sys.version_info >= OLDEST:
        return
    for name in ("python3.13", "python3.12", "python3.11"):
        found = shutil.which(name)
        if found:
            os.execv(found, [found, *sys.argv])
    raise Refused("Python 3.11 or newer is needed (macOS: brew install python).")


def _python() -> Path:
    return VENV / "bin" / "python"


def _is_inside() -> bool:
    return Path(sys.prefix).resolve() == VENV.resolve()


def _marks() -> dict[str, str]:
    """What the .venv was made from; nothing when another Python made it, or elsewhere."""
    try:
        marks: dict[str, str] = json.loads((VENV / "stamps.json").read_text())
    except (OSError, ValueError):
        return {}
    return marks if marks.get("made") == _made() and os.access(_python(), os.X_OK) else {}


def _made() -> str:
    return f"{sys.version_info[:2]} {VENV}"


def _is_current(lock: str) -> bool:
    return _marks().get(lock) == stamp(lock)


class _turn:  # noqa: N801 - used as a function
    """One run at a time makes the .venv; the others wait. The lock is on the folder itself."""

    def __enter__(self) -> None:
        self._folder = os.open(ROOT, os.O_RDONLY)
        fcntl.flock(self._folder, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)


def _make(lock: str) -> None:
    if lacks_venv():
        install_packages([VENV_PACKAGE])
    if not os.access(ROOT, os.W_OK):
        raise Refused(f"{ROOT} is not writable, and .venv belongs there. Use a copy of your own.")
    sys.stderr.write(f"Preparing {VENV} (once)\n")
    if not _marks():  # one that a server may be running from is added to, never cleared
        _run([sys.executable, "-m", "venv", "--clear", str(VENV)], "make a virtual environment")
    install = [str(_python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["--no-input", "--require-hashes", "--only-binary", ":all:", "-r", str(ROOT / lock)]
    _run(install, f"install {lock}")
    # The tests' list includes everything of the run, in the same versions.
    marks = {"made": _made(), **{name: stamp(name) for name in (lock, RUN_LOCK)}}
    half = VENV / "stamps.json.new"
    half.write_text(json.dumps(marks))
    half.rename(VENV / "stamps.json")


def _run(argv: list[str], purpose: str) -> None:
    if subprocess.run(argv, cwd=ROOT, check=False).returncode != 0:
        raise Refused(f"Could not {purpose}; the lines above say why.")
