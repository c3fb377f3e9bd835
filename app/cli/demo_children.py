"""The processes of the demo: a server when none runs, and workers; none of them outlives it."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import NoReturn

from app.cli.client import Client, NoAnswer
from app.cli.host import Host
from app.cli.output import Failure

START_SECONDS = 120.0
STOP_SECONDS = 30.0
LOOK_SECONDS = 0.2
KEPT_LINES = 20


class Running:
    """One `switchboard WORDS` under way; `hear` gets every line it writes, in another thread."""

    def __init__(
        self, host: Host, words: Sequence[str], changed: Mapping[str, str],
        hear: Callable[[str], None],
    ):  # fmt: skip
        self._process = host.spawn([*words], changed)
        self._listener = threading.Thread(target=self._listen, args=(hear,), daemon=True)
        self._listener.start()

    def has_ended(self) -> bool:
        """Whether it is gone already."""
        return self._process.poll() is not None

    def ask_to_stop(self) -> None:
        """Tell it to end, without waiting. Once: a second time cuts a worker's grace short."""
        self._process.terminate()

    def finish(self) -> None:
        """Wait for its end and its last words, and kill it when it does not end."""
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(STOP_SECONDS)

    def _listen(self, hear: Callable[[str], None]) -> None:
        stream = self._process.stdout
        assert stream is not None  # spawn pipes it
        with stream:
            for line in stream:
                hear(line.decode("utf-8", "replace").rstrip("\n"))


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """Within the block SIGTERM ends us as Ctrl-C does: children first, then Postgres."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not tear the stop
    raise KeyboardInterrupt


@contextlib.contextmanager
def server(host: Host, token: str) -> Iterator[tuple[str, bool]]:
    """The URL of a server on this data, and whether it ran before; one that we start ends with the
    block. `token` is good on this data only, which is how a stranger's server is told apart. Raises
    Failure with its last words when it does not start."""
    found = _answers(host.local_url, token)
    if found:
        yield host.local_url, True
        return
    url, changed = host.local_url, {}
    if found is False:  # somebody else has our address
        port = _free_port()
        url = f"http://127.0.0.1:{port}"
        changed = {"SWITCHBOARD_ADDR": f"127.0.0.1:{port}", "SWITCHBOARD_BASE_URL": url}
    words: deque[str] = deque(maxlen=KEPT_LINES)
    running = Running(host, ["serve"], changed, words.append)
    try:
        _await(running, url, token, words)
        yield url, False
    finally:
        running.ask_to_stop()
        running.finish()


@contextlib.contextmanager
def workers(running: Sequence[Running]) -> Iterator[None]:
    """Ask all of them to stop after the block, then wait for each."""
    try:
        yield
    finally:
        for one in running:
            one.ask_to_stop()
        for one in running:
            one.finish()


def _await(running: Running, url: str, token: str, words: deque[str]) -> None:
    ends_at = time.monotonic() + START_SECONDS
    while not _answers(url, token):
        if running.has_ended() or time.monotonic() >= ends_at:
            said = "\n".join(words)
            raise Failure(f"The server for the demo did not start. Its last words: {said}")
        time.sleep(LOOK_SECONDS)


def _answers(url: str, token: str) -> bool | None:
    """Whether the server at `url` knows our token; None when nobody answers there."""
    client = Client(url, token)
    try:
        return client.call("GET", "/api/v1/me").status == 200
    except NoAnswer as silence:
        return None if "No server answers" in silence.sentence else False
    finally:
        client.close()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
