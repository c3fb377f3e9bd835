"""Who is in: clocking in and out, the owner's word, shifts, and the one digest of coming in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from app.db.database import Database
from app.db.outbox import Backlog, QueueBacklog, Ready
from app.domain.callers import Endpoint, Human
from app.domain.errors import Conflict, InvalidArgument, NotFound
from app.reads.presence import Standing, read, read_as
from app.transactions import presence, presence_sweep, reopening
from tests.support.clock import Clock
from tests.support.feed import RecordingFeed
from tests.support.make import Make
from tests.support.race import all_returned, together

MONDAY = datetime(2026, 11, 30, tzinfo=UTC)
OFFICE = "Mon-Fri 09:00-17:00"
HOUR = timedelta(hours=1)
SEEN = "select presence_seen from endpoints where id = %s"


@dataclass
class Hooks:
    """An outbox that remembers."""

    offered: list[Ready | Backlog] = field(default_factory=list)

    def offer(self, notice: Ready | Backlog) -> None:
        self.offered.append(notice)


@pytest.fixture
def hooks() -> Hooks:
    return Hooks()


@pytest.fixture
def feed() -> RecordingFeed:
    return RecordingFeed()


@pytest.fixture
def db(db: Database, hooks: Hooks, feed: RecordingFeed) -> Database:
    return replace(db, hooks=hooks, feed=feed)


@pytest.fixture
def ada(make: Make) -> Human:
    return make.human("Ada")


@pytest.fixture
def lane(make: Make, ada: Human, clock: Clock) -> Endpoint:
    clock.set(at(12))
    return make.endpoint(ada, queues=("inbox", "rest"))


def at(hour: int, minute: int = 0, *, day: int = 0) -> datetime:
    return MONDAY + timedelta(days=day, hours=hour, minutes=minute)


def said(standing: Standing) -> tuple[str, str, datetime | None]:
    now = standing.presence
    return now.word, now.source, now.until


def digests(make: Make) -> list[str]:
    found = make.rows("select meta->>'reason' from doorbells where kind = 'digest' order by id")
    return [str(reason) for (reason,) in found]


# --- the agent's own word -------------------------------------------------------------------------


def test_without_a_shift_everyone_is_in_and_clock_in_only_ends_an_out(
    db: Database, make: Make, lane: Endpoint
) -> None:
    make.todo(lane, state="claimed")
    make.todo(lane, "rest")

    assert said(read(db, lane)) == ("in", "default", None)
    assert said(presence.clock_in(db, lane, 3 * HOUR)) == ("in", "default", None)
    out = presence.clock_out(db, lane)
    assert (said(out), out.pending) == (("out", "agent", None), 1)
    assert said(read(db, lane)) == said(out)
    assert said(presence.clock_in(db, lane)) == ("in", "default", None)


def test_out_of_shift_a_clock_in_lasts_for_its_time_but_not_past_the_next_start(
    db: Database, lane: Endpoint, ada: Human, clock: Clock
) -> None:
    presence.set_shift(db, ada, lane.slug, OFFICE)
    clock.set(at(20))

    assert said(read(db, lane)) == ("out", "shift", at(9, day=1))
    assert said(presence.clock_in(db, lane)) == ("in", "agent", at(21))
    assert said(presence.clock_in(db, lane, 8 * HOUR)) == ("in", "agent", at(4, day=1))
    clock.set(at(6, day=1))
    assert said(read(db, lane)) == ("out", "shift", at(9, day=1))
    assert said(presence.clock_in(db, lane, 8 * HOUR)) == ("in", "agent", at(9, day=1))
    clock.set(at(9, day=1))
    assert said(read(db, lane)) == ("in", "shift", at(17, day=1))


def test_in_shift_a_clock_in_keeps_the_owners_in_and_ends_an_out(
    db: Database, lane: Endpoint, ada: Human
) -> None:
    presence.set_shift(db, ada, lane.slug, OFFICE)
    presence.set_override(db, ada, lane.slug, "in", at(14))

    assert said(presence.clock_in(db, lane)) == ("in", "operator", at(14))
    presence.set_override(db, ada, lane.slug, "out")
    assert said(presence.clock_in(db, lane)) == ("in", "shift", at(17))


def test_an_out_ends_at_the_first_boundary_whatever_until_says(
    db: Database, lane: Endpoint, ada: Human, clock: Clock
) -> None:
    presence.set_shift(db, ada, lane.slug, OFFICE)

    assert said(presence.clock_out(db, lane)) == ("out", "agent", at(17))
    out = presence.set_override(db, ada, lane.slug, "out", at(12, day=3))
    assert said(out) == ("out", "operator", at(17))
    clock.set(at(9, day=1))
    assert said(read(db, lane)) == ("in", "shift", at(17, day=1))


@pytest.mark.parametrize("stay", [timedelta(), -HOUR, 8 * HOUR + timedelta(seconds=1)])
def test_a_stay_beyond_its_bounds_is_refused(db: Database, lane: Endpoint, stay: timedelta) -> None:
    with pytest.raises(InvalidArgument) as refused:
        presence.clock_in(db, lane, stay)

    assert refused.value.field == "for"


# --- the owner's word -----------------------------------------------------------------------------


def test_the_owners_word_holds_until_it_ends_or_is_taken_back(
    db: Database, lane: Endpoint, ada: Human, clock: Clock, make: Make
) -> None:
    out = presence.set_override(db, ada, lane.slug, "out", "2026-11-30T15:00:00+01:00")

    assert said(out) == ("out", "operator", at(14))
    assert make.value("select override_by from endpoints where id = %s", lane.id) == (
        f"operator:{ada.id}")  # fmt: skip
    assert said(presence.end_override(db, ada, str(lane.id))) == ("in", "default", None)
    assert said(presence.end_override(db, ada, lane.slug)) == ("in", "default", None)
    presence.set_override(db, ada, lane.slug, "out", at(14))
    clock.set(at(14))
    assert said(read_as(db, ada, lane.slug)) == ("in", "default", None)


@pytest.mark.parametrize("until", [
    at(12), "2026-11-30T12:00:00Z", "2026-11-30T13:00:00", "2026-11-30", "13:00", "", "soon",
    "2026-11-31T13:00:00Z", "2026-12-01T13:00:00+25:00", "2026-12-01T24:01:00Z", "1764508800",
    "9999-12-31T23:59:59-23:59", "٢٠٢٦-12-01T13:00:00Z", "2026-12-01T13:00:00Z\n",
])  # fmt: skip
def test_an_until_that_is_no_instant_to_come_is_refused_and_nothing_is_stored(
    db: Database, lane: Endpoint, ada: Human, until: datetime | str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        presence.set_override(db, ada, lane.slug, "out", until)

    assert refused.value.field == "until"
    assert said(read(db, lane)) == ("in", "default", None)


@pytest.mark.parametrize("until", ["2026-12-01t13:00:00.25z", "2026-12-01T13:00:00.123456789Z"])
def test_every_spelling_of_rfc_3339_is_taken(
    db: Database, lane: Endpoint, ada: Human, until: str
) -> None:
    taken = presence.set_override(db, ada, lane.slug, "out", until).presence.until

    assert taken is not None
    assert taken.replace(microsecond=0) == at(13, day=1)


def test_only_in_and_out_are_words(db: Database, lane: Endpoint, ada: Human) -> None:
    with pytest.raises(InvalidArgument) as refused:
        presence.set_override(db, ada, lane.slug, "away")
    assert refused.value.field == "presence"


def test_only_who_may_configure_it_changes_or_reads_it(
    db: Database, make: Make, lane: Endpoint
) -> None:
    team, member, boss = make.team(), make.human(), make.human()
    make.member(team, member)
    make.member(team, boss, "admin")
    shared = make.endpoint(team=team)

    for human, ref in ((make.human(), lane.slug), (member, shared.slug), (boss, "nobody")):
        with pytest.raises(NotFound):
            presence.set_override(db, human, ref, "out")
        with pytest.raises(NotFound):
            presence.end_override(db, human, ref)
        with pytest.raises(NotFound):
            presence.set_shift(db, human, ref, "no shift at all")
        with pytest.raises(NotFound):
            read_as(db, human, ref)
    assert said(presence.set_override(db, boss, shared.slug, "out")) == ("out", "operator", None)


def test_an_endpoint_that_ended_is_read_and_not_changed(
    db: Database, make: Make, lane: Endpoint, ada: Human
) -> None:
    make.todo(lane)
    make.run("update endpoints set state = 'revoked', revoked_at = clock() where id = %s", lane.id)
    old = make.endpoint(ada, expires_at=make.now())

    writes: list[Callable[[Endpoint], object]] = [
        lambda one: presence.set_override(db, ada, one.slug, "out"),
        lambda one: presence.end_override(db, ada, one.slug),
        lambda one: presence.set_shift(db, ada, one.slug, OFFICE),
        lambda one: presence.clock_in(db, one),
        lambda one: presence.clock_out(db, one),
    ]
    for ended in (lane, old):
        for write in writes:
            with pytest.raises(Conflict) as refused:
                write(ended)
            assert refused.value.extras == {"state": "revoked"}
        standing = read_as(db, ada, ended.slug)
        assert (said(standing), standing.pending) == (("in", "default", None), 0)


# --- the shift ------------------------------------------------------------------------------------


def test_a_shift_is_kept_tidy_and_taken_away(db: Database, lane: Endpoint, ada: Human) -> None:
    kept = presence.set_shift(db, ada, lane.slug, "  TZ=Europe/Berlin Mon-Fri 09:00-17:00 ")

    assert kept.presence.shift == "TZ=Europe/Berlin Mon-Fri 09:00-17:00"
    assert said(kept) == ("in", "shift", at(16))
    assert said(presence.set_shift(db, ada, lane.slug, None)) == ("in", "default", None)


@pytest.mark.parametrize("shift", ["", "  ", "always", "TZ=Mars/Base 09:00-17:00", "09:00-09:00"])
def test_what_is_no_shift_is_refused_and_the_old_one_stays(
    db: Database, lane: Endpoint, ada: Human, shift: str
) -> None:
    presence.set_shift(db, ada, lane.slug, OFFICE)

    with pytest.raises(InvalidArgument) as refused:
        presence.set_shift(db, ada, lane.slug, shift)

    assert refused.value.field == "shift"
    assert read(db, lane).presence.shift == OFFICE


def test_another_shift_brings_no_ended_override_back(
    db: Database, lane: Endpoint, ada: Human, clock: Clock
) -> None:
    presence.set_shift(db, ada, lane.slug, OFFICE)
    presence.clock_out(db, lane)
    clock.set(at(10, day=1))

    assert said(presence.set_shift(db, ada, lane.slug, None)) == ("in", "default", None)


def test_a_live_override_outlives_a_change_of_the_shift_up_to_its_next_boundary(
    db: Database, lane: Endpoint, ada: Human, clock: Clock
) -> None:
    clock.set(at(8))
    presence.clock_out(db, lane)
    clock.set(at(12))

    assert said(presence.set_shift(db, ada, lane.slug, OFFICE)) == ("out", "agent", at(17))
    clock.set(at(13))
    assert said(presence.set_shift(db, ada, lane.slug, OFFICE)) == ("out", "agent", at(17))


# --- the edge -------------------------------------------------------------------------------------


@pytest.mark.req("REQ-8")
def test_coming_in_owes_one_digest_of_what_may_ring_and_tells_the_hooks(
    db: Database, make: Make, lane: Endpoint, hooks: Hooks, feed: RecordingFeed
) -> None:
    presence.clock_out(db, lane)
    for queue in ("inbox", "inbox", "rest"):
        make.todo(lane, queue, rings=True, created_at=at(11))
    make.todo(lane, "rest")  # no verified event: nothing to wake anybody for
    shut = make.queue_id(lane, "rest")
    make.policy(shut, max_in_flight=0)

    presence.clock_in(db, lane)
    presence.clock_in(db, lane)

    assert make.rows("select endpoint_id, meta from doorbells") == [(lane.id, {
        "reason": "clock_in", "pending": 2, "queues": ["inbox"], "oldest_seconds": 3600,
        "queue_ids": [int(make.queue_id(lane, "inbox"))]})]  # fmt: skip
    inbox = int(make.queue_id(lane, "inbox"))
    assert hooks.offered == [Backlog(
        endpoint_id=lane.id, reason="clock_in", waiting=(QueueBacklog(
            queue_id=inbox, queue="inbox", pending=2, oldest_pending_seconds=3600),))]  # fmt: skip
    assert set(feed.ids("endpoints")) == {lane.id}
    assert make.rows("select queue_id, reason from admission_reopen") == [(int(shut), "paused")]


def test_no_digest_when_nothing_eligible_waits_in_an_open_queue(
    db: Database, make: Make, lane: Endpoint, hooks: Hooks
) -> None:
    make.policy(make.queue_id(lane, "rest"), max_in_flight=0)
    presence.clock_out(db, lane)
    make.todo(lane, "rest", rings=True)
    make.todo(lane, "inbox")

    presence.clock_in(db, lane)

    assert (digests(make), hooks.offered) == ([], [])
    assert make.value(SEEN, lane.id) == "in"


@pytest.mark.req("REQ-8")
def test_reopening_while_out_is_silent_and_clocking_in_sends_the_digest(
    db: Database, make: Make, lane: Endpoint, hooks: Hooks
) -> None:
    queue = make.queue_id(lane, "inbox")
    presence.clock_out(db, lane)
    make.todo(lane, queue, rings=True)
    make.run("insert into admission_reopen (queue_id, reason) values (%s, 'paused')", int(queue))
    hooks.offered.clear()

    assert reopening.detect(db, [queue]) == {int(queue)}
    assert make.rows("select kind from doorbells") == []
    presence.clock_in(db, lane)

    assert digests(make) == ["clock_in"]


def test_many_who_clock_in_at_once_owe_one_digest(
    db: Database, make: Make, lane: Endpoint, ada: Human
) -> None:
    presence.clock_out(db, lane)
    make.todo(lane, rings=True)

    def come(number: int) -> object:
        if number % 3 == 0:
            return presence_sweep.settle_due(db, {}, most=10)
        if number % 3 == 1:
            return presence.clock_in(db, lane)
        return presence.set_override(db, ada, lane.slug, "in")

    all_returned(together(9, come))

    assert len(digests(make)) == 1


def test_every_write_of_the_owner_that_lets_it_in_says_operator(
    db: Database, make: Make, lane: Endpoint, ada: Human
) -> None:
    make.todo(lane, rings=True)
    presence.clock_out(db, lane)
    presence.set_override(db, ada, lane.slug, "in")
    presence.clock_out(db, lane)
    presence.end_override(db, ada, lane.slug)
    presence.set_shift(db, ada, lane.slug, "Sun 09:00-10:00")
    presence.set_shift(db, ada, lane.slug, None)

    assert digests(make) == ["operator"] * 3


# --- the clock ------------------------------------------------------------------------------------


def swept(db: Database) -> tuple[int, float | None]:
    sweep = presence_sweep.settle_due(db, {}, most=10)
    return sweep.settled, sweep.next_in


def test_the_start_of_a_shift_is_settled_once_and_the_timer_set_to_the_next_edge(
    db: Database, make: Make, lane: Endpoint, ada: Human, clock: Clock, feed: RecordingFeed
) -> None:
    clock.set(at(8, 59))
    presence.set_shift(db, ada, lane.slug, OFFICE)
    make.todo(lane, rings=True)
    assert swept(db) == (0, 60.0)
    feed.told.clear()

    clock.set(at(9))

    assert swept(db) == (1, 0.0)
    assert swept(db) == (0, 8 * 3600.0)
    assert (digests(make), feed.ids("endpoints")) == (["shift_start"], [lane.id])
    clock.set(at(17))
    assert swept(db) == (1, 0.0)
    assert make.value(SEEN, lane.id) == "out"
    assert digests(make) == ["shift_start"]


def test_an_out_that_ran_out_says_so_and_is_cleared(
    db: Database, make: Make, lane: Endpoint, ada: Human, clock: Clock
) -> None:
    make.todo(lane, rings=True)
    for shift in (None, OFFICE):
        presence.set_shift(db, ada, lane.slug, shift)
        presence.set_override(db, ada, lane.slug, "out", at(13))
        assert swept(db) == (0, 3600.0)
        clock.set(at(13))
        assert swept(db)[0] == 1
        clock.set(at(12))

    assert digests(make) == ["override_end"] * 2
    assert make.value("select count(*) from endpoints where presence_override is not null") == 0


def test_an_out_that_a_boundary_ended_is_the_start_of_a_shift(
    db: Database, make: Make, lane: Endpoint, ada: Human, clock: Clock
) -> None:
    make.todo(lane, rings=True)
    presence.set_shift(db, ada, lane.slug, OFFICE)
    presence.set_override(db, ada, lane.slug, "out", at(16))
    clock.set(at(10, day=1))  # nobody looked for a day

    assert swept(db)[0] == 1
    assert digests(make) == ["shift_start"]


def test_an_in_that_ends_while_the_shift_is_on_is_no_edge(
    db: Database, make: Make, lane: Endpoint, ada: Human, clock: Clock
) -> None:
    make.todo(lane, rings=True)
    presence.set_shift(db, ada, lane.slug, OFFICE)
    presence.set_override(db, ada, lane.slug, "in", at(13))
    clock.set(at(13))

    assert swept(db)[0] == 1  # the override is cleared
    assert swept(db) == (0, 4 * 3600.0)
    assert digests(make) == []


def test_a_turn_is_bounded_and_the_next_one_goes_on(
    db: Database, make: Make, ada: Human, clock: Clock
) -> None:
    clock.set(at(8))
    lanes = [make.endpoint(ada) for _ in range(5)]
    for lane in lanes:
        presence.set_shift(db, ada, lane.slug, OFFICE)
        make.todo(lane, rings=True)
    clock.set(at(9))

    turns = [presence_sweep.settle_due(db, {}, most=2) for _ in range(4)]

    assert [turn.settled for turn in turns] == [2, 2, 1, 0]
    assert [turn.next_in for turn in turns] == [0.0, 0.0, 0.0, 8 * 3600.0]
    assert len(digests(make)) == 5


def test_what_an_earlier_sweep_saw_is_asked_again_only_when_it_may_have_changed(
    db: Database, lane: Endpoint, ada: Human, clock: Clock
) -> None:
    presence.set_shift(db, ada, lane.slug, OFFICE)
    first = presence_sweep.settle_due(db, {}, most=10).looks
    clock.set(at(13))
    second = presence_sweep.settle_due(db, first, most=10)
    assert (second.looks[lane.id], second.next_in) == (first[lane.id], 4 * 3600.0)
    presence.set_override(db, ada, lane.slug, "in", at(15))

    third = presence_sweep.settle_due(db, second.looks, most=10)

    assert third.next_in == 2 * 3600.0
    clock.set(at(15))
    assert presence_sweep.settle_due(db, third.looks, most=10).settled == 1


def test_an_endpoint_whose_time_is_over_is_let_be(
    db: Database, make: Make, ada: Human, clock: Clock
) -> None:
    clock.set(at(8))
    lane = make.endpoint(ada, expires_at=at(9))
    presence.set_shift(db, ada, lane.slug, OFFICE)
    clock.set(at(9))

    assert swept(db) == (0, None)
    assert presence.settle(db, lane.id) is False
