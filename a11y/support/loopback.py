"""The door of an app on this machine, to which a browser comes back with the answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from urllib.parse import parse_qsl, urlsplit

import pytest

_PATIENCE = 15.0  # seconds; a browser is there at once


class Door:
    """Listens on a port of the loopback address and keeps what came to its callback."""

    def __init__(self) -> None:
        """Opens it."""
        self._came: SimpleQueue[dict[str, str]] = SimpleQueue()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def uri(self) -> str:
        """The redirect URI to register."""
        return f"http://127.0.0.1:{self._server.server_port}/callback"

    def wait(self) -> dict[str, str]:
        """What came, in order; fails when nothing does."""
        try:
            return self._came.get(timeout=_PATIENCE)
        except Empty:
            raise AssertionError("no browser came back to the app") from None

    def has_more(self) -> bool:
        """Says whether anything came that nobody has waited for."""
        return not self._came.empty()

    def close(self) -> None:
        """Shuts it."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        came = self._came

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                is_answer = parts.path == "/callback"
                body = b"<!doctype html><title>App</title><h1>Back in the app</h1>"
                self.send_response(200 if is_answer else 404)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                if is_answer:
                    came.put(dict(parse_qsl(parts.query)))

            def log_message(self, *_: object) -> None:
                """Says nothing: the test says what came."""

        return Handler


@pytest.fixture
def door() -> Iterator[Door]:
    """An app's open door."""
    made = Door()
    yield made
    made.close()
