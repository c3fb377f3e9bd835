"""The data folder of one installation, and private files in it."""

from __future__ import annotations

import os
from pathlib import Path


def make_home(home: Path) -> None:
    """Make the home folder: others may pass through (the account must), but not list it."""
    if not home.exists():
        home.mkdir(parents=True, exist_ok=True)
        home.chmod(0o711)


def write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner may read; an old one of that name goes first."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
