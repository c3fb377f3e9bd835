"""Pages of events, by the human's own scope."""

from __future__ import annotations

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint
from app.domain.errors import InvalidArgument, NotFound
from app.reads import events
from tests.support.make import Make, Team


def _event(make: Make, *, endpoint: Endpoint | None = None, team: Team | None = None) -> int:
    found = make.value(
        "insert into events (source, family, trust_mode, verified, endpoint_id, team_id)"
        " values ('generic', 'webhook', 'token', false, %s, %s) returning id",
        endpoint.id if endpoint else None,
        team.id if team else None,
    )
    assert isinstance(found, int)
    return found


def test_own_endpoints_and_own_teams_are_one_scope(db: Database, make: Make) -> None:
    human, team, others = make.human(), make.team(), make.team()
    make.member(team, human)
    ids = [
        _event(make, endpoint=make.endpoint(human)),
        _event(make, team=team),
        _event(make, endpoint=make.endpoint(team=team)),
    ]
    foreign = [_event(make, team=others), _event(make, endpoint=make.endpoint())]

    page = events.page_events(db, human, None, 50)

    assert [event.id for event in page.events] == ids[::-1]
    assert page.next_cursor is None
    for event_id in foreign:
        with pytest.raises(NotFound):
            events.get_event(db, human, str(event_id))


def test_a_full_last_page_has_no_next(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human)
    ids = [_event(make, endpoint=endpoint) for _ in range(4)]

    first = events.page_events(db, human, None, 2)
    second = events.page_events(db, human, first.next_cursor, 2)

    assert [event.id for event in (*first.events, *second.events)] == ids[::-1]
    assert second.next_cursor is None


def test_a_foreign_cursor_is_refused(db: Database, make: Make) -> None:
    with pytest.raises(InvalidArgument) as refused:
        events.page_events(db, make.human(), "bm90LWFuLWV2ZW50", 2)

    assert refused.value.field == "cursor"


def test_an_event_names_only_the_todos_its_reader_may_see(db: Database, make: Make) -> None:
    human = make.human()
    own, foreign = make.endpoint(human), make.endpoint()
    event_id = _event(make, endpoint=own)
    mine, theirs = make.todo(own), make.todo(foreign)
    make.run("update todos set event_id = %s where id = any (%s)", event_id, [mine.id, theirs.id])

    assert events.get_event(db, human, str(event_id)).todos == (mine.id,)
