"""The worker and `deferred`: no failure, told once, asked again when the queue may open."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from app.cli import work_deferred, work_say
from app.cli.output import Answer
from app.cli.work_deferred import Deferred, Nothing, Rests, heard
from app.domain.values import Json, rfc3339
from tests.cli.conftest import Cli
from tests.cli.fake import Asked, FakeServer, Reply, ok, refused
from tests.cli.test_work_claims import claimed

SKEW = timedelta(hours=2)


def now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


def waits(
    queue: str = "inbox", reason: str = "window_exhausted", at: datetime | None = None,
    *, exact: bool = False,
) -> dict[str, Json]:  # fmt: skip
    return {"queue": queue, "reason": reason, "pending": 3, "exact": exact,
            "next_eligible_at": rfc3339(at) if at else None}  # fmt: skip


def deferring(*entries: dict[str, Json]) -> Reply:
    return ok(empty=True, deferred=[*entries])


def told(entry: dict[str, Json], *, at: datetime | None = None) -> Deferred:
    (one,) = heard(Answer(status=200, text="", body={"deferred": [entry]}, at=at))
    return one


def script(claims: Iterator[Reply], granted: tuple[str, ...] = ("inbox",)) -> Callable[
    [Asked], Reply
]:  # fmt: skip
    """Answers claims one after the other, then ends the worker with a refusal."""

    def answer(asked: Asked) -> Reply:
        if asked.verb == "whoami":
            return ok(effective_lease_ttl_seconds=300, queues=[*granted])
        if asked.verb == "claim_next":
            return next(claims, refused(403, "forbidden", "The end."))
        return Reply(body={**asked.body, "queue": "inbox", "state": "done", "next_retry_at": None})

    return answer


@pytest.mark.req("REQ-7")
def test_once_with_everything_deferred_says_why_until_when_and_exits_0(
    cli: Cli, fake: FakeServer
) -> None:
    at = datetime(2036, 10, 1, 7, tzinfo=UTC)
    fake.script = script(iter([deferring(waits(at=at, exact=True))]))

    ran = cli("work", "--once", "--", "true")

    assert ran.code == 0
    assert ran.err == ""
    assert re.fullmatch(
        r"Queue inbox has used up its budget; its todos wait until 2036-10-01T07:00:00Z"
        r" \(2036-10-01 \d\d:00:00 \S+ here\)\.\n", ran.out)
    assert fake.verbs() == ["whoami", "claim_next"]


@pytest.mark.parametrize(
    ("reason", "words"),
    [("paused", "is paused"), ("in_flight_full", "has as many todos in flight as it admits"),
     ("admission_unavailable", "cannot judge its budget now"),
     ("new", "admits no claim now (new)")],
)  # fmt: skip
def test_a_time_that_is_no_promise_is_not_told(
    reason: str, words: str, cli: Cli, fake: FakeServer
) -> None:
    fake.script = script(iter([deferring(waits(reason=reason, at=now() + timedelta(seconds=30)))]))

    ran = cli("work", "--once", "--", "true")

    assert (ran.code, ran.out) == (0, f"Queue inbox {words}; its todos wait.\n")


def test_json_tells_it_as_an_event(cli: Cli, fake: FakeServer) -> None:
    at = datetime(2036, 10, 1, 7, tzinfo=UTC)
    fake.script = script(iter([deferring(waits(at=at, exact=True))]))

    line = json.loads(cli("work", "--once", "--json", "--", "true").out)

    assert {key: line[key] for key in line if key != "more"} == {
        "event": "deferred", "queue": "inbox", "reason": "window_exhausted",
        "next_eligible_at": "2036-10-01T07:00:00Z",
    }  # fmt: skip


def test_an_exact_time_is_kept_and_the_queue_asked_right_after_it(
    cli: Cli, fake: FakeServer
) -> None:
    at = (now() + timedelta(seconds=3)).replace(microsecond=0)
    seen: list[datetime] = []

    def claims() -> Iterator[Reply]:
        for reply in (deferring(waits(at=at, exact=True)), claimed()):
            seen.append(now())
            yield reply

    fake.script = script(claims())
    ran = cli("work", "--", "true")

    assert ran.err == "Error: The end.\n"
    assert len(seen) == 2
    assert timedelta(0) <= seen[1] - at < timedelta(seconds=2)
    assert ran.out.count("used up its budget") == 1
    assert "done  td_1  inbox" in ran.out
    assert {"fail", "release"}.isdisjoint(fake.verbs())


def test_why_a_queue_waits_is_told_once_however_often_it_is_asked(
    cli: Cli, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_deferred, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(work_deferred, "LONGEST_PAUSE", 0.02)
    paused = deferring(waits(reason="paused"))
    full = deferring(waits(reason="in_flight_full", at=now() + timedelta(seconds=30)))
    later = deferring(waits(reason="in_flight_full", at=now() + timedelta(seconds=40)))
    fake.script = script(iter([paused, paused, full, later, claimed(), full, paused]))

    ran = cli("work", "--", "true")

    assert ran.out.count("is paused") == 2
    assert ran.out.count("in flight as it admits") == 1
    assert "Trying again" not in ran.out


def test_after_a_todo_the_reason_is_told_again_unless_it_is_a_full_cap(
    capsys: pytest.CaptureFixture[str],
) -> None:
    speaker = work_say.Speaker(as_json=False)
    for reason in ("paused", "in_flight_full"):
        speaker.deferred("q", reason, "", reason)
        speaker.admitted("q")
        speaker.deferred("q", reason, "", reason)

    assert capsys.readouterr().out.split() == ["paused", "paused", "in_flight_full"]


def test_a_queue_that_is_open_is_waited_for_while_another_is_deferred(
    cli: Cli, fake: FakeServer
) -> None:
    at = now() + timedelta(hours=5)
    entry = waits(at=at, exact=True)
    fake.script = script(
        iter([deferring(entry), deferring(entry), claimed()]), granted=("inbox", "open"))

    ran = cli("work", "--", "true")

    assert "done  td_1" in ran.out
    assert [one.body["wait_seconds"] for one in fake.of("claim_next")][:2] == [0, 30]


def test_of_several_queues_only_the_deferred_one_is_left_alone(
    cli: Cli, fake: FakeServer
) -> None:
    deferred = deferring(waits("a", at=now() + timedelta(hours=5), exact=True))
    asked: list[str] = []

    def answer(one: Asked) -> Reply:
        if one.verb != "claim_next":
            return ok(effective_lease_ttl_seconds=300, queues=["a", "b"])
        asked.append(str(one.body["queue"]))
        if len(asked) > 6:
            return refused(403, "forbidden", "The end.")
        return deferred if one.body["queue"] == "a" else ok(empty=True)

    fake.script = answer
    cli("work", "--queue", "a", "--queue", "b", "--", "true")

    assert asked.count("a") == 1
    assert asked.count("b") == 6


@pytest.mark.parametrize("skew", [-SKEW, SKEW])
def test_a_local_clock_that_is_wrong_does_not_move_the_time(skew: timedelta) -> None:
    """The server lives two hours from us; its Date header says what its clock shows."""
    server = (now() + skew).replace(microsecond=0)

    one = told(waits(at=server + timedelta(seconds=10), exact=True), at=server)

    assert one.wait == pytest.approx(10, abs=0.01)


def test_clocks_that_agree_give_the_fraction_of_a_second() -> None:
    at = (now() + timedelta(seconds=10)).replace(microsecond=0)

    one = told(waits(at=at, exact=True), at=now().replace(microsecond=0))

    assert one.wait is not None
    assert 8.9 < one.wait <= 10


@pytest.mark.parametrize(
    "entry",
    [
        waits(at=datetime(2020, 1, 1, tzinfo=UTC), exact=True),
        waits(at=datetime(2036, 1, 1, tzinfo=UTC)),
        waits(exact=True),
        {**waits(exact=True), "next_eligible_at": "tomorrow"},
        {**waits(exact=True), "next_eligible_at": 7},
        {},
    ],
)
def test_without_an_exact_time_ahead_the_pauses_grow_with_jitter(entry: dict[str, Json]) -> None:
    one, rests, pauses = told({**entry, "queue": "q"}), Rests(), []
    assert one.wait is None
    for _ in range(6):
        rests.note(["q"], [one])
        pauses.append(rests.left(["q"]))

    for pause, most in zip(pauses, (1, 2, 4, 8, 8, 8), strict=True):
        assert most * 0.49 < pause <= most


def test_a_far_time_is_looked_at_every_half_minute_because_owners_raise_budgets() -> None:
    rests = Rests()

    rests.note(["q"], [told(waits("q", at=now() + timedelta(hours=9), exact=True))])

    assert 29 < rests.left(["q"]) <= 30
    assert rests.awake(["q", "other"]) == ["other"]
    assert rests.left(["q", "other"]) == 0
    rests.note(["q"], Nothing().deferred)
    assert rests.left(["q"]) == 0
    assert rests.left([]) == 0


def test_a_server_two_hours_ahead_is_believed(cli: Cli, fake: FakeServer) -> None:
    ahead = (now() + SKEW).replace(microsecond=0)
    at = ahead + timedelta(seconds=2)
    date = {"Date": format_datetime(ahead, usegmt=True)}
    entry = waits(at=at, exact=True)
    started = time.monotonic()
    fake.script = script(iter([
        Reply(body={"empty": True, "deferred": [entry]}, headers=date), claimed()]))

    assert "done  td_1" in cli("work", "--", "true").out
    assert 1.9 < time.monotonic() - started < 10
