"""A connection whose other end answers nothing, though TCP believes it alive."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator

import psycopg
import pytest

from app.db import direct, listener, notifier
from app.db.changes import Change
from app.db.direct import bounded, dial
from tests.support.blackhole import Proxy, proxied
from tests.support.wait import wait_for


@pytest.fixture
def proxy(db_url: str) -> Iterator[Proxy]:
    with proxied(db_url) as made:
        yield made


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    assert listener.PING + direct.ANSWER_SECONDS < 60 - 5, "noticed within a minute"
    monkeypatch.setattr(listener, "PING", 0.2)
    monkeypatch.setattr(direct, "ANSWER_SECONDS", 1.5)


@pytest.mark.usefixtures("impatient")
def test_a_listener_whose_line_stands_still_connects_again_and_tells_everyone(
    proxy: Proxy, db_url: str
) -> None:
    heard: list[Change] = []
    hearer = listener.Listener(dial(proxy.url))
    hearer.subscribe(heard.append)
    hearer.start()
    try:
        assert hearer.is_listening(10)
        with psycopg.connect(db_url, autocommit=True) as conn:
            conn.execute("notify queue_changed, '{\"ready\":[1]}'")
            wait_for(lambda: frozenset({1}) in [change.ready for change in heard])
            proxy.stand_still()
            before = sum(change.everything for change in heard)
            conn.execute("notify queue_changed, '{\"ready\":[2]}'")
            wait_for(lambda: sum(change.everything for change in heard) > before, 20)
            conn.execute("notify queue_changed, '{\"ready\":[3]}'")
            wait_for(lambda: frozenset({3}) in [change.ready for change in heard])
    finally:
        hearer.stop()

    assert frozenset({2}) not in [change.ready for change in heard]  # a hint, and `everything` came


@pytest.mark.usefixtures("impatient")
def test_a_notice_that_went_nowhere_is_sent_again(proxy: Proxy, db_url: str) -> None:
    sender = notifier.Notifier(dial(proxy.url))
    sender.start()
    with contextlib.closing(psycopg.connect(db_url, autocommit=True)) as conn:
        conn.execute("listen queue_changed")
        sender.ready(1)
        assert [each.payload for each in conn.notifies(timeout=10, stop_after=1)]
        proxy.stand_still()
        sender.ready(2)
        told = next(conn.notifies(timeout=15, stop_after=1)).payload
    sender.stop()

    # A slow machine may not have heard in 0.5 s that the first went out: that one comes twice then.
    assert 2 in json.loads(told)["ready"]
    assert proxy.connections >= 2


def test_what_is_answered_in_time_is_left_alone(db_url: str) -> None:
    with dial(db_url)() as conn:
        with bounded(conn, 0.3):
            conn.execute("select 1")
        assert conn.execute("select pg_sleep(0.5)").fetchone()
        began = time.monotonic()
        with pytest.raises(psycopg.OperationalError), bounded(conn, 0.3):
            conn.execute("select pg_sleep(20)")
        assert time.monotonic() - began < 5
