"""The system packages the tests need, in one list: name, what for, how to tell it is there.

Standard library only: it is read before anything is installed.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass


@dataclass(frozen=True)
class SystemPackage:
    """A Debian package; one of `programs` on the PATH proves that it, or its like, is there."""

    name: str
    purpose: str
    programs: tuple[str, ...]

    def is_here(self) -> bool:
        """Whether one of its programs is on the PATH."""
        return any(shutil.which(program) for program in self.programs)


PACKAGES = (
    SystemPackage(
        name="chromium",
        purpose="the pages are checked in a browser",
        programs=("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    ),
    SystemPackage(
        name="faketime",
        purpose="servers run on hosts whose clocks differ",
        programs=("faketime",),
    ),
)


def missing() -> list[str]:
    """The names of the packages that are not here."""
    return [package.name for package in PACKAGES if not package.is_here()]
