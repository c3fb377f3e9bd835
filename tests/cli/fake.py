"""A tiny HTTP server that says what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from urllib.parse import parse_qsl, urlsplit

from app.domain.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: dict[str, Json]
    connection: tuple[str, int]

    @property
    def verb(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def key(self) -> str | None:
        """Its Idempotency-Key."""
        return self.headers.get("Idempotency-Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What to answer; `dropped` closes the connection after reading, as a crash would."""

    status: int = 200
    body: Json = None
    text: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    dropped: bool = False


DROPPED = Reply(dropped=True)


def ok(**body: Json) -> Reply:
    """200 with a JSON object."""
    return Reply(body=body)


def refused(status: int, code: str, sentence: str = "No.", **headers: str) -> Reply:
    """An error of the contract's shape."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status=status, body={"error": sentence, "code": code}, headers=named)


class FakeServer:
    """Answers `script(asked)`, or 404 when that is None; `asked` lists all requests so far.

    Doorbell streams are apart: `streams` counts how often one was asked for. Each is answered by
    `stream()`: a Reply, or a queue of lines to send until it holds None, which ends the stream.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.streams = 0
        self.stream: Callable[[], Reply | SimpleQueue[str | None]] = lambda: refused(404, "x")
        self.closing = threading.Event()
        self.script: Callable[[Asked], Reply | None] = lambda _: None
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except ConnectionError:
                    self.close_connection = True

            def _answer(self) -> None:
                _send(self, fake.given(_read(self)))

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                """A test's output is no place for an access log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def given(self, asked: Asked) -> Reply | SimpleQueue[str | None]:
        """What a request gets: a stream's lines, or what the script says."""
        if asked.path != "/agent/v1/stream":
            return self.replied(asked)
        self.streams += 1
        return self.stream()

    def replied(self, asked: Asked) -> Reply:
        """Remember a request and say what the script says."""
        self.asked.append(asked)
        return self.script(asked) or refused(404, "not_found", "Not found.")

    def verbs(self) -> list[str]:
        """The last parts of all paths asked so far."""
        return [one.verb for one in self.asked]

    def of(self, verb: str) -> list[Asked]:
        """The requests of one verb so far."""
        return [one for one in self.asked if one.verb == verb]

    def close(self) -> None:
        """Stop answering."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


def _send(handler: BaseHTTPRequestHandler, reply: Reply | SimpleQueue[str | None]) -> None:
    if isinstance(reply, SimpleQueue):
        _send_lines(handler, reply)
        return
    if reply.dropped:
        handler.close_connection = True
        return
    data = (json.dumps(reply.body) if reply.text is None else reply.text).encode()
    handler.send_response_only(reply.status)
    if "Date" not in reply.headers:
        handler.send_header("Date", handler.date_time_string())
    handler.send_header("Content-Length", str(len(data)))
    for name, value in reply.headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def _send_lines(handler: BaseHTTPRequestHandler, lines: SimpleQueue[str | None]) -> None:
    handler.close_connection = True
    handler.send_response_only(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Connection", "close")
    handler.end_headers()
    while (line := lines.get()) is not None:
        handler.wfile.write(f"{line}\n".encode())


def _read(handler: BaseHTTPRequestHandler) -> Asked:
    length = int(handler.headers.get("Content-Length") or 0)
    raw = handler.rfile.read(length)
    parts = urlsplit(handler.path)
    return Asked(
        method=handler.command, path=parts.path, query=dict(parse_qsl(parts.query)),
        headers=dict(handler.headers.items()),
        body=_parsed(raw, handler.headers.get("Content-Type", "")),
        connection=handler.client_address,
    )  # fmt: skip


def _parsed(raw: bytes, kind: str) -> dict[str, Json]:
    """The fields of a form, or the JSON object, whichever was sent."""
    if kind == "application/x-www-form-urlencoded":
        return {**dict(parse_qsl(raw.decode(), strict_parsing=True))}
    return json.loads(raw) if raw else {}
