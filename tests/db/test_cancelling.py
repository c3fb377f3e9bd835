"""A statement whose client has gone is cancelled; a cancel in doubt costs its connection."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from app.db.cancelling import cancelled_by
from app.db.database import Database
from app.domain.errors import Unavailable
from tests.support.make import Make


class Leaves:
    """A watcher whose client leaves once a fact is true, on a thread of its own as in real life."""

    def __init__(self, when: Callable[[], object] = lambda: True) -> None:
        self._when = when

    @contextlib.contextmanager
    def watching(self, cancel: Callable[[], None]) -> Iterator[None]:
        def leave() -> None:
            self._when()
            cancel()

        thread = threading.Thread(target=leave)
        thread.start()
        try:
            yield
        finally:
            thread.join(10)


def test_a_lock_wait_ends_and_the_connection_goes_on(
    db: Database, db_url: str, make: Make
) -> None:
    todo = make.todo(make.endpoint())
    backends: list[object] = []
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from todos where id = %s for update", (todo,))

        def wait_for_it() -> None:
            with db.transaction() as conn:
                backends.extend(conn.execute("select pg_backend_pid()").fetchone() or ())
                with cancelled_by(Leaves(make.wait_until_blocked), conn):
                    conn.execute("select 1 from todos where id = %s for update", (todo,))

        with pytest.raises(Unavailable) as refused:
            wait_for_it()

    assert isinstance(refused.value.__cause__, psycopg.errors.QueryCanceled)
    assert make.value("select state from pg_stat_activity where pid = %s", backends[0]) == "idle"


def test_without_a_watcher_nothing_is_asked(db: Database) -> None:
    with db.transaction() as conn, cancelled_by(None, conn):
        assert conn.execute("select 1").fetchone() == (1,)


def test_a_cancel_that_finds_nothing_running_does_no_harm(db: Database) -> None:
    with db.transaction() as conn:
        with cancelled_by(Leaves(), conn):
            pass
        assert conn.execute("select 1").fetchone() == (1,)


def test_a_cancel_in_doubt_closes_the_connection(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def times_out(_: object, *, timeout: float) -> None:
        assert timeout <= 5
        raise psycopg.errors.CancellationTimeout("no answer")

    monkeypatch.setattr(psycopg.Connection, "cancel_safe", times_out)

    def go_on() -> None:
        with db.transaction() as conn:
            with cancelled_by(Leaves(), conn):
                pass
            assert conn.closed
            conn.execute("select 1")

    with pytest.raises(Unavailable):
        go_on()
