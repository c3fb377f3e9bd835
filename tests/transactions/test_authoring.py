"""A person's todo: deduplicated among many callers, and never left behind by a revoke."""

from __future__ import annotations

from app.db.database import Database
from app.domain.authoring import NewWork
from app.transactions import authoring, endpoints
from tests.support.feed import RecordingFeed
from tests.support.make import Make
from tests.support.race import all_returned, together


def test_twenty_writers_of_one_key_make_one_todo_and_one_event(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    work = NewWork(title="t", key="once")

    made = all_returned(
        together(20, lambda _: authoring.add_todo(db, human, endpoint.slug, work))
    )

    assert len({authored.todo.id for authored in made}) == 1
    assert sum(authored.todo.created for authored in made) == 1
    assert make.value("select count(*) from todos") == 1
    assert make.value("select count(*) from events") == 1


def test_a_new_todo_wakes_its_queue_and_a_repeat_does_not(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    assert isinstance(db.feed, RecordingFeed)
    authoring.add_todo(db, human, endpoint.slug, NewWork(title="t", key="once"))
    told = db.feed.ids("ready")
    authoring.add_todo(db, human, endpoint.slug, NewWork(title="t", key="once"))

    assert set(told) == {int(make.queue_id(endpoint))}
    assert db.feed.ids("ready") == told


def test_no_todo_outlives_a_revoke_that_ran_beside_it(db: Database, make: Make) -> None:
    human = make.human()
    for _ in range(5):
        endpoint = make.endpoint(human)

        def act(number: int, slug: str = endpoint.slug) -> object:
            if number == 3:
                return endpoints.revoke(db, human, slug)
            return authoring.add_todo(db, human, slug, NewWork(title="t"))

        together(8, act)

        live = "select count(*) from todos where endpoint_id = %s and state <> 'failed'"
        assert make.value(live, endpoint.id) == 0
        assert make.value("select state from endpoints where id = %s", endpoint.id) == "revoked"
