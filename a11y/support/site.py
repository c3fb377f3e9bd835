"""The real application on a real socket, over this test's own database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from psycopg_pool import ConnectionPool
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from a11y.support.world import World, fill
from app import create_app
from app.db.database import Connection, Database
from app.db.listener import Listener
from app.domain.callers import Human
from app.edge import deps
from app.edge.deps import EdgeConfig
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.pg import database_over


@dataclass(frozen=True, slots=True)
class Site:
    """Where the site listens, and the person it knows."""

    url: str
    human: Human
    make: Make
    world: World

    def link(self) -> str:
        """The address of a fresh one-time sign-in link."""
        return f"{self.url}/auth/link/{self.make.login_link(self.human)}"

    def path_of(self, link: str) -> str:
        """An address of the site without the site."""
        return link.removeprefix(self.url)

    def facts(self) -> dict[str, object]:
        """A fingerprint of every table but those that signing in writes."""
        tables = self.make.rows("select tablename::text from pg_tables where schemaname = 'public'"
                                " and tablename not in ('sessions', 'login_links')")
        return {
            str(name): self.make.value(
                f"select md5(string_agg(t::text, ',' order by t::text)) from {name} t")
            for (name,) in tables
        }

    def session(self) -> str:
        """The cookie value of a browser that is signed in."""
        return self.make.session(self.human)


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: object) -> None:
        """Says nothing: the test says what was asked."""


@pytest.fixture
def site(db: Database, listener: Listener, make: Make, clock: Clock) -> Iterator[Site]:
    """A server whose person owns queues in every state, at a fixed moment (see world.py)."""
    ana = make.human("Ana")
    make.run("update humans set zone = 'Europe/Berlin' where id = %s", ana.id)
    world = fill(db, make, clock, ana)
    with serving(db, listener) as url:
        yield Site(url, ana, make, world)


@pytest.fixture
def down(listener: Listener) -> Iterator[str]:
    """The address of a server whose database is away."""
    pool: ConnectionPool[Connection] = ConnectionPool(open=False)
    with serving(database_over(pool), listener) as url:
        yield url


@contextmanager
def serving(db: Database, listener: Listener) -> Iterator[str]:
    """Serves the application until the block ends; its address."""
    server = make_server("127.0.0.1", 0, _not_yet, threaded=True, request_handler=_Quiet)
    url = f"http://127.0.0.1:{server.server_port}"
    config = EdgeConfig(base_url=url, is_loopback=True, dev_login=True)
    app = server.app = create_app(config, db, listener)
    with _running(server):
        yield url
        with app.app_context():
            deps.state().waiting.close()  # its streams end before the next test's begin


@contextmanager
def _running(server: BaseWSGIServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _not_yet(environ: dict[str, object], start: Callable[..., object]) -> list[bytes]:
    raise AssertionError("asked before the application stood")

