"""The stream of a page, read frame by frame: what it sends, to whom, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote
from uuid import uuid4

import pytest
from werkzeug.datastructures import MultiDict

from a11y.support.site import serving
from app.db.changes import Change
from app.db.database import Database
from app.db.listener import Listener
from app.domain.callers import Endpoint, Human
from app.edge.broadcast import MOST_QUEUES, Mailbox, Recent
from app.transactions import membership
from app.web.stream_wants import read_wants
from tests.support.clock import Clock
from tests.support.events import Events, Frame
from tests.support.make import Make, QueueId
from tests.support.wait import wait_for

pytestmark = [pytest.mark.req("REQ-11"), pytest.mark.rule("board.md, Live updates")]


@dataclass
class Scene:
    """A site, a person with a budgeted and a free queue, and someone else's."""

    url: str
    db: Database
    make: Make
    clock: Clock
    ana: Human
    lane: Endpoint
    inbox: QueueId
    free: QueueId
    session: str

    def open(self, query: str = "") -> Events:
        """The person's stream, up to and including its `live`."""
        events = Events(self.url, self.session, query)
        events.named("live")
        return events

    def changed(self, *queue_ids: int) -> None:
        self.db.feed.changed(*(queue_ids or (self.inbox,)))

    def cap(self, number: int) -> None:
        """A policy write, as another process makes it."""
        self.make.run("update admission_policies set max_in_flight = %s where queue_id = %s",
                      number, int(self.inbox))
        self.changed()


@pytest.fixture
def scene(db: Database, listener: Listener, make: Make, clock: Clock) -> Iterator[Scene]:
    ana = make.human("Ana")
    lane = make.endpoint(ana, queues=("inbox", "free"))
    inbox, free = make.queue_id(lane), make.queue_id(lane, "free")
    make.policy(inbox, max_in_flight=5, max_claims_per_window=10)
    with serving(db, listener) as url:
        yield Scene(url, db, make, clock, ana, lane, inbox, free, make.session(ana))


def names(frames: list[Frame]) -> list[str]:
    return [frame.event for frame in frames if frame.event]


def test_it_begins_with_its_retry_and_every_header_and_says_nothing(scene: Scene) -> None:
    with Events(scene.url, scene.session) as events:
        assert events.answer.status == 200
        assert events.answer.getheader("Content-Type") == "text/event-stream; charset=utf-8"
        assert events.answer.getheader("Cache-Control") == "no-store"
        assert events.next() == Frame(retry=3000)
        assert events.next().event == "live"
        shown = events.next()
        assert shown.event == f"counts-{scene.inbox}"
        assert "0 of 10 used · 0 of 5 in flight" in shown.data
        assert f'id="q-{scene.inbox}-fig" data-hx-swap-oob="true">0 of 10 used' in shown.data
        assert events.quiet(0.5) == []


def test_an_alarm_is_sent_with_its_figures_and_then_its_sentence(scene: Scene) -> None:
    with scene.open() as events:
        events.named(f"counts-{scene.inbox}")
        scene.cap(0)

        frames = [events.next(), events.next()]

    assert names(frames) == [f"counts-{scene.inbox}", f"say-{scene.inbox}"]
    assert "Paused" in frames[0].data
    assert frames[1].data.startswith("inbox: paused")
    assert "<" not in frames[1].data


def test_only_the_viewers_own_queues_are_ever_sent(scene: Scene) -> None:
    make = scene.make
    ben = make.human("Ben")
    foreign = make.queue_id(make.endpoint(ben))
    make.policy(foreign, max_in_flight=3)
    with scene.open() as ours, Events(scene.url, make.session(ben)) as theirs:
        theirs.named(f"counts-{foreign}")
        make.run("update admission_policies set max_in_flight = 0")
        scene.changed(scene.inbox, foreign)
        theirs.named(f"say-{foreign}")
        ours.named(f"say-{scene.inbox}")

        assert not [frame for frame in ours.seen if str(foreign) in frame.event]
        assert not [frame for frame in theirs.seen if str(scene.inbox) in frame.event.split("-")]


def test_a_membership_that_ends_takes_the_queue_away(scene: Scene) -> None:
    make = scene.make
    team = make.team()
    make.member(team, scene.ana)
    shared = make.team_queue(team)
    make.policy(shared, max_in_flight=3)
    with scene.open() as events:
        events.named(f"counts-{shared}")
        make.remove_member(team, scene.ana)
        make.run("update admission_policies set max_in_flight = 0 where queue_id = %s", int(shared))
        scene.changed(shared)

        assert names([events.next()]) == ["resync"]
        scene.cap(0)
        events.named(f"say-{scene.inbox}")
    assert f"say-{shared}" not in names(events.seen)


def test_a_team_queue_is_told_to_its_members_until_they_are_removed(scene: Scene) -> None:
    make, cleo = scene.make, scene.make.human("Cleo")
    team = make.team("night")
    for human in (scene.ana, cleo):
        make.member(team, human)
    shared = make.team_queue(team, "triage")
    make.policy(shared, max_in_flight=3)
    held = make.todo(queue=shared, state="claimed", holder=scene.ana, title="Held")
    query = f"?cards={quote(make.now().isoformat())}"
    with scene.open(query) as ours, Events(scene.url, make.session(cleo), query) as theirs:
        theirs.named("live")
        first = make.todo(queue=shared, title="First")
        scene.changed(shared)
        told = [events.named(f"cards-{shared}", "First") for events in (ours, theirs)]

        membership.remove_member(scene.db, team.id, scene.ana.id)
        later = theirs.named(f"cards-{shared}", "2 pending")
        ours.named("resync")
        seen = len(ours.seen)
        make.todo(queue=shared, title="Second")
        make.run("update admission_policies set max_in_flight = 0 where queue_id = %s", int(shared))
        scene.changed(shared)
        theirs.named(f"say-{shared}")
        scene.cap(0)
        ours.named(f"say-{scene.inbox}")

    for frame in told:
        assert f"todo-{first}-claim" in frame.data
        assert f"todo-{first}-discard" not in frame.data
        assert "Held" in frame.data
    assert f"todo-{held}-claim" in later.data  # it was handed back
    assert not [frame for frame in ours.seen[seen:] if frame.event.endswith(f"-{shared}")]


def test_a_new_queue_and_a_new_budget_make_the_page_load_afresh(scene: Scene) -> None:
    with scene.open() as events:
        other = scene.make.queue_id(scene.make.endpoint(scene.ana, queues=("night",)), "night")
        scene.changed(other)
        events.named("resync")

        scene.make.policy(scene.free, max_in_flight=2)
        scene.changed(scene.free)
        events.named("resync")
        events.named(f"counts-{scene.free}", "0 of 2 in flight")


def test_a_budget_that_is_cleared_empties_its_header_and_ends_the_alarm_once(
    scene: Scene
) -> None:
    scene.make.run("update admission_policies set max_in_flight = 0")
    with scene.open() as events:
        events.named(f"counts-{scene.inbox}", "Paused")
        scene.make.run("delete from admission_policies")
        scene.changed()

        cleared = events.named(f"counts-{scene.inbox}")
        said = events.named(f"say-{scene.inbox}")

        assert "tag" not in cleared.data
        assert f'id="q-{scene.inbox}-fig" data-hx-swap-oob="true"></span>' in cleared.data
        assert said.data == "inbox: no budget"
        assert "resync" in names(events.seen)
        scene.make.policy(scene.inbox, max_in_flight=0)
        scene.changed()
        events.named(f"counts-{scene.inbox}", "Paused")
        events.named(f"say-{scene.inbox}", "inbox: paused")
    assert names(events.seen).count(f"say-{scene.inbox}") == 2


def test_a_budget_that_was_cleared_while_nobody_listened_is_said_on_opening(scene: Scene) -> None:
    scene.make.run("delete from admission_policies")
    with scene.open(f"?told={scene.inbox}p.{scene.free}n&again=yes") as events:
        shown = events.named(f"counts-{scene.inbox}")
        assert "tag" not in shown.data
        assert events.named(f"say-{scene.inbox}").data == "inbox: no budget"
    assert not [name for name in names(events.seen) if name.endswith(f"-{scene.free}")]


def test_lists_are_sent_to_pages_that_show_them_from_the_pages_own_markup(scene: Scene) -> None:
    todo = scene.make.todo(scene.lane, title="<b>bold</b>")
    with scene.open("?cards=2020-01-01T00:00:00Z") as cards, scene.open() as plain:
        found = cards.named(f"cards-{scene.inbox}")
        assert f'id="todo-{todo}"' in found.data
        assert "&lt;b&gt;bold&lt;/b&gt;" in found.data
        assert f'id="q-{scene.inbox}-todos">1 pending' in found.data
        assert f'id="q-{scene.inbox}-links"' in found.data

        scene.make.run("delete from todos")
        scene.changed()
        cards.named(f"cards-{scene.inbox}", "0 pending")
        scene.cap(0)
        plain.named(f"say-{scene.inbox}")
    assert not [name for name in names(plain.seen) if name.startswith("cards-")]


def test_a_page_with_lists_gets_those_that_changed_since_it_was_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.web.stream_looks._EARLIER", 0.0)
    with scene.open(f"?cards={stamp(scene)}"):
        heard_from = scene.make.now()  # from here on this process remembers what it hears
    wait_for(lambda: scene.make.now() > heard_from + timedelta(seconds=1.1))
    read_at = stamp(scene)
    scene.make.todo(scene.lane)
    scene.changed()

    with scene.open(f"?cards={read_at}") as events:
        events.named(f"cards-{scene.inbox}", "1 pending")
        assert f"cards-{scene.free}" not in names([*events.seen, *events.quiet(0.3)])
    with scene.open(f"?cards={read_at}&again=yes") as events:
        assert names(events.quiet(0.5)) == [f"counts-{scene.inbox}"]


def stamp(scene: Scene) -> str:
    return scene.make.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_page_of_one_queue_hears_of_that_one(scene: Scene) -> None:
    scene.make.policy(scene.free, max_in_flight=2)
    with scene.open(f"?queue={scene.free}") as events:
        events.named(f"counts-{scene.free}")
        scene.cap(0)
        scene.make.run("update admission_policies set max_in_flight = 0")
        scene.changed(scene.inbox, scene.free)
        events.named(f"say-{scene.free}")
    assert {name.rpartition("-")[2] for name in names(events.seen)} == {"live", str(scene.free)}


def test_the_end_of_a_window_and_of_a_fault_needs_no_notice(scene: Scene) -> None:
    def move_to(hour: int, minute: int, second: int) -> None:
        now = scene.make.now()
        then = now.replace(hour=hour, minute=minute, second=second)
        scene.clock.advance((then - now).total_seconds())

    move_to(12, 0, 0)
    scene.make.run(
        "insert into admission_windows (policy_id, window_start, used, limit_at_last_charge)"
        " select id, date_trunc('day', clock(), 'UTC'), 10, 10 from admission_policies")
    scene.make.run("insert into admission_faults (queue_id, kind, at)"
                   " values (%s, 'lock_timeout', clock())", int(scene.inbox))
    scene.session = scene.make.session(scene.ana, seconds=24 * 3600)
    with scene.open() as events:
        events.named(f"counts-{scene.inbox}", "Budget used up", "claims refused at 12:00")

        move_to(12, 9, 58)
        shown = events.named(f"counts-{scene.inbox}")
        assert "claims refused" not in shown.data
        move_to(23, 59, 58)
        events.named(f"counts-{scene.inbox}", "Admitting", "0 of 10 used")
        events.named(f"say-{scene.inbox}", "inbox: admitting, 0 of 10 used")


def test_who_wants_status_changes_only_is_told_no_count(scene: Scene) -> None:
    scene.make.run("update humans set announce = 'status_only'")
    with scene.open(f"?told={scene.inbox}a&again=yes") as events:
        events.named(f"counts-{scene.inbox}")
        scene.cap(0)
        events.named(f"say-{scene.inbox}", "paused")


def test_an_alarm_that_came_while_nobody_listened_is_said_on_opening(scene: Scene) -> None:
    scene.cap(0)
    with scene.open(f"?told={scene.inbox}a") as events:
        assert names([events.next(), events.next()]) == [
            f"counts-{scene.inbox}", f"say-{scene.inbox}"]
    with scene.open(f"?told={scene.inbox}p") as events:
        assert names(events.quiet(0.5)) == [f"counts-{scene.inbox}"]


def test_a_stranger_gets_one_word_and_no_figures(scene: Scene) -> None:
    for session in (None, "made-up"):
        with Events(scene.url, session) as events:
            frames = events.rest()
            assert events.answer.status == 200
        assert frames[0] == Frame(retry=60_000)
        assert names(frames) == ["signed-out"]
        assert 'href="/login"' in frames[1].data


@pytest.mark.parametrize("end", [
    "delete from sessions",
    "update sessions set expires_at = clock() - interval '1 second'",
    "update humans set suspended_at = clock()",
])
def test_a_session_that_ends_ends_its_streams_with_a_way_back(scene: Scene, end: str) -> None:
    with scene.open() as events:
        scene.make.run(end)
        scene.cap(0)

        frames = events.rest()

    assert names(frames)[-1] == "signed-out"
    assert f"say-{scene.inbox}" not in names(frames)


def test_an_idle_stream_notices_the_end_of_its_session(scene: Scene) -> None:
    with scene.open() as events:
        scene.clock.advance(13 * 3600)
        assert names(events.rest())[-1] == "signed-out"


def test_a_pause_ends_the_streams_of_its_session_and_refuses_new_ones(scene: Scene) -> None:
    other = scene.make.session(scene.ana)
    with scene.open() as events, Events(scene.url, other) as elsewhere:
        scene.make.run("update sessions set live_paused_at = clock() where token_hash = "
                       "encode(sha256(%s::bytea), 'hex')", scene.session)
        assert names(events.rest())[-1] == "paused"
        with Events(scene.url, scene.session) as refused:
            assert names(refused.rest()) == ["paused"]
        scene.cap(0)
        elsewhere.named(f"say-{scene.inbox}")


def test_the_fifth_stream_of_a_session_is_not_live_and_the_first_to_leave_makes_room(
    scene: Scene
) -> None:
    streams = [scene.open() for _ in range(4)]
    with Events(scene.url, scene.session) as fifth:
        frames = fifth.rest()
        assert fifth.answer.status == 200
    assert frames[0] == Frame(retry=60_000)
    assert names(frames) == ["not-live"]
    with Events(scene.url, scene.make.session(scene.ana)) as other:
        other.named("live")

    streams[0].close()

    def is_let_in() -> bool:
        with Events(scene.url, scene.session) as again:
            again.next()
            return again.next().event == "live"

    wait_for(is_let_in, 20)
    for stream in streams:
        stream.close()


def test_a_stream_tells_that_it_is_there_when_nothing_happens(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.web.streams.KEEP_ALIVE_EVERY", 0.5)
    with scene.open() as events:
        assert events.until(lambda frame: frame.comment).comment == "still here"


def test_a_lost_notice_is_made_up_for(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.web.stream_looks.REREAD_ALL", 1.5)
    with scene.open() as events:
        scene.make.run("update admission_policies set max_in_flight = 0")  # and nobody says so
        events.named(f"say-{scene.inbox}", "paused")


def test_lost_notices_make_every_page_load_afresh(scene: Scene, listener: Listener) -> None:
    with scene.open() as events:
        # What its connection asked last: to listen, or whether the other end is there.
        scene.make.run("select pg_terminate_backend(pid) from pg_stat_activity where"
                       " datname = current_database()"
                       " and (query ilike 'listen%%' or query = 'select 1')")
        events.named("resync", timeout=15)
        assert listener.is_listening(10)
        scene.cap(0)
        events.named(f"say-{scene.inbox}")


def test_a_full_mailbox_is_emptied_for_one_word(listener: Listener) -> None:
    with Mailbox(listener) as box:
        for number in range(MOST_QUEUES):
            box.hear(Change(changed=frozenset({number})))
        box.hear(Change(changed=frozenset({0})))
        assert len(box.take(0).queue_ids) == MOST_QUEUES
        assert not box.take(0)

        for number in range(MOST_QUEUES + 1):
            box.hear(Change(ready=frozenset({number})))
        box.hear(Change(reopened=frozenset({5})))
        news = box.take(0)
    assert (news.is_lost, news.queue_ids) == (True, frozenset())


def test_a_mailbox_ignores_presence_and_wakes_for_a_moved_clock(listener: Listener) -> None:
    box = Mailbox(listener)
    box.hear(Change(endpoints=frozenset({uuid4()})))
    assert not box.take(0)
    box.hear(Change())
    assert box.take(0).is_timer


def test_what_was_heard_lately_is_known_only_for_the_time_of_listening(
    listener: Listener
) -> None:
    clock = [100.0]
    recent = Recent(lambda: clock[0])
    assert recent.within(listener, 5) is None
    clock[0] = 110.0
    recent.hear(Change(changed=frozenset({1})))
    clock[0] = 114.0
    recent.hear(Change(ready=frozenset({2})))
    clock[0] = 116.0

    assert recent.within(listener, 3) == {2}
    assert recent.within(listener, 10) == {1, 2}
    assert recent.within(listener, 17) is None
    recent.hear(Change(everything=True))
    assert recent.within(listener, 1) is None
    clock[0] = 1000.0
    assert recent.within(listener, 2) == frozenset()
    assert recent.within(listener, 601) is None


@pytest.mark.parametrize("query", [
    {}, {"queue": "x"}, {"cards": "yesterday"}, {"told": "7z,;drop"}, {"queue": "9" * 30}])
def test_a_query_that_makes_no_sense_counts_as_not_said(query: dict[str, str]) -> None:
    wants = read_wants(MultiDict(query))
    assert (wants.queue_ids, wants.cards_since, wants.told) == (None, None, {})
