"""A place for each process's counters: the next process in it goes on counting where it stood."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SUFFIX = ".slot"
_BORN = 19  # /proc/PID/stat behind the name: when the process started, in ticks since boot


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A slot that this process holds until it ends: the lock goes with the open file."""

    name: str
    descriptor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A living process and the slot it holds."""

    slot: str
    pid: int


def take(folder: Path, prefix: str) -> Slot:
    """The lowest slot of that prefix that no living process holds: `w0`, `w1` and so on.

    The kernel frees a slot the moment its process dies, however it dies, so that workers which
    outlive their master never share one with the workers of the next.
    """
    for number in itertools.count():
        name = f"{prefix}{number}"
        path = folder / (name + _SUFFIX)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()} {_born(os.getpid())}".encode())
        return Slot(name=name, descriptor=descriptor)
    raise AssertionError("a count without end has ended")


def holders(folder: Path) -> Iterator[Holder]:
    """The processes that hold slots now, in the order of their names."""
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        with contextlib.suppress(OSError, ValueError):
            pid, born = path.read_text().split()
            # A dead holder's number may be another program's by now.
            if born == _born(int(pid)):
                yield Holder(slot=path.stem, pid=int(pid))


def _born(pid: int) -> str:
    """What tells a process from a later one of the same number; nothing where there is no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return "unknown"
    return stat.rpartition(b")")[2].split()[_BORN].decode()
