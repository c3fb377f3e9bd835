"""Label values that stay few: the first 50 queue names of a server, and the sources we know."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from pathlib import Path

from app.domain.signatures import Source

MOST_QUEUES = 50
LONGEST_BYTES = 128
OTHER = "__other__"
SOURCES = frozenset({*Source, "operator", "dev"})


def source_label(source: str) -> str:
    """A source's label: a source type, `operator` or `dev`; anything else is `__other__`."""
    return source if source in SOURCES else OTHER


class QueueLabels:
    """The first 50 distinct queue names, for good; all later ones are `__other__`.

    With `path` they are shared by every process that names the same file, one JSON string a line,
    appended under a lock. A file that cannot be used gives `__other__` to whatever is new.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Reads nothing before the first name."""
        self._path = path
        self._lock = threading.Lock()
        self._names: frozenset[str] = frozenset()

    def label(self, name: str | None) -> str:
        """The label of a queue; None stands for a name that is no label for a reason of its own."""
        if name in self._names:
            return str(name)
        if name is None or not _may_be_label(name) or len(self._names) >= MOST_QUEUES:
            return OTHER
        with self._lock:
            self._names = self._admit(name)
        return name if name in self._names else OTHER

    def _admit(self, name: str) -> frozenset[str]:
        if self._path is None:
            full = len(self._names) >= MOST_QUEUES
            return self._names if full else self._names | {name}
        try:
            return _shared(self._path, name)
        except (OSError, ValueError):
            return self._names


def _may_be_label(name: str) -> bool:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return False
    return 0 < size <= LONGEST_BYTES and name != OTHER


def _shared(path: Path, name: str) -> frozenset[str]:
    """Add a name to the file when it is new and there is room; everything in the file then."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        whole, newline, _torn = file.read().rpartition(b"\n")
        names = [str(json.loads(line)) for line in whole.splitlines()]
        if name not in names and len(names) < MOST_QUEUES:
            # A process killed in the middle of its line left it torn: it is written over.
            file.seek(len(whole + newline))
            file.truncate()
            file.write(json.dumps(name).encode() + b"\n")
            file.flush()
            names.append(name)
    return frozenset(names)
