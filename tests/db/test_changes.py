"""What processes tell each other after a commit, over a real Postgres."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
import pytest

from app.db.changes import PAYLOAD_LIMIT, Change, Noted, pack, parse
from app.db.direct import dial
from app.db.listener import Listener
from app.db.notifier import Notifier
from tests.support.pg import Fresh
from tests.support.wait import wait_for


class Heard(list[Change]):
    """Changes in the order they came."""

    def queues(self) -> set[int]:
        return {queue_id for change in self for queue_id in change.changed}


@contextmanager
def hearing(url: str) -> Iterator[tuple[Listener, Heard]]:
    heard = Heard()
    listener = Listener(dial(url))
    listener.subscribe(heard.append)
    listener.start()
    try:
        assert listener.is_listening(10)
        wait_for(lambda: heard, what="the first everything")
        heard.clear()
        yield listener, heard
    finally:
        listener.stop()


@contextmanager
def notifying(connect: Callable[[], psycopg.Connection]) -> Iterator[Notifier]:
    notifier = Notifier(connect)
    notifier.start()
    try:
        yield notifier
    finally:
        notifier.stop()


def notify(url: str, payload: str) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("select pg_notify('queue_changed', %s)", (payload,))


def test_a_payload_says_what_was_noted() -> None:
    endpoint = uuid4()
    noted: list[Noted] = [
        ("ready", 3), ("changed", 1), ("changed", 2), ("reopened", 9), ("endpoints", endpoint)
    ]

    payload, carried = pack(noted)

    assert payload == f'{{"changed":[1,2],"ready":[3],"reopened":[9],"endpoints":["{endpoint}"]}}'
    assert carried == noted
    assert parse(payload) == Change(
        changed=frozenset({1, 2}), ready=frozenset({3}), reopened=frozenset({9}),
        endpoints=frozenset({endpoint}),
    )


def test_a_payload_stays_below_the_limit_and_the_oldest_go_first() -> None:
    noted: list[Noted] = [("changed", 10**12 + number) for number in range(2_000)]

    payload, carried = pack(noted)

    assert PAYLOAD_LIMIT - 20 < len(payload.encode()) <= PAYLOAD_LIMIT
    assert carried == noted[: len(carried)]


@pytest.mark.parametrize(
    "payload",
    ["", "hello", "[]", "7", '{"changed":1}', '{"ready":["1"]}', '{"ready":[true]}',
     '{"endpoints":["no uuid"]}', '{"endpoints":[5]}', "[" * 5_000],
)
def test_a_payload_that_is_not_ours_is_told_apart(payload: str) -> None:
    assert parse(payload) is None


def test_keys_of_a_newer_process_are_passed_over() -> None:
    assert parse('{"ready":[1],"later":{"x":1}}') == Change(ready=frozenset({1}))


def test_what_one_process_notes_another_hears(db_url: str) -> None:
    endpoint = uuid4()
    with hearing(db_url) as (_, heard), notifying(dial(db_url)) as notifier:
        notifier.ready(1)
        notifier.reopened(2)
        notifier.endpoints(endpoint)
        notifier.changed()

        wait_for(lambda: any(endpoint in change.endpoints for change in heard))
    assert {1, 2} == {queue_id for change in heard for queue_id in change.claimable}


@pytest.mark.rule("R54")
def test_500_changes_in_a_second_are_at_most_11_notifications(db_url: str) -> None:
    pace = threading.Event()
    with hearing(db_url) as (_, heard), notifying(dial(db_url)) as notifier:
        started = time.monotonic()
        for number in range(500):
            notifier.changed(number)
            pace.wait(0.0015)
        wait_for(lambda: len(heard.queues()) == 500, what="every change is heard")
        seconds = time.monotonic() - started

    assert len(heard) <= int(seconds / 0.1) + 1


@pytest.mark.rule("R54")
def test_changes_that_do_not_fit_one_payload_wait_for_the_next(db_url: str) -> None:
    with hearing(db_url) as (_, heard), notifying(dial(db_url)) as notifier:
        notifier.changed(*range(10**12, 10**12 + 1_500))

        wait_for(lambda: len(heard.queues()) == 1_500, what="every change is heard")
    assert len(heard) == 3


def test_stop_sends_what_is_still_noted(db_url: str) -> None:
    with hearing(db_url) as (_, heard):
        with notifying(dial(db_url)) as notifier:
            notifier.changed(1)
            wait_for(lambda: heard.queues() == {1})
            notifier.changed(2)

        wait_for(lambda: heard.queues() == {1, 2})


def test_a_notice_survives_an_outage_and_never_blocks_its_caller(db_url: str) -> None:
    away = threading.Event()
    away.set()
    tries: list[float] = []

    def connect() -> psycopg.Connection:
        tries.append(time.monotonic())
        if away.is_set():
            raise psycopg.OperationalError("away")
        return dial(db_url)()

    with hearing(db_url) as (_, heard), notifying(connect) as notifier:
        notifier.changed(7)
        wait_for(lambda: len(tries) >= 2, what="a second try")
        notifier.changed(8)
        away.clear()

        wait_for(lambda: heard.queues() == {7, 8})


def test_a_lost_connection_of_the_notifier_is_opened_again(fresh_database: Fresh) -> None:
    url = fresh_database.url
    with hearing(url) as (_, heard), notifying(dial(url)) as notifier:
        notifier.changed(1)
        wait_for(lambda: heard.queues() == {1})
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and query like 'select pg_notify%'"
            )
        notifier.changed(2)

        wait_for(lambda: heard.queues() == {1, 2})


def test_a_foreign_notice_is_ignored_but_still_re_arms_timers(
    db_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with hearing(db_url) as (listener, heard), listener.watch([1]) as watch:
        notify(db_url, "what is this")
        notify(db_url, "{}")

        wait_for(lambda: len(heard) == 2)
        assert heard == [Change(), Change()]
        assert not watch.wait(0)
    assert [record for record in caplog.records if "not ours" in record.message]


def test_a_lost_listener_comes_back_and_says_everything(fresh_database: Fresh) -> None:
    with hearing(fresh_database.url) as (listener, heard), listener.watch([1]) as watch:
        with psycopg.connect(fresh_database.url, autocommit=True) as conn:
            conn.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and query like 'listen%'"
            )

        assert watch.wait(10)
        assert heard == [Change(everything=True)]
        notify(fresh_database.url, '{"ready":[1]}')
        assert watch.wait(10)


def test_one_connection_listens_however_many_watch(fresh_database: Fresh) -> None:
    with hearing(fresh_database.url) as (listener, _):
        watches = [listener.watch([number]) for number in range(100)]
        for watch in watches:
            watch.__enter__()

        with psycopg.connect(fresh_database.url) as conn:
            listening = conn.execute(
                "select count(*) from pg_stat_activity "
                "where datname = current_database() and query like 'listen%'"
            ).fetchone()
        assert listening == (1,)
        for watch in watches:
            watch.__exit__(None, None, None)


def test_a_failing_subscriber_does_not_deafen_the_others(
    db_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(change: Change) -> None:
        raise RuntimeError("mine")

    with hearing(db_url) as (listener, _):
        undo_failing = listener.subscribe(fail)
        after = Heard()
        undo = listener.subscribe(after.append)
        notify(db_url, '{"changed":[1]}')
        wait_for(lambda: after.queues() == {1})
        undo()
        undo()
        undo_failing()
        notify(db_url, '{"changed":[2]}')

        last = Heard()
        listener.subscribe(last.append)
        notify(db_url, '{"changed":[3]}')
        wait_for(lambda: 3 in last.queues())
    assert after.queues() == {1}
    assert [record for record in caplog.records if record.message == "a subscriber failed"]


def test_the_listener_waits_for_a_database_that_is_away(
    db_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[float] = []

    def connect() -> psycopg.Connection:
        tries.append(time.monotonic())
        if len(tries) == 1:
            raise psycopg.OperationalError("away")
        return dial(db_url)()

    listener = Listener(connect)
    listener.start()

    assert not listener.is_listening()
    assert listener.is_listening(10)
    listener.stop()
    assert 0.8 <= tries[1] - tries[0] <= 3
    assert "connect again" in caplog.text
