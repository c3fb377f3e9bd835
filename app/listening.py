"""The listening socket, bound before anything else starts, and whether wake-ups arrive."""

from __future__ import annotations

import errno
import secrets
import socket

import psycopg

from app.db.direct import dial

_BACKLOG = 2048
_WAKE_SECONDS = 3.0


class StartError(Exception):
    """The server cannot start; the message is a sentence for the person who started it."""


def bind(host: str, port: int) -> socket.socket:
    """Listen on host and port. StartError says why not.

    The supervisor keeps it, so that clients wait instead of being refused while web processes
    start or are replaced.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as unknown:
        raise StartError(f"SWITCHBOARD_ADDR names {host}, which is no address here.") from unknown
    listening = socket.socket(family, kind)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as refused:
        listening.close()
        raise StartError(_why_not(refused, host, port)) from refused
    return listening


def wake_ups_arrive(direct_url: str) -> bool:
    """Whether a NOTIFY of one connection reaches the LISTEN of another, as no pooler lets it."""
    channel = f"probe_{secrets.token_hex(8)}"
    connect = dial(direct_url)
    with connect() as ear, connect() as mouth:
        ear.execute(psycopg.sql.SQL("listen {}").format(psycopg.sql.Identifier(channel)))
        mouth.execute("select pg_notify(%s, '')", (channel,))
        return any(True for _ in ear.notifies(timeout=_WAKE_SECONDS, stop_after=1))


def _why_not(refused: OSError, host: str, port: int) -> str:
    where = f"{host}:{port}"
    if refused.errno == errno.EADDRINUSE:
        return f"{where} is in use, by another server or program. Stop it, or set SWITCHBOARD_ADDR."
    if refused.errno == errno.EACCES:
        return f"This account may not listen on {where}. Set SWITCHBOARD_ADDR to another port."
    return f"Cannot listen on {where}: {refused.strerror}. Set SWITCHBOARD_ADDR."
