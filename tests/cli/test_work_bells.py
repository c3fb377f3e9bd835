"""The worker and its doorbell stream: no polling while it is up, polling when it is not."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from queue import SimpleQueue

import pytest

from app.cli import work_deferred, work_lane
from app.cli.work_bells import Bells, Rung, rung_by
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
    cli: Cli, fake: FakeServer, lines: Lines, rings: Sequence[str | None], *words: str,
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


@pytest.mark.parametrize("ring", [
    bell("inbox"), digest("a,inbox"), digest("one, two"), digest(""), bell("inbox", kind="digest"),
])
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


def test_nonsense_wakes_nobody(cli: Cli, fake: FakeServer, lines: Lines) -> None:
    fake.script = script(iter([ok(empty=True), claimed()]))

    ran = ringing(cli, fake, lines, ["data: {", "data: []", "data: 7", ":", bell("b")])

    assert "done  td_1" in ran.out
    assert waited(fake) == [0, 0, 0]  # nothing, claimed, and the one that ends the worker


@pytest.mark.parametrize("queues", [("a",), ("a", "b")])
def test_a_worker_of_some_queues_takes_no_bells_from_the_others(
    cli: Cli, fake: FakeServer, lines: Lines, queues: tuple[str, ...]
) -> None:
    """A bell goes to one stream of the endpoint, whichever queues its reader wants."""
    fake.script = script(iter([*[ok(empty=True)] * 2, claimed()]))

    ran = cli("work", *(word for queue in queues for word in ("--queue", queue)), "--", "true")

    assert "done  td_1" in ran.out
    assert fake.streams == 0
    assert any(waited(fake)[1:])


def test_a_parked_worker_says_once_why_a_queue_waits_when_it_looks_again(
    cli: Cli, fake: FakeServer, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that comes to a closed queue rings no bell."""
    monkeypatch.setattr(work_lane, "QUIET", 0.05)
    monkeypatch.setattr(work_deferred, "QUIET", 0.05)
    paused = deferring(waits("inbox", "paused"))
    fake.script = script(iter([ok(empty=True), paused, paused, claimed()]))

    ran = cli("work", "--", "true")

    assert "done  td_1" in ran.out
    assert ran.out.count("Queue inbox is paused; its todos wait.") == 1


def test_a_parked_worker_says_why_a_queue_waits_after_a_new_stream(
    cli: Cli, fake: FakeServer, lines: Lines
) -> None:
    second: Lines = SimpleQueue()
    given = iter([lines, second])
    fake.stream = lambda: next(given)
    paused = deferring(waits("inbox", "paused"))
    fake.script = script(iter([ok(empty=True), paused, paused, claimed()]))

    ran = ringing(cli, fake, lines, [None])
    second.put(None)

    assert "done  td_1" in ran.out
    assert ran.out.count("Queue inbox is paused; its todos wait.") == 1


@pytest.mark.req("REQ-7")
def test_a_deferred_queue_is_left_alone_until_its_bell_rings(
    cli: Cli, fake: FakeServer, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_deferred, "LONGEST_REST", 0.05)
    entry = waits(at=now() + timedelta(hours=5), exact=True)
    fake.script = script(iter([deferring(entry), claimed()]))

    ran = ringing(cli, fake, lines, [bell("inbox")])

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


def parked(bells: Bells) -> threading.Event:
    """A lane that waits: set when it goes on."""
    gone, before = threading.Event(), len(bells._parked)
    stop = Stop(grace=1, settle=1)

    def wait() -> None:
        bells.wait(20, stop)
        gone.set()

    threading.Thread(target=wait, daemon=True).start()
    wait_for(lambda: len(bells._parked) > before)
    return gone


def waits_on(bells: Bells) -> bool:
    """Whether a lane would wait now."""
    stop = Stop(grace=1, settle=1)
    began = time.monotonic()
    bells.wait(0.2, stop)
    return time.monotonic() - began >= 0.2


def test_one_bell_wakes_one_lane_and_a_digest_all(bells: Bells) -> None:
    lanes = [parked(bells) for _ in range(4)]

    bells.ring()

    assert lanes[0].wait(5)
    assert [lane.is_set() for lane in lanes[1:]] == [False] * 3
    bells.ring(Rung.ALL)
    assert [lane.wait(5) for lane in lanes] == [True] * 4


def test_what_rang_during_a_look_is_heard_after_it_and_what_rang_before_is_over(
    bells: Bells,
) -> None:
    bells.ring()
    mark = bells.mark()
    bells.ring()
    bells.answered(mark)

    assert not waits_on(bells)
    later = bells.mark()
    bells.answered(later)
    bells.answered(mark)  # a slower lane's look, which began before
    assert waits_on(bells)


def test_a_stream_that_is_lost_lets_every_lane_look(bells: Bells) -> None:
    lanes = [parked(bells), parked(bells)]

    bells.close()

    assert [lane.wait(5) for lane in lanes] == [True, True]
    assert not waits_on(bells)
    assert not bells.is_up


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"meta":7}', '{"meta":{}}', "[" * 99_999])
def test_nonsense_rings_nothing(text: str) -> None:
    assert rung_by(text) is None


def test_with_bells_rests_are_long_but_never_for_good() -> None:
    far = told(waits("q", at=now() + timedelta(hours=9), exact=True))
    for reason, least, most in (("paused", 47, 60), ("in_flight_full", 47, 60),
                                ("admission_unavailable", 0.4, 1)):
        rests = Rests()
        rests.note(["q"], [told(waits("q", reason))], has_bells=True)
        assert least < rests.left(["q"]) <= most, reason
    rests.note(["q"], [far], has_bells=True)
    assert 598 < rests.left(["q"]) <= 600
