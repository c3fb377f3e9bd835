"""One attempt to call a hook: judged addresses only, no redirect, no proxy, five seconds in all."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from app.db import resolving
from app.db.resolving import AddressRefused, NotResolved
from app.domain.errors import InvalidArgument
from app.domain.hook_urls import HookUrl, parse_hook_url
from app.domain.hooks import (
    LARGEST_ANSWER_BYTES,
    SECONDS_PER_ATTEMPT,
    Failure,
    HookRules,
    Verdict,
    of_status,
)

# Not a certificate that does not fit: the other side went away while greeting.
_LOST_IN_TLS = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
_LATE = (TimeoutError, urllib3.exceptions.TimeoutError)
_BROKEN = (OSError, urllib3.exceptions.HTTPError, http.client.HTTPException, ValueError)


class Dialer:
    """Posts to hooks. Whom this machine trusts is read once; safe to share among threads."""

    def __init__(self, rules: HookRules, *, seconds: float = SECONDS_PER_ATTEMPT) -> None:
        """Reads the certificates that this machine trusts (SSL_CERT_FILE counts)."""
        self._rules = rules
        self._seconds = seconds
        self._trust = ssl.create_default_context()

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Verdict:
        """Make one attempt and say how it ended; never raises.

        The URL and every address of its host are judged again, and one of these addresses is
        dialled: what the name meant at creation, or means a moment later, counts for nothing.
        """
        ends_at = time.monotonic() + self._seconds
        try:
            parsed = parse_hook_url(url, allows_http=self._rules.allows_http)
            addresses = resolving.judged(
                parsed, self._rules.addresses, seconds=self._seconds
            )
        except (InvalidArgument, AddressRefused):
            return Verdict(failure=Failure.REJECTED_SSRF)
        except NotResolved as unknown:
            return Verdict(failure=Failure.TIMEOUT if unknown.is_late else Failure.NETWORK)
        try:
            return self._exchange(parsed, addresses, headers, body, ends_at)
        except urllib3.exceptions.NewConnectionError:  # urllib3 counts it among time-outs
            return Verdict(failure=Failure.NETWORK)
        except _LATE:
            return Verdict(failure=Failure.TIMEOUT)
        except _LOST_IN_TLS:
            return Verdict(failure=_in_time(ends_at))
        except ssl.SSLError:
            return Verdict(failure=Failure.TLS)
        except _BROKEN:
            return Verdict(failure=_in_time(ends_at))

    def _exchange(
        self,
        url: HookUrl,
        addresses: tuple[str, ...],
        headers: Mapping[str, str],
        body: bytes,
        ends_at: float,
    ) -> Verdict:
        with (
            contextlib.closing(self._connect(url, addresses, ends_at)) as connection,
            _cut_off(connection, ends_at),
        ):
            connection.request(
                "POST",
                url.target,
                body=body,
                headers={"Host": url.authority, "Connection": "close", **headers},
                preload_content=False,
                decode_content=False,
                enforce_content_length=False,
            )
            with contextlib.closing(connection.getresponse()) as answer:
                if time.monotonic() >= ends_at:
                    raise TimeoutError  # cut off among the headers, which then seem to end
                # Decided by the status; the rest is read to part politely, and may fail.
                with contextlib.suppress(*_LATE, *_BROKEN):
                    answer.read(LARGEST_ANSWER_BYTES, decode_content=False)
                return of_status(answer.status)

    def _connect(
        self, url: HookUrl, addresses: tuple[str, ...], ends_at: float
    ) -> HTTPConnection:
        """The first of the judged addresses that takes a connection; each gets its share of time.

        Raises what the last one raised. A certificate that does not fit ends it at once.
        """
        for number, address in enumerate(addresses):
            left = max(ends_at - time.monotonic(), 0.01)
            connection = self._connection(url, address, left / (len(addresses) - number))
            try:
                connection.connect()
            except ssl.SSLCertVerificationError:
                connection.close()
                raise
            except (*_LATE, *_BROKEN):
                connection.close()
                if number == len(addresses) - 1:
                    raise
            else:
                return connection
        raise OSError("no address to dial")

    def _connection(self, url: HookUrl, address: str, seconds: float) -> HTTPConnection:
        if url.scheme == "http":
            return HTTPConnection(address, url.port, timeout=seconds)
        return HTTPSConnection(
            address,
            url.port,
            timeout=seconds,
            ssl_context=self._trust,
            server_hostname=url.host,
        )


@contextlib.contextmanager
def _cut_off(connection: HTTPConnection, ends_at: float) -> Iterator[None]:
    """End the connection when the time is over: a time limit per read is none for a trickle."""
    held = connection.sock
    left = max(ends_at - time.monotonic(), 0.01)

    def cut() -> None:
        if held is not None:
            with contextlib.suppress(OSError):
                # Past TLS, whose own would make the reader take what is left for plain text.
                socket.socket.shutdown(held, socket.SHUT_RDWR)

    if held is not None:
        held.settimeout(left)
    timer = threading.Timer(left, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _in_time(ends_at: float) -> Failure:
    """What a broken connection is called: cut off by the clock, or lost."""
    return Failure.TIMEOUT if time.monotonic() >= ends_at else Failure.NETWORK
