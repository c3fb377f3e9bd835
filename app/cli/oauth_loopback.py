"""The door a browser comes back to: one port of this machine, open for one answer (RFC 8252)."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from urllib.parse import parse_qsl, urlsplit

HOST = "127.0.0.1"
CALLBACK = "/callback"
_MOST_FIELDS = 20
_IDLE_SECONDS = 10.0  # browsers open connections ahead and say nothing on them

PAGE = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Switchboard</title>
<h1>Back to your terminal</h1>
<p>The answer has arrived there. You may close this window.</p>
</html>
"""


class Loopback:
    """Listens from the start; `wait` gives the parameters of the one answer that bears our state.
    """

    def __init__(self, state: str):
        self._state = state.encode()
        self._came: SimpleQueue[dict[str, str]] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_answered = False
        self._server = ThreadingHTTPServer((HOST, 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False  # a silent connection must not hold us back
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def authority(self) -> str:
        """Host and port, as a browser's Host header has them."""
        return f"{HOST}:{self._server.server_address[1]}"

    @property
    def redirect_uri(self) -> str:
        """Where the server is to send the browser."""
        return f"http://{self.authority}{CALLBACK}"

    def wait(self, seconds: float) -> dict[str, str] | None:
        """The parameters of the answer; None when none came in time."""
        try:
            return self._came.get(timeout=seconds)
        except Empty:
            return None

    def takes(self, target: str, host: str | None) -> dict[str, str] | None:
        """The parameters of a request when it is the answer that is waited for, and the first."""
        parts = urlsplit(target)
        if parts.path != CALLBACK or host != self.authority:
            return None
        try:
            pairs = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:  # too many
            return None
        given = dict(pairs)
        if len(given) < len(pairs):  # none may come twice (RFC 6749, 3.1)
            return None
        if not hmac.compare_digest(given.get("state", "").encode(), self._state):
            return None
        with self._lock:
            is_first, self._is_answered = not self._is_answered, True
        return given if is_first else None

    def hand_over(self, given: dict[str, str]) -> None:
        """End the wait; the browser has its page by then."""
        self._came.put(given)

    def close(self) -> None:
        """Give the port back."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def listening(state: str) -> Iterator[Loopback]:
    """A door that waits for the answer which bears `state`. Raises OSError when no port is free."""
    door = Loopback(state)
    try:
        yield door
    finally:
        door.close()


def _handler(door: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _IDLE_SECONDS
        server_version = "switchboard"
        sys_version = ""

        def do_GET(self) -> None:
            given = door.takes(self.path, self.headers.get("Host"))
            if given is None:
                self.send_error(404)
                return
            with suppress(ConnectionError):  # a browser that left has answered all the same
                _send_page(self)
            door.hand_over(given)

        def handle_one_request(self) -> None:
            with suppress(ConnectionError):
                super().handle_one_request()
                return
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """The path holds a code; a terminal is no place for it."""

    return Handler


def _send_page(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    for name, value in (
        ("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(PAGE))),
        ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
        ("Content-Security-Policy", "default-src 'none'"), ("Connection", "close"),
    ):  # fmt: skip
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(PAGE)
    handler.wfile.flush()
