"""The directory in which the processes of one server count together, and how each joins in."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.edge import metrics
from app.edge.metrics import VARIABLE, Metrics

_PREFIX = "switchboard-metrics-"
_YOUNG = 60.0  # seconds: a directory may just have been made and not be locked yet


@contextlib.contextmanager
def directory() -> Iterator[Path]:
    """A fresh directory for one server, gone after the block: a start begins at zero.

    The lock says that the server lives, to us and to those who tidy up temporary files by age.
    """
    _remove_left_behind(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    with _locked(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def join(environment: Mapping[str, str], prefix: str) -> Metrics:
    """The metrics of this process, in a slot of that prefix when its server named a directory."""
    folder = environment.get(VARIABLE)
    return metrics.join(Path(folder), prefix) if folder else Metrics()


def _remove_left_behind(where: Path) -> None:
    """Remove what servers of ours that were killed have left."""
    for folder in where.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            facts = folder.lstat()
            if facts.st_uid == os.geteuid() and facts.st_mtime < time.time() - _YOUNG:
                with _locked(folder):
                    shutil.rmtree(folder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a directory; BlockingIOError, an OSError, when somebody does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
