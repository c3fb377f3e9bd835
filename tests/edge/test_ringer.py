"""The streams of one process: which one rings, what a full or dead one costs, and when they end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import psycopg
import pytest

from app.db.database import Database
from app.db.listener import Listener
from app.domain.bells import Bell
from app.domain.callers import Endpoint
from app.domain.errors import Unavailable
from app.edge import ringer as module
from app.edge.ringer import BUFFER, Ringer, Stream
from app.transactions import bell_rows, presence, ringing
from app.transactions.bell_rows import Ring
from tests.support.feed import RecordingFeed
from tests.support.make import Make
from tests.support.wait import wait_for


@pytest.fixture
def ringer(db: Database, listener: Listener) -> Iterator[Ringer]:
    """A process without streams yet."""
    others = alive()  # of applications that tests before this one made
    made = Ringer(db, listener, name="this process")
    yield made
    made.close()
    wait_for(lambda: set(alive()) <= set(others), 30, what="the ringer's thread ends")


@pytest.fixture
def lane(make: Make) -> Endpoint:
    return make.endpoint()


def alive() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ringer"]


def todo(db: Database, make: Make, endpoint: Endpoint) -> str:
    made = make.todo(endpoint, rings=True)
    ringing.created(db, [made])
    return made


def heard(stream: Stream, seconds: float = 5.0) -> str:
    bell = stream.wait(seconds)
    assert bell is not None, "no bell came"
    return bell.meta["todo_id"]


def waiting(stream: Stream) -> int:
    return stream._bells.qsize()


def test_a_bell_goes_to_one_stream_the_one_rung_longest_ago(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint
) -> None:
    streams = [ringer.open(lane.id)[0] for _ in range(3)]
    todos = []
    for number in range(6):
        todos.append(todo(db, make, lane))
        wait_for(lambda: sum(map(waiting, streams)) > number)  # noqa: B023

    assert [waiting(stream) for stream in streams] == [2, 2, 2]
    assert [heard(stream) for stream in streams * 2] == todos


def test_a_full_stream_passes_its_bell_on_and_with_none_left_it_is_dropped(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    full, other = ringer.open(lane.id)[0], ringer.open(lane.id)[0]
    for _ in range(BUFFER):
        assert full.offer(Bell(content="x", meta={}))
    assert not full.offer(Bell(content="one too many", meta={}))
    for _ in range(BUFFER - 1):
        other.offer(Bell(content="x", meta={}))
    full.rung_at = float("-inf")

    with caplog.at_level(logging.INFO):
        todo(db, make, lane)
        wait_for(lambda: waiting(other) == BUFFER)
        todo(db, make, lane)
        wait_for(lambda: "doorbell_dropped" in caplog.text)

    assert waiting(full) == waiting(other) == BUFFER
    while full.wait(0):
        pass
    assert heard_after(db, make, lane, full)


def heard_after(db: Database, make: Make, lane: Endpoint, stream: Stream) -> bool:
    """Whether a new todo rings at a stream."""
    made = todo(db, make, lane)
    return heard(stream) == made


def test_nobody_who_reads_nothing_holds_up_another_endpoint(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint
) -> None:
    deaf = make.endpoint()
    ringer.open(deaf.id)
    stream, _ = ringer.open(lane.id)
    ringing.created(db, [make.todo(deaf, rings=True) for _ in range(3 * BUFFER)])

    assert heard_after(db, make, lane, stream)


def test_only_the_first_stream_of_an_endpoint_is_the_first(
    make: Make, ringer: Ringer, lane: Endpoint
) -> None:
    (one, is_first), (two, is_second_first) = ringer.open(lane.id), ringer.open(lane.id)
    assert (is_first, is_second_first) == (True, False)
    one.leave()
    one.leave()
    assert not ringer.open(lane.id)[1]
    two.leave()


def test_what_left_is_forgotten_and_hears_nothing(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint
) -> None:
    stream, _ = ringer.open(lane.id)
    wait_for(lambda: ringer._present)
    stream.leave()

    assert (ringer._streams, ringer._present) == ({}, {})
    assert not stream.offer(Bell(content="x", meta={}))
    todo(db, make, lane)
    assert heard_after_reopening(db, make, ringer, lane)


def heard_after_reopening(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint
) -> bool:
    """Whether a row that was owed meanwhile rings at a new stream: it is not void yet."""
    stream, _ = ringer.open(lane.id)
    return stream.wait(5) is not None


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_an_endpoint_that_ends_closes_its_streams_and_no_others(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint, end: str
) -> None:
    stream, other = ringer.open(lane.id)[0], ringer.open(make.endpoint().id)[0]
    wait_for(lambda: len(ringer._present) == 2)
    if end == "revoked":
        make.run("update endpoints set state = 'revoked', revoked_at = clock() where id = %s",
                 lane.id)
    else:
        make.run("update endpoints set expires_at = clock() where id = %s", lane.id)
    db.feed.endpoints(lane.id)

    wait_for(lambda: stream.is_closed, 2)
    assert stream.wait(0) is None
    assert not other.is_closed


def test_who_goes_out_hears_nothing_from_then_on(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint
) -> None:
    stream, _ = ringer.open(lane.id)
    wait_for(lambda: ringer._present.get(lane.id))
    ringing.created(db, [make.todo(lane, rings=True)])
    heard(stream)
    made = make.todo(lane, rings=True)
    make.run("update endpoints set presence_override = 'out', override_by = 'agent',"
             " override_set_at = clock()")
    db.feed.endpoints(lane.id)
    wait_for(lambda: ringer._present.get(lane.id) is False)
    make.run("insert into doorbells (endpoint_id, queue_id, todo_id, kind)"
             " values (%s, %s, %s, 'todo')", lane.id, made.queue_id, str(made))
    db.feed.ready(made.queue_id)
    wait_for(lambda: make.value("select count(*) from doorbells where taken_at is null") == 0)

    assert stream.wait(0.2) is None


def test_a_digest_rings_though_the_presence_it_follows_was_not_read_yet(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint
) -> None:
    """Both commit together, and a notice about something else may come before their own."""
    stream, _ = ringer.open(lane.id)
    presence.clock_out(db, lane)
    wait_for(lambda: ringer._present.get(lane.id) is False)
    made = make.todo(lane, rings=True)

    presence.clock_in(replace(db, feed=RecordingFeed()), lane)
    db.feed.changed(made.queue_id)

    bell = stream.wait(module.LOOK + 2)
    assert bell is not None
    assert bell.meta["reason"] == "clock_in"


def test_an_outage_after_taking_loses_no_bell(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, faults = bell_rows.judge, iter([Unavailable(), Unavailable()])

    def shaky(*args: object, **kwargs: object) -> list[Ring]:
        fault = next(faults, None)
        if fault is not None:
            raise fault
        return judge(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(bell_rows, "judge", shaky)
    monkeypatch.setattr(module, "LOOK", 0.1)
    stream, _ = ringer.open(lane.id)

    assert heard_after(db, make, lane, stream)
    assert next(faults, None) is None


def test_a_mistake_of_ours_is_logged_and_silences_nobody_for_good(
    db: Database, make: Make, ringer: Ringer, lane: Endpoint, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stream, _ = ringer.open(lane.id)
    with monkeypatch.context() as broken:
        broken.setattr(bell_rows, "judge", lambda *_: 1 // 0)
        todo(db, make, lane)
        wait_for(lambda: "doorbells failed" in caplog.text)

    assert heard_after(db, make, lane, stream)


def test_a_notice_that_is_not_ours_is_logged_and_nothing_else(
    db: Database, db_url: str, make: Make, ringer: Ringer, lane: Endpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stream, _ = ringer.open(lane.id)
    with psycopg.connect(db_url, autocommit=True) as conn:
        for payload in ("nonsense", "[]", '{"ready":["x"]}', '{"endpoints":[1]}'):
            conn.execute("select pg_notify('queue_changed', %s)", (payload,))
    wait_for(lambda: caplog.text.count("a notice that is not ours") >= 4)

    assert heard_after(db, make, lane, stream)


def test_a_row_whose_notice_was_lost_rings_within_a_few_seconds(
    make: Make, ringer: Ringer, lane: Endpoint
) -> None:
    stream, _ = ringer.open(lane.id)
    wait_for(lambda: ringer._present)
    made = make.todo(lane, rings=True)
    make.run("insert into doorbells (endpoint_id, queue_id, todo_id, kind)"
             " values (%s, %s, %s, 'todo')", lane.id, made.queue_id, str(made))

    assert heard(stream, module.LOOK + 2) == made


def test_the_heartbeat_rings_for_its_own_endpoints_that_are_in(
    make: Make, ringer: Ringer, lane: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT", 0.1)
    monkeypatch.setattr(module, "LOOK", 0.1)
    out, foreign = make.endpoint(), make.endpoint()
    make.run("update endpoints set presence_override = 'out', override_by = 'agent',"
             " override_set_at = clock() where id = %s", out.id)
    for each in (out, foreign, lane):
        make.todo(each, rings=True)
    make.run("update todos set created_at = clock() - interval '5 min'")
    silent, stream = ringer.open(out.id)[0], ringer.open(lane.id)[0]

    heard(stream)

    assert waiting(silent) == 0
    assert make.value("select sum(ring_attempts) from todos") == 1


def test_a_process_that_stops_ends_every_stream_and_opens_none(
    make: Make, ringer: Ringer, lane: Endpoint
) -> None:
    stream, _ = ringer.open(lane.id)
    for _ in range(BUFFER):
        stream.offer(Bell(content="x", meta={}))
    ringer.close()

    assert stream.is_closed
    late, is_first = ringer.open(lane.id)
    assert (late.is_closed, is_first) == (True, False)


def test_bells_from_several_threads_never_pass_the_bound(ringer: Ringer, lane: Endpoint) -> None:
    stream, _ = ringer.open(lane.id)
    taken: list[bool] = []

    def offer(bells: Sequence[Bell]) -> None:
        taken.extend(stream.offer(bell) for bell in bells)

    threads = [threading.Thread(target=offer, args=([Bell(content="x", meta={})] * 10,))
               for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)

    assert (taken.count(True), waiting(stream)) == (BUFFER, BUFFER)
