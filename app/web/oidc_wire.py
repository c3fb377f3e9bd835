"""Requests to the sign-in provider: bounded in number, time and size; no redirect, no proxy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import BoundedSemaphore
from urllib.parse import urlencode

import urllib3
from authlib.oauth2.auth import ClientAuth

from app.domain import strictjson
from app.domain.errors import InvalidArgument
from app.domain.values import Json

AT_ONCE = 8
SEAT_SECONDS = 2.0
CONNECT_SECONDS = 3.0
SILENCE_SECONDS = 5.0
TOTAL_SECONDS = 10.0
LARGEST_BYTES = 256 * 1024

_PIECE = 16 * 1024


class ProviderFailed(Exception):
    """The provider gave no usable answer (502); the message is a reason for the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer, in the shape Authlib's client reads."""

    status_code: int
    body: bytes

    def json(self) -> dict[str, Json]:
        """The body as a JSON object. Raises ValueError."""
        try:
            return strictjson.parse_object(self.body)
        except InvalidArgument as error:
            raise ValueError(error.sentence) from None

    def raise_for_status(self) -> None:
        """Raise ProviderFailed for what is not a success."""
        if not 200 <= self.status_code < 300:
            raise ProviderFailed(f"status {self.status_code}")


class Wire:
    """The way to one provider, shared by a process's requests; opens nothing until used."""

    def __init__(self) -> None:
        self._pool = urllib3.PoolManager(num_pools=4, maxsize=2, retries=False)
        self._seats = BoundedSemaphore(AT_ONCE)

    def get_object(self, url: str) -> dict[str, Json]:
        """The JSON object at a URL. Raises ProviderFailed."""
        reply = self._send("GET", url, {"Accept": "application/json"}, None)
        reply.raise_for_status()
        try:
            return reply.json()
        except ValueError:
            raise ProviderFailed("not a JSON object") from None

    def post(
        self, url: str, *, data: Mapping[str, str], headers: Mapping[str, str], auth: ClientAuth
    ) -> Reply:
        """Post a form that `auth` signs, as Authlib's client asks its session to."""
        body = urlencode(data)
        # Authlib's defaults are one shared dict, and signing writes into it: sign a copy.
        signed_url, signed, signed_body = auth.prepare("POST", url, dict(headers), body)
        return self._send("POST", signed_url, signed, signed_body)

    def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None
    ) -> Reply:
        if not self._seats.acquire(timeout=SEAT_SECONDS):
            raise ProviderFailed("too many requests to it at once")
        try:
            return self._exchange(method, url, headers, body)
        except (urllib3.exceptions.HTTPError, OSError) as lost:
            raise ProviderFailed(type(lost).__name__) from lost
        finally:
            self._seats.release()

    def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None
    ) -> Reply:
        deadline = time.monotonic() + TOTAL_SECONDS
        answer = self._pool.urlopen(
            method,
            url,
            body=body,
            headers=dict(headers),
            redirect=False,
            retries=False,
            preload_content=False,
            decode_content=False,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=SILENCE_SECONDS),
        )
        try:
            return Reply(status_code=answer.status, body=_read(answer, deadline))
        finally:
            answer.close()


def _read(answer: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
    body = b""
    while piece := answer.read1(_PIECE, decode_content=False):
        body += piece
        if len(body) > LARGEST_BYTES:
            raise ProviderFailed("the answer is too large")
        if time.monotonic() > deadline:
            raise ProviderFailed("the answer took too long")
    return body
