"""Where a dump goes: standard output, a pipe or a device, or a file that is there whole or not."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from app.cli.output import Failure

STDIO = "-"
_MOST_LINKS = 40  # as many as Linux follows
_KERNEL = (Path("/dev/fd"), Path("/proc"))


def is_stdout(file: str) -> bool:
    """Whether `file` means our standard output: `-`, or another name of it (/dev/stdout)."""
    if file == STDIO:
        return True
    try:
        return os.path.samestat(os.stat(file), os.fstat(sys.stdout.fileno()))
    except OSError:  # it is not there yet, or there is no standard output
        return False


@contextlib.contextmanager
def written(file: str) -> Iterator[IO[bytes]]:
    """A binary stream into `file`. Raises Failure, a sentence, when it cannot be written.

    A regular file is readable by us alone, and is there whole or not at all; a symbolic link to
    one stays a link.
    """
    if is_stdout(file):
        place, way = "Standard output", _standard_output()
    else:
        place, way = file, _stream(file) if _is_stream(Path(file)) else _whole(file)
    try:
        with way as out:
            yield out
    except BrokenPipeError:  # whoever read it has enough
        raise
    except OSError as wrong:
        if place != file:
            stop_writing()
        raise Failure(f"{place} cannot be written: {wrong.strerror}.") from wrong


def stop_writing() -> None:
    """Standard output takes no more: send the rest nowhere, so that exiting stays quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextlib.contextmanager
def _stream(file: str) -> Iterator[IO[bytes]]:
    """What is there already and is written as it is: nothing is made, nor renamed over it."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(descriptor, "wb") as out:
        yield out


@contextlib.contextmanager
def _whole(file: str) -> Iterator[IO[bytes]]:
    """A new file beside the one meant, which takes its place at the end.

    Its name cannot be guessed and it is never one that was there: nobody else can have made it, or
    have laid a link in its place.
    """
    path = Path(os.path.realpath(file))
    descriptor, half = tempfile.mkstemp(prefix=".switchboard-dump-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.rename(half, path)
    except BaseException:
        os.unlink(half)
        raise


def _is_stream(path: Path) -> bool:
    """A pipe, a device, a folder (which refuses), or an open file that the kernel gives a name."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            return True
    for _ in range(_MOST_LINKS):
        path = Path(os.path.realpath(path.parent)) / path.name
        if any(path.is_relative_to(folder) for folder in _KERNEL):
            return True
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return False
