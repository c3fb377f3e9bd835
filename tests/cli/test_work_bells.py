"""The worker and its doorbell stream: no polling while it is up, polling when it is not."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from queue import SimpleQueue

import pytest

from app.cli import work_deferred
from app.cli.work_bells import Bells, rung_queues
from app.cli.work_deferred import Rests
from app.cli.work_stop import Stop
from tests.cli.conftest import Cli, Ran
from tests.cli.fake import Asked, FakeServer, Reply, ok, refused
from tests.cli.test_work_claims import claimed
from tests.cli.test_work_deferred import deferring, now, script, told, waits
from tests.cli.test_work_stop import interrupted
from tests.support.wait import wait_for

Lines = SimpleQueue[str | None]


@pytest.fixture
def lines(fake: FakeServer) -> Iterator[Lines]:
    """What the one stream of the fake server says; it is open, and silent."""
    made: Lines = SimpleQueue()
    made.put("retry: 10")
    fake.stream = lambda: made
    yield made
    made.put(None)


def bell(queue: str, **meta: str) -> str:
    told = {"content": "x", "meta": {"todo_id": "td_1", "queue": queue, **meta}}
    return f"event: doorbell\ndata: {json.dumps(told)}\n"


def digest(queues: str) -> str:
    told = {"content": "x", "meta": {"kind": "digest", "queues": queues, "pending": "2"}}
    return f"event: doorbell\ndata: {json.dumps(told)}\n"


def ringing(
    cli: Cli, fake: FakeServer, lines: Lines, rings: list[str | None], *words: str,
    looks: int = 1,
) -> Ran:
    """Runs a worker; once it has looked so often, and waits, these lines come."""
    def ring() -> None:
        wait_for(lambda: len(fake.of("claim_next")) >= looks, 20)
        for each in rings:
            threading.Event().wait(0.2)  # not true yet: that it looks again for nothing
            lines.put(each)

    ringer = threading.Thread(target=ring)
    ringer.start()
    ran = cli("work", *words, "--", "true")
    ringer.join()
    return ran


def waited(fake: FakeServer) -> list[object]:
    return [one.body["wait_seconds"] for one in fake.of("claim_next")]


@pytest.mark.parametrize("ring", [bell("inbox"), digest("a,inbox"), bell("inbox", kind="digest")])
def test_a_bell_wakes_the_worker_which_never_polls(
    cli: Cli, fake: FakeServer, lines: Lines, ring: str
) -> None:
    fake.script = script(iter([ok(empty=True), claimed(), ok(empty=True), claimed(2)]))

    ran = ringing(cli, fake, lines, [ring, ring])

    assert ran.out.count("done  td_") == 2
    assert set(waited(fake)) == {0}
    assert fake.streams == 1


def test_lanes_share_one_stream_and_a_todo_wakes_the_next_lane(
    cli: Cli, fake: FakeServer, lines: Lines
) -> None:
    answers = script(iter([*[ok(empty=True)] * 3, claimed(1), claimed(2), claimed(3)]))
    taken = threading.Lock()

    def answer(asked: Asked) -> Reply:
        with taken:
            looks = len(fake.of("claim_next"))
            is_early = asked.verb == "claim_next" and looks > 6 and len(fake.of("complete")) < 3
            return ok(empty=True) if is_early else answers(asked)

    fake.script = answer
    ran = ringing(cli, fake, lines, [bell("inbox")], "--concurrency", "3", looks=3)

    assert {f"done  td_{number}" in ran.out for number in (1, 2, 3)} == {True}
    assert (fake.streams, set(waited(fake))) == (1, {0})


def test_a_bell_of_another_queue_and_nonsense_wake_nobody(
    cli: Cli, fake: FakeServer, lines: Lines
) -> None:
    fake.script = script(iter([*[ok(empty=True)] * 2, claimed()]))

    ran = ringing(
        cli, fake, lines,
        [bell("other"), "data: {", "data: []", "data: 7", ":", digest(""), bell("b")],
        "--queue", "a", "--queue", "b", looks=2)

    assert "done  td_1" in ran.out
    asked = [one.body["queue"] for one in fake.of("claim_next")]
    assert sorted(map(str, asked[:2])) == ["a", "b"]
    assert len(asked) <= 4  # one round before the bell, one after it, which ends the worker


@pytest.mark.req("REQ-7")
def test_a_deferred_queue_is_left_alone_until_its_bell_rings(
    cli: Cli, fake: FakeServer, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_deferred, "LONGEST_REST", 0.05)
    entry = waits(at=now() + timedelta(hours=5), exact=True)
    fake.script = script(iter([deferring(entry), claimed()]))

    ran = ringing(cli, fake, lines, [bell("other"), bell("inbox")])

    assert "done  td_1" in ran.out
    assert ran.out.count("used up its budget") == 1
    assert waited(fake) == [0, 0, 0]  # deferred, claimed, and the one that ends the worker


def test_an_exact_time_is_kept_without_a_bell(cli: Cli, fake: FakeServer, lines: Lines) -> None:
    at = now() + timedelta(seconds=1.5)
    fake.script = script(iter([deferring(waits(at=at, exact=True)), claimed()]))

    ran = cli("work", "--", "true")

    assert "done  td_1" in ran.out
    assert waited(fake) == [0, 0, 0]


@pytest.mark.parametrize("given", [
    refused(429, "rate_limited", Retry_After="60"), refused(404, "not_found"),
    Reply(dropped=True), ok(hello="there"),
])
def test_without_a_stream_it_polls_as_before(cli: Cli, fake: FakeServer, given: Reply) -> None:
    fake.stream = lambda: given
    fake.script = script(iter([ok(empty=True), claimed()]))

    ran = cli("work", "--", "true")

    assert "done  td_1" in ran.out
    assert waited(fake)[:2] == [0, 30]
    assert fake.streams == 1


def test_a_lost_stream_is_made_up_for_by_polling_and_opened_again(
    cli: Cli, fake: FakeServer, lines: Lines
) -> None:
    second: Lines = SimpleQueue()
    given = iter([lines, second])
    fake.stream = lambda: next(given)
    fake.script = script(iter([ok(empty=True), ok(empty=True), claimed()]))

    ran = ringing(cli, fake, lines, [None])
    second.put(None)

    assert "done  td_1" in ran.out
    assert waited(fake)[:3] == [0, 0, 30]


def test_a_signal_ends_a_parked_worker_at_once(
    cli: Cli, fake: FakeServer, lines: Lines
) -> None:
    fake.script = script(iter([ok(empty=True)] * 9))

    ran = interrupted(cli, lambda: len(fake.of("claim_next")) == 1, "work", "--", "true",
                      number=signal.SIGTERM)

    assert ran.code == 0
    assert len(fake.of("claim_next")) <= 2


def test_once_needs_no_stream(cli: Cli, fake: FakeServer, lines: Lines) -> None:
    fake.script = script(iter([claimed()]))

    cli("work", "--once", "--", "true")

    assert fake.streams == 0


@pytest.fixture
def bells() -> Iterator[Bells]:
    """A stream that is up, without a server."""
    made = Bells("http://127.0.0.1:9", "sbk_x")
    made._rise()
    yield made
    made.close()


def parked(bells: Bells, *queues: str) -> Callable[[], frozenset[str] | None]:
    """A lane that waits for these queues; what it heard, None while it waits."""
    heard: list[frozenset[str]] = []
    before = len(bells._parked)
    stop = Stop(grace=1, settle=1)
    threading.Thread(
        target=lambda: heard.append(bells.wait(queues, 20, stop)), daemon=True).start()
    wait_for(lambda: len(bells._parked) > before)
    return lambda: heard[0] if heard else None


def test_one_bell_wakes_one_lane_that_waits_for_its_queue(bells: Bells) -> None:
    other, first, second = parked(bells, "b"), parked(bells, "a"), parked(bells)

    bells.ring("a")

    wait_for(first)
    assert (first(), second(), other()) == (frozenset("a"), None, None)
    bells.ring("a")
    assert wait_for(second) == frozenset("a")
    assert other() is None


def test_what_rang_during_a_look_is_heard_after_it_and_what_rang_before_is_over(
    bells: Bells,
) -> None:
    stop = Stop(grace=1, settle=1)
    bells.ring("a")
    mark = bells.mark()
    bells.ring("b")
    bells.answered(mark, ())

    assert bells.wait((), 20, stop) == frozenset("b")
    bells.answered(bells.mark(), ("a",))
    assert bells.wait((), 20, stop) == frozenset("b")
    bells.answered(bells.mark(), ())
    assert bells.wait((), 0, stop) == frozenset()


def test_a_stream_that_is_lost_lets_every_lane_look(bells: Bells) -> None:
    lanes = [parked(bells, "a"), parked(bells, "b")]

    bells.close()

    assert [wait_for(lambda: lane() is not None) for lane in lanes] == [True, True]  # noqa: B023
    assert bells.wait((), 20, Stop(grace=1, settle=1)) == frozenset()
    assert not bells.is_up


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"meta":7}', '{"meta":{}}', "[" * 99_999])
def test_nonsense_rings_nothing(text: str) -> None:
    assert list(rung_queues(text)) == []


def test_with_bells_rests_are_long_but_never_for_good() -> None:
    far = told(waits("q", at=now() + timedelta(hours=9), exact=True))
    for reason, least, most in (("paused", 47, 60), ("in_flight_full", 47, 60),
                                ("admission_unavailable", 0.4, 1)):
        rests = Rests()
        rests.note(["q"], [told(waits("q", reason))], has_bells=True)
        assert least < rests.left(["q"]) <= most, reason
    rests.note(["q"], [far], has_bells=True)
    assert 598 < rests.left(["q"]) <= 600
