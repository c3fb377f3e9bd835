"""The directory in which the processes of one server count together, and how each joins in."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.edge import metrics
from app.edge.metrics import VARIABLE, Metrics


@contextlib.contextmanager
def directory() -> Iterator[Path]:
    """A fresh directory for one server, gone after the block: a start begins at zero.

    The lock keeps those away who tidy up folders for temporary files by age.
    """
    folder = Path(tempfile.mkdtemp(prefix="switchboard-metrics-"))
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def join(environment: Mapping[str, str], prefix: str) -> Metrics:
    """The metrics of this process, in a slot of that prefix when its server named a directory."""
    folder = environment.get(VARIABLE)
    return metrics.join(Path(folder), prefix) if folder else Metrics()
