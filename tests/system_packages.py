"""The system packages the tests need, in one list: name, what for, how to tell it is there.

Standard library only: it is read before anything is installed.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class SystemPackage:
    """A Debian package; one of `programs` on the PATH (or at its place) proves that it is there.

    `group` is what needs it: "pages" (a browser), "tests" (all of them), "soak" or "reader".
    """

    name: str
    purpose: str
    programs: tuple[str, ...]
    group: str = "tests"

    def is_here(self) -> bool:
        """Whether one of its programs is there."""
        return any(shutil.which(program) for program in self.programs)


PACKAGES = (
    SystemPackage(
        name="chromium",
        purpose="the pages are checked in a browser",
        programs=("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
        group="pages",
    ),
    SystemPackage(
        name="faketime",
        purpose="servers run on hosts whose clocks differ",
        programs=("faketime",),
    ),
    SystemPackage(
        name="prometheus",
        purpose="its promtool checks the metrics page, the alert rules and their tests",
        programs=("promtool",),
    ),
    SystemPackage(
        name="pgbouncer",
        purpose="the tests run through a transaction pooler",
        programs=("pgbouncer", "/usr/sbin/pgbouncer"),
        group="soak",
    ),
    SystemPackage(
        name="orca",
        purpose="the screen reader whose words are checked",
        programs=("orca",),
        group="reader",
    ),
    SystemPackage(
        name="xvfb",
        purpose="a display without a screen",
        programs=("Xvfb",),
        group="reader",
    ),
    SystemPackage(
        name="openbox",
        purpose="a window manager, so that the browser's window has the focus",
        programs=("openbox",),
        group="reader",
    ),
    SystemPackage(
        name="dbus-daemon",
        purpose="a private bus between browser and screen reader",
        programs=("dbus-daemon",),
        group="reader",
    ),
    SystemPackage(
        name="at-spi2-core",
        purpose="carries the pages' accessibility tree to the screen reader",
        programs=("/usr/libexec/at-spi-bus-launcher",),
        group="reader",
    ),
)


def missing(groups: Collection[str] = ("pages", "tests")) -> list[str]:
    """The names of the packages of these groups that are not here."""
    return [package.name for package in PACKAGES
            if package.group in groups and not package.is_here()]
