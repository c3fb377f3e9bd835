"""A headless screen reader: Orca over its own display and bus, its words read from its log.

Nothing of the machine's desktop is used or changed: the display, the bus and every setting live in
one temporary folder. The speech server is pointed at nothing, because a real one blocks where
there is no audio; Orca then only writes down what it would say.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

_SPOKEN = re.compile(r"SPEECH OUTPUT: '(.*)' ?(?:\{.*\})?$")
_CUSTOM = """
import os
import orca.debug, orca.settings
orca.settings.sayAllOnLoad = False
orca.settings.enableBraille = False
orca.settings.enableKeyEcho = False
orca.debug.debugFile = open(os.environ["SPOKEN"], "w", buffering=1)  # line by line: read while live
"""
_LAUNCHER = "/usr/libexec/at-spi-bus-launcher"
_PATIENCE = 30.0  # seconds until something that must be said counts as unsaid


@dataclass(frozen=True, slots=True)
class Reader:
    """A running Orca: its environment, for the browser, and what it said so far."""

    environment: dict[str, str]
    log: Path

    def spoken(self) -> list[str]:
        """Every utterance since the reader started."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return [said for line in text.splitlines() for said in _SPOKEN.findall(line)]

    def mark(self) -> int:
        """Where the record stands now, for `since`."""
        return len(self.spoken())

    def since(self, mark: int) -> list[str]:
        """What was said after a mark."""
        return self.spoken()[mark:]

    def wait_for(self, words: str, mark: int) -> list[str]:
        """Returns what was said after the mark once that includes the words; fails after 30 s."""
        _until(lambda: any(words in said for said in self.since(mark)),
               lambda: f"never said {words!r}, but {self.since(mark)}")
        return self.since(mark)

    def open(self, page: Page, address: str, *, until: str = "Finished loading") -> int:
        """Opens a page in front and returns once the reader has read it; the mark after that.

        A page that gives the focus to a field is not said to have loaded: it is read `until`
        other words.
        """
        mark = self.mark()
        page.goto(address)
        page.bring_to_front()
        self.wait_for(until, mark)
        return self.settled()

    def settled(self) -> int:
        """The mark once nothing has been said for a second."""
        mark, ends_at = -1, 0.0
        while time.monotonic() < ends_at or self.mark() != mark:
            if self.mark() != mark:
                mark, ends_at = self.mark(), time.monotonic() + 1
            time.sleep(0.05)
        return mark

    def count(self, words: str, mark: int) -> int:
        """How many utterances after the mark contain the words."""
        return sum(words in said for said in self.since(mark))


@contextmanager
def reading() -> Iterator[Reader]:
    """A screen reader on a display and bus of its own, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="reader") as folder, ExitStack() as running:
        home = Path(folder)
        environment = _environment(home)
        environment["DISPLAY"] = ":" + _first_line(running, environment, [
            "Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"])
        environment["DBUS_SESSION_BUS_ADDRESS"] = _first_line(running, environment, [
            "dbus-daemon", "--session", "--nofork", "--print-address=1"])
        _start(running, environment, ["openbox"])
        _start(running, environment, [
            _LAUNCHER, "--launch-immediately", "--a11y=1", "--screen-reader=1"])
        _start(running, environment, ["orca", "--replace", f"--debug-file={home / 'orca.log'}"])
        reader = Reader(environment, home / "spoken.log")
        _until(lambda: "Screen reader on." in reader.spoken(),
               lambda: f"the screen reader did not start: {reader.spoken()}")
        yield reader


def _environment(home: Path) -> dict[str, str]:
    folders = {"XDG_RUNTIME_DIR": "run", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data",
               "XDG_CACHE_HOME": "cache"}
    for name in folders.values():
        (home / name).mkdir(mode=0o700)
    (home / "data" / "orca").mkdir()
    (home / "data" / "orca" / "orca-customizations.py").write_text(_CUSTOM, encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    return {
        **kept, **{name: str(home / folder) for name, folder in folders.items()},
        "HOME": str(home), "SPOKEN": str(home / "spoken.log"), "LC_ALL": "C.UTF-8",
        "ACCESSIBILITY_ENABLED": "1", "GNOME_ACCESSIBILITY": "1",
        "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "0",
        "SPEECHD_ADDRESS": f"unix_socket:{home / 'nobody'}",
    }


def _start(
    running: ExitStack, environment: dict[str, str], argv: list[str], *, output: int | None = None
) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        argv, env=environment, stdin=subprocess.DEVNULL, stdout=output or subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, text=True)
    running.callback(_stop, process)
    return process


def _first_line(running: ExitStack, environment: dict[str, str], argv: list[str]) -> str:
    process = _start(running, environment, argv, output=subprocess.PIPE)
    assert process.stdout is not None
    running.callback(process.stdout.close)
    line = process.stdout.readline().strip()
    assert line, f"{argv[0]} did not start"
    return line


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _until(is_so: Callable[[], bool], failing: Callable[[], str]) -> None:
    ends_at = time.monotonic() + _PATIENCE
    while not is_so():
        assert time.monotonic() < ends_at, failing()
        time.sleep(0.05)
