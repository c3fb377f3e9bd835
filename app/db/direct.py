"""Connections of a thread's own, direct to Postgres: for LISTEN, NOTIFY and the jobs leader."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import psycopg

Connect = Callable[[], psycopg.Connection]
"""Opens one autocommit connection, or raises psycopg.Error."""


def dial(url: str, *, server_keepalives: bool = False) -> Connect:
    """Return a function that opens an autocommit connection which notices a lost host in 25 s.

    `url` must reach Postgres past any transaction pooler (SWITCHBOARD_DATABASE_DIRECT_URL). With
    `server_keepalives` the server notices a lost client as fast, and so frees its advisory locks.
    """
    options = (
        "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
        if server_keepalives
        else None
    )

    def connect() -> psycopg.Connection:
        return psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=5,
            keepalives=1,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            prepare_threshold=None,
            options=options,
        )

    return connect


def waits(first: float, longest: float) -> Iterator[float]:
    """Yield seconds to wait before each next try: doubling from `first` to `longest`, jittered."""
    wait = first
    while True:
        yield wait * random.uniform(0.8, 1.2)
        wait = min(wait * 2, longest)
