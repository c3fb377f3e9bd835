"""A person's own settings, and the sentence their next page says once."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from psycopg_pool import ConnectionPool

from app.db.database import Database
from app.domain.callers import Human
from app.domain.errors import InvalidArgument, NotFound
from app.domain.tokens import hash_token
from app.transactions import flashes, preferences
from tests.support.make import Make
from tests.support.race import all_returned, together

GOOD = {"zone": "Europe/Berlin", "theme": "light", "announce": "status_only"}


@pytest.mark.parametrize(("field", "value"), [
    ("zone", "Mars/Olympus"), ("zone", ""), ("theme", "loud"), ("announce", "nothing"),
])
def test_a_value_that_cannot_be_chosen_is_refused_by_name(
    db: Database, make: Make, field: str, value: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        preferences.save(db, make.human(), **{**GOOD, field: value})

    assert refused.value.field == field


def test_settings_are_saved_for_a_person_who_is_there_and_for_nobody_else(
    db: Database, make: Make
) -> None:
    ana, ben = make.human("Ana"), make.human("Ben")

    preferences.save(db, ana, **GOOD)

    assert make.value("select array[zone, theme, announce] from humans where id = %s", ana.id) == [
        "Europe/Berlin", "light", "status_only"]
    assert make.value("select zone is null from humans where id = %s", ben.id)
    with pytest.raises(NotFound):
        preferences.save(db, Human(id=uuid.uuid4(), display_name="Nobody"), **GOOD)


def test_a_zone_is_offered_to_the_person_of_a_live_session_only(db: Database, make: Make) -> None:
    live, over = make.human(), make.human()
    preferences.offer_zone(db, make.session(live), "Asia/Tokyo")
    preferences.offer_zone(db, make.session(over, seconds=-1), "Asia/Tokyo")
    preferences.offer_zone(db, "unknown", "Asia/Tokyo")

    assert make.value("select zone from humans where id = %s", live.id) == "Asia/Tokyo"
    assert make.value("select zone from humans where id = %s", over.id) is None


def test_of_many_readers_of_a_sentence_one_gets_it(db: Database, make: Make) -> None:
    held = hash_token(make.session(make.human()))
    flashes.keep(db, held, "Saved.")

    said = all_returned(together(8, lambda _: flashes.take(db, held)))

    assert sorted(said, key=str) == [None] * 7 + ["Saved."]


def test_a_later_sentence_takes_the_place_of_one_that_nobody_read(
    db: Database, make: Make
) -> None:
    mine, other = (hash_token(make.session(make.human())) for _ in range(2))
    flashes.keep(db, mine, "First.")
    flashes.keep(db, mine, "Second, with 'quotes' and \u00fc.")

    assert flashes.take(db, other) is None
    assert flashes.take(db, mine) == "Second, with 'quotes' and \u00fc."


def test_a_sentence_that_cannot_be_kept_or_read_is_no_error(
    db: Database, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    away = replace(db, pool=ConnectionPool(open=False))
    token = make.session(make.human())

    flashes.keep(away, hash_token(token), "Saved.")
    preferences.offer_zone(away, token, "Asia/Tokyo")

    assert flashes.take(away, hash_token(token)) is None
    assert {"flash_missed", "flash_unread", "zone_missed"} <= set(caplog.text.split())
