"""Has the client gone? A last look at its socket, before work is committed for nobody (R12)."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Mapping

from flask import request

_UNHEARD_MS = 30_000
_SOCKETS = ("gunicorn.socket", "werkzeug.socket")
# Linux tells a closed far end apart from waiting bytes; elsewhere the peek alone must do.
_CLOSED = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)


def is_gone() -> bool:
    """Say whether the client of this request has closed its end; False where no server tells.

    Needs a request context; never blocks, consumes nothing and never raises for a broken socket.
    """
    return is_closed(socket_of(request.environ))


def bound_sends(environ: Mapping[str, object], seconds: float = 3.0) -> None:
    """Let no send of this request's answer wait longer for a client that reads no more.

    A stream's thread would otherwise outlive its process's end (dependencies.md 2.2). A client
    whose host is gone acknowledges nothing: its connection ends after half a minute, where the
    system can do that, so that its thread and its place do not wait a quarter of an hour.
    """
    connection = socket_of(environ)
    if connection is None:
        return
    connection.settimeout(seconds)
    if hasattr(socket, "TCP_USER_TIMEOUT") and connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNHEARD_MS)


def watcher(environ: Mapping[str, object]) -> Callable[[], bool]:
    """Return is_gone for the request of this WSGI environ, to be asked outside its context."""
    connection = socket_of(environ)
    return lambda: is_closed(connection)


def is_closed(connection: socket.socket | None) -> bool:
    """Say whether the far end of a socket has closed it. Waiting bytes alone never read as gone."""
    if connection is None:
        return False
    if connection.fileno() < 0:
        return True
    look = select.poll()
    look.register(connection.fileno(), select.POLLIN | _CLOSED)
    events = look.poll(0)
    if not events:
        return False
    if events[0][1] & _CLOSED:
        return True
    return _peek(connection) == b""


def _peek(connection: socket.socket) -> bytes | None:
    """Look at the next raw byte without taking it; None when there is none yet.

    The plain socket's recv, as a TLS socket refuses flags; under TLS the raw byte does as well.
    """
    try:
        return socket.socket.recv(connection, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""


def socket_of(environ: Mapping[str, object]) -> socket.socket | None:
    """The client's connection, None under a server that does not show it."""
    found = next((environ[name] for name in _SOCKETS if name in environ), None)
    return found if isinstance(found, socket.socket) else None
