"""An agent that listens: one doorbell stream, read in a thread, with what rang and when."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import urllib3

from tests.support.wait import wait_for


@dataclass(frozen=True, slots=True)
class Heard:
    """One bell: its map, its line, and when it came by this host's monotonic clock."""

    meta: dict[str, str]
    content: str
    at: float


class Ears:
    """A stream that is open; `bells` is what rang since."""

    def __init__(self, url: str, credential: str) -> None:
        """Opens the stream and waits for its first line; AssertionError with another status."""
        self.bells: list[Heard] = []
        self.lines: list[str] = []
        self.has_ended = threading.Event()
        self._pool = urllib3.PoolManager(retries=False)
        self._answer = self._pool.request(
            "GET", f"{url}/agent/v1/stream", preload_content=False,
            headers={"Authorization": f"Bearer {credential}"},
            timeout=urllib3.Timeout(connect=5, read=60),
        )
        assert self._answer.status == 200, self._answer.read()[:300]
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        wait_for(lambda: self.lines, what="the first line of a stream")

    @property
    def todo_ids(self) -> list[str]:
        """The todos that rang, in order; digests are left out."""
        return [bell.meta["todo_id"] for bell in self.bells if "todo_id" in bell.meta]

    def close(self) -> None:
        """Leaves without a word, as a client that is gone does."""
        sock = getattr(self._answer.connection, "sock", None)
        if isinstance(sock, socket.socket):
            with contextlib.suppress(OSError):  # the server was first
                sock.shutdown(socket.SHUT_RDWR)
        self._answer.close()
        self._thread.join(5)

    def _listen(self) -> None:
        event = ""
        try:
            for chunk in _lines(self._answer):
                self.lines.append(chunk)
                name, _, text = chunk.partition(": ")
                if name == "event":
                    event = text
                elif name == "data":
                    assert event == "doorbell", chunk
                    told = json.loads(text)
                    self.bells.append(Heard(told["meta"], told["content"], time.monotonic()))
        except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError):
            pass  # closed, by either side
        finally:
            self.has_ended.set()


@contextmanager
def listening(url: str, credential: str) -> Iterator[Ears]:
    """An open stream for the length of a block."""
    ears = Ears(url, credential)
    try:
        yield ears
    finally:
        ears.close()


def host_of(url: str) -> tuple[str, int]:
    """Where a server listens, for raw sockets."""
    parts = urlsplit(url)
    return str(parts.hostname), int(parts.port or 80)


def _lines(answer: urllib3.BaseHTTPResponse) -> Iterator[str]:
    rest = b""
    for chunk in answer.stream(1):
        rest += chunk
        while b"\n" in rest:
            line, _, rest = rest.partition(b"\n")
            if line:
                yield line.decode()
