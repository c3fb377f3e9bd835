"""One run of the worker's COMMAND: fed, heard within bounds, ended with its whole group."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO

OUTPUT_LIMIT = 256 * 1024
ERROR_LIMIT = 2048
KILL_SECONDS = 5.0  # from the polite signal to the one that cannot be refused
DRAIN_SECONDS = 1.0  # for output still in the pipes when COMMAND has ended
CHUNK = 65536


class CannotStart(Exception):
    """COMMAND is not there, or the system cannot run it."""


class Child:
    """A running COMMAND in its own process group, so that Ctrl-C in our terminal is ours to handle.

    `on_exit` is called, from another thread, once it has ended. Raises CannotStart.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], text: str,
        on_exit: Callable[[], None],
    ):  # fmt: skip
        try:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise CannotStart(f"{command[0]} cannot be started: {reason}") from error
        self.exit_code: int | None = None
        self._on_exit = on_exit
        self._output = _Head(OUTPUT_LIMIT)
        self._errors = _Tail(ERROR_LIMIT)
        self._ended = threading.Event()
        streams = (self._process.stdout, self._process.stderr)
        self._listeners = [
            _started(_drain, stream, sink)
            for stream, sink in zip(streams, (self._output, self._errors), strict=True)
        ]
        _started(_feed, self._process.stdin, text.encode())
        _started(self._await)

    @property
    def output(self) -> tuple[str, bool]:
        """What it wrote to stdout, at most 256 KiB, and whether there was more."""
        return self._output.kept.decode("utf-8", "replace"), self._output.is_cut

    @property
    def errors(self) -> str:
        """The last 2 KiB it wrote to stderr, whole characters only."""
        text = self._errors.kept.decode("utf-8", "replace").lstrip("\ufffd")
        while len(text.encode()) > ERROR_LIMIT:
            text = text[1:]
        return text

    def terminate(self) -> None:
        """End it and all it started: SIGTERM, and SIGKILL when that is not heeded within 5 s."""
        self._signal(signal.SIGTERM)
        if not self._ended.wait(KILL_SECONDS):
            self._signal(signal.SIGKILL)
            self._ended.wait(KILL_SECONDS)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _await(self) -> None:
        code = self._process.wait()
        ends_at = time.monotonic() + DRAIN_SECONDS
        for listener in self._listeners:
            listener.join(max(0.0, ends_at - time.monotonic()))
        self.exit_code = code
        self._ended.set()
        self._on_exit()


class _Head:
    """The first bytes of a stream."""

    def __init__(self, limit: int):
        self.kept = b""
        self.is_cut = False
        self._limit = limit

    def add(self, chunk: bytes) -> None:
        room = self._limit - len(self.kept)
        self.is_cut = self.is_cut or len(chunk) > room
        self.kept += chunk[:room]


class _Tail:
    """The last bytes of a stream."""

    def __init__(self, limit: int):
        self.kept = b""
        self._limit = limit

    def add(self, chunk: bytes) -> None:
        self.kept = (self.kept + chunk)[-self._limit :]


def _started(target: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with suppress(OSError), pipe:  # a command need not read what it is given
        pipe.write(data)


def _drain(pipe: IO[bytes], sink: _Head | _Tail) -> None:
    with pipe:
        while chunk := os.read(pipe.fileno(), CHUNK):
            sink.add(chunk)
