"""HTTP to one server: JSON in and out, no redirect followed, no proxy, every failure a sentence."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Generator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3 import exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from app.cli.output import Answer
from app.domain.values import Json

CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
LINE_LIMIT = 64 * 1024  # a bell has a title of at most 500 characters
ANSWER_LIMIT = 64 * 1024 * 1024  # a todo carries at most a 5 MiB payload; this only ends nonsense

log = logging.getLogger("switchboard.cli")


class NoAnswer(Exception):
    """The server gave no usable answer; whether it acted on the request is not known."""

    def __init__(self, sentence: str, *, retry_after: float | None = None):
        self.sentence = sentence
        self.retry_after = retry_after
        super().__init__(sentence)


class Client:
    """One server and one bearer token; safe for several threads, and `abort` for any of them."""

    def __init__(self, url: str, token: str | None, *, connections: int = 1):
        parts = urlsplit(url)
        self.url = url
        self._path = parts.path.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "switchboard-cli"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        secure = parts.scheme == "https"
        pool = HTTPSConnectionPool if secure else HTTPConnectionPool
        self._pool = pool(
            parts.hostname or "", parts.port, maxsize=connections, retries=False
        )
        self._watched = _Watched()
        self._pool.ConnectionCls = self._watched.https if secure else self._watched.http

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Json] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_seconds: float = READ_SECONDS,
    ) -> Answer:
        """One request, never repeated. Raises NoAnswer when nothing usable comes back."""
        target = path + (f"?{urlencode(query)}" if query else "")
        sent = dict(self._headers, **(headers or {}))
        data = None
        if body is not None:
            sent["Content-Type"] = "application/json"
            data = encoded(body)
        return self._understood(*self._exchange(method, target, data, sent, read_seconds))

    def form(self, path: str, fields: Mapping[str, str]) -> Answer:
        """POST a form, as OAuth has it (RFC 6749); an empty answer is an object without keys.
        Raises NoAnswer when nothing usable comes back."""
        sent = {**self._headers, "Content-Type": "application/x-www-form-urlencoded"}
        data = urlencode(fields).encode()
        status, text, answered = self._exchange("POST", path, data, sent, READ_SECONDS)
        return self._understood(status, text if text.strip() else "{}", answered)

    def lines(self, path: str, read_seconds: float) -> Generator[str, None, None]:
        """The lines of an event stream, blank ones left out, until it ends; close() what is given.

        Raises NoAnswer when it is refused, lost, or silent for `read_seconds`.
        """
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds)
        sent = {**self._headers, "Accept": "text/event-stream"}
        try:
            response = self._pool.urlopen(
                "GET", self._path + path, headers=sent, timeout=timeout, retries=False,
                redirect=False, assert_same_host=False, preload_content=False,
            )  # fmt: skip
            try:
                yield from _streamed(response, self.url)
            finally:
                response.close()
        except (exceptions.HTTPError, OSError, ValueError) as error:
            raise NoAnswer(self._sentence(error, read_seconds)) from error

    def abort(self) -> None:
        """End every request under way at once; each raises NoAnswer in its own thread."""
        self._watched.shut()

    def close(self) -> None:
        """Close the idle connections."""
        self._pool.close()

    def _exchange(
        self, method: str, target: str, data: bytes | None, sent: dict[str, str], seconds: float
    ) -> tuple[int, str, Mapping[str, str]]:
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=seconds)
        started = time.monotonic()
        try:
            response = self._pool.urlopen(
                method, self._path + target, body=data, headers=sent, timeout=timeout,
                retries=False, redirect=False, assert_same_host=False, preload_content=False,
            )  # fmt: skip
            raw = response.read(ANSWER_LIMIT + 1)
            if len(raw) > ANSWER_LIMIT:
                response.close()
                raise NoAnswer(f"The answer of {self.url} is too large.")
            response.release_conn()
        except (exceptions.HTTPError, OSError, ValueError) as error:
            raise NoAnswer(self._sentence(error, seconds)) from error
        took = (time.monotonic() - started) * 1000
        log.debug("%s %s %s %.0f ms", method, target.partition("?")[0], response.status, took)
        return response.status, raw.decode("utf-8", "replace"), response.headers

    def _understood(self, status: int, text: str, headers: Mapping[str, str]) -> Answer:
        retry_after = _seconds(headers.get("Retry-After"))
        try:
            body: Json = json.loads(text)
        except (ValueError, RecursionError):  # a server may answer anything
            body = None
        if not isinstance(body, dict):
            sentence = f"{self.url} answered {status} without a JSON object; is it Switchboard?"
            raise NoAnswer(sentence, retry_after=retry_after)
        return Answer(
            status=status, text=text, body=body, retry_after=retry_after,
            at=_instant(headers.get("Date")),
        )  # fmt: skip

    def _sentence(self, error: Exception, seconds: float) -> str:
        match error:
            case exceptions.NameResolutionError():
                return f"The host of {self.url} is not known."
            case exceptions.SSLError():
                return f"No trusted connection to {self.url}: {error}"
            case exceptions.NewConnectionError() | exceptions.ConnectTimeoutError():
                return f"No server answers at {self.url}."
            case exceptions.ReadTimeoutError():
                return f"{self.url} did not answer within {seconds:.0f} s."
            case ValueError():
                return f"The request to {self.url} cannot be sent: {error}"
        return f"The connection to {self.url} was lost."


def encoded(body: Mapping[str, Json]) -> bytes:
    """The bytes that `call` sends for a body, for whoever must sign them."""
    return json.dumps(dict(body), allow_nan=False).encode()


def _streamed(response: urllib3.BaseHTTPResponse, url: str) -> Generator[str, None, None]:
    if response.status != 200 or "event-stream" not in response.headers.get("Content-Type", ""):
        raise NoAnswer(
            f"{url} answered {response.status} without a stream.",
            retry_after=_seconds(response.headers.get("Retry-After")),
        )
    rest = b""
    for piece in response.stream(1):  # whatever is there: more would wait for more
        rest += piece
        if len(rest) > LINE_LIMIT:
            raise NoAnswer(f"A line of {url} is too long.")
        *whole, rest = rest.split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in whole if line.strip())


class _Watched:
    """Connection classes that remember their sockets, so that another thread can end a wait."""

    def __init__(self) -> None:
        sockets: set[socket.socket] = set()
        self._sockets = sockets

        class Plain(HTTPConnection):
            def connect(self) -> None:
                super().connect()
                _remember(sockets, self.sock)

        class Secure(HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                _remember(sockets, self.sock)

        self.http = Plain
        self.https = Secure

    def shut(self) -> None:
        """Shut both directions of every socket still open; a socket gone meanwhile is no matter."""
        for one in tuple(self._sockets):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                log.debug("a connection was closed already")


def _remember(sockets: set[socket.socket], opened: socket.socket) -> None:
    for gone in [one for one in tuple(sockets) if one.fileno() < 0]:
        sockets.discard(gone)
    sockets.add(opened)


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isascii() and header.isdigit() else None


def _instant(header: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(header or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
