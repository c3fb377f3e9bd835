"""The presence job: how often, and that two leaders settle each edge once."""

from __future__ import annotations

from datetime import timedelta

from app.db.database import Database
from app.transactions import presence
from app.transactions.pruning import Retention
from jobs import runner
from jobs.presence import EVERY, MOST, Timekeeper
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.race import all_returned, together

EVENING = "2026-11-30T20:00:00Z"


def test_it_runs_every_30_seconds_at_the_longest_and_on_every_notice(db: Database) -> None:
    job = next(each for each in runner.jobs_of(db, Retention()) if each.name == "presence")

    assert (job.every, EVERY, job.is_timed) == (30, 30, True)


def test_two_leaders_settle_an_edge_once(db: Database, make: Make, clock: Clock) -> None:
    clock.set(EVENING)
    ada = make.human()
    lanes = [make.endpoint(ada) for _ in range(4)]
    for lane in lanes:
        presence.set_shift(db, ada, lane.slug, "09:00-17:00")
        make.todo(lane, rings=True)
    keepers = [Timekeeper(), Timekeeper()]
    assert [keeper.run_once(db).next_in for keeper in keepers] == [13 * 3600.0] * 2
    clock.advance(13 * 3600)

    all_returned(together(2, lambda number: keepers[number].run_once(db)))

    assert [keeper.run_once(db).next_in for keeper in keepers] == [8 * 3600.0] * 2
    told = make.rows("select meta->>'reason', count(*) from doorbells group by 1")
    assert told == [("shift_start", len(lanes))]
    assert make.value("select count(*) from endpoints where presence_seen = 'in'") == len(lanes)


def test_one_turn_is_bounded(db: Database, make: Make, clock: Clock) -> None:
    at = clock.set(EVENING)
    ada = make.human()
    for _ in range(MOST + 1):
        lane = make.endpoint(ada, queues=())
        make.run("update endpoints set presence_override = 'out', override_by = 'agent',"
                 " override_set_at = %s, override_until = %s, presence_seen = 'out' where id = %s",
                 at - timedelta(hours=1), at, lane.id)
    keeper = Timekeeper()

    turns = [keeper.run_once(db) for _ in range(3)]

    assert [(turn.settled, turn.next_in) for turn in turns] == [(MOST, 0.0), (1, 0.0), (0, None)]
