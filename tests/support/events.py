"""A raw client of server-sent events: what a browser would be told, frame by frame."""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from urllib.parse import urlsplit

COOKIE = "sb_session"


@dataclass(frozen=True, slots=True)
class Frame:
    """One block of a stream: its event (empty without one), its data, its retry, its comment."""

    event: str = ""
    data: str = ""
    retry: int | None = None
    comment: str | None = None


class Ended(AssertionError):
    """The stream came to its end, or nothing came in time."""


class Events:
    """An open stream; use it as a context manager. Frames are read only when asked for."""

    def __init__(self, url: str, session: str | None, query: str = "") -> None:
        """Asks for /events of the server at `url` with a session's cookie, and reads its head."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
        cookies = {} if session is None else {"Cookie": f"{COOKIE}={session}"}
        self._connection.request("GET", f"/events{query}", headers=cookies)
        # Kept: http.client lets go of the socket of an answer that closes the connection.
        self._socket = self._connection.sock
        self.answer = self._connection.getresponse()
        self.seen: list[Frame] = []

    def next(self, timeout: float = 10.0) -> Frame:
        """The next frame; Ended when the stream ends or is silent for `timeout` seconds."""
        lines: list[str] = []
        ends_at = time.monotonic() + timeout
        while True:
            self._socket.settimeout(max(ends_at - time.monotonic(), 0.001))
            try:
                line = self.answer.readline()
            except (TimeoutError, OSError, http.client.HTTPException) as silence:
                raise Ended(f"no frame within {timeout} s: {silence!r}") from silence
            if not line:
                raise Ended("the stream is over")
            if line != b"\n":
                lines.append(line.decode().rstrip("\n"))
            elif lines:
                self.seen.append(_frame(lines))
                return self.seen[-1]

    def until(self, fact: Callable[[Frame], object], timeout: float = 10.0) -> Frame:
        """The first frame from here on of which `fact` is true."""
        ends_at = time.monotonic() + timeout
        while True:
            frame = self.next(max(ends_at - time.monotonic(), 0.001))
            if fact(frame):
                return frame

    def named(self, event: str, *words: str, timeout: float = 10.0) -> Frame:
        """The next event of a name whose data has all of these words."""
        return self.until(
            lambda frame: frame.event == event and all(word in frame.data for word in words),
            timeout)

    def rest(self, timeout: float = 10.0) -> list[Frame]:
        """Every frame until the stream ends; an AssertionError when it does not."""
        ends_at = time.monotonic() + timeout
        found: list[Frame] = []
        while time.monotonic() < ends_at:
            try:
                found.append(self.next(max(ends_at - time.monotonic(), 0.001)))
            except Ended as end:
                if "over" in str(end):
                    return found
        raise AssertionError(f"the stream did not end within {timeout} s")

    def quiet(self, seconds: float) -> list[Frame]:
        """The events of the next `seconds`, comments left out."""
        ends_at = time.monotonic() + seconds
        found: list[Frame] = []
        while (left := ends_at - time.monotonic()) > 0:
            try:
                found.append(self.next(left))
            except Ended:
                break
        return [frame for frame in found if frame.event]

    def cut(self) -> None:
        """Ends the connection under whoever reads from it, in another thread too."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hangs up."""
        with contextlib.suppress(OSError):  # the server was first
            self.cut()
        self.answer.close()
        self._connection.close()

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _frame(lines: list[str]) -> Frame:
    said: dict[str, list[str]] = {}
    for line in lines:
        name, _, text = line.partition(":")
        said.setdefault(name, []).append(text.removeprefix(" "))
    return Frame(
        event=said.get("event", [""])[-1],
        data="\n".join(said.get("data", [])),
        retry=int(said["retry"][-1]) if "retry" in said else None,
        comment="\n".join(said[""]) if "" in said else None,
    )
