"""What can be seen of a Postgres server from outside: its pid file, its socket, its answer."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psycopg


def pidfile(data_dir: Path) -> list[str]:
    """The lines of postmaster.pid: process id, folder, start, port, socket folder; [] if none."""
    try:
        return (data_dir / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []


def lives(pid: str) -> bool:
    """Whether a process of that id exists, ours or not."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def listens(path: Path) -> bool:
    """Whether somebody accepts connections on that Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def answers(dsn: str) -> bool:
    """Whether a session can be opened there."""
    try:
        psycopg.connect(dsn, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True
