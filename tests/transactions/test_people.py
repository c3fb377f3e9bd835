"""Humans, sign-in links, sessions and operator tokens, as identity.md says."""

from __future__ import annotations

import uuid

import pytest

from app.db.database import Database
from app.domain.errors import InvalidArgument, NotFound
from app.domain.tokens import hash_token
from app.reads import identity
from app.transactions import people
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.race import all_returned, together


def test_twenty_starts_on_an_empty_database_make_one_first_human(db: Database, make: Make) -> None:
    made = all_returned(together(12, lambda _: people.first_human(db)))

    assert [human.display_name for human in made if human] == ["operator"]
    assert make.value("select count(*) from humans") == 1


def test_there_is_no_first_human_once_anybody_is_there(db: Database, make: Make) -> None:
    make.human("Ada")

    assert people.first_human(db) is None


def test_a_human_is_made_with_a_trimmed_name_and_an_email(db: Database) -> None:
    human = people.create_human(db, display_name="  Ada ", email="ada@example.org")

    assert (human.display_name, human.email) == ("Ada", "ada@example.org")


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "a\nb"])
def test_a_name_that_cannot_be_shown_is_refused(db: Database, name: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        people.create_human(db, display_name=name)

    assert refused.value.field == "name"


def test_a_link_signs_in_once(db: Database, make: Make) -> None:
    human = make.human()
    token = people.login_link(db, human.id)

    session = people.consume_login_link(db, token)

    assert session is not None
    facts = identity.session_by_token(db, session)
    assert facts is not None
    assert facts.human.id == human.id
    assert people.consume_login_link(db, token) is None


def test_two_posts_of_one_link_make_one_session(db: Database, make: Make) -> None:
    token = people.login_link(db, make.human().id)

    sessions = all_returned(together(8, lambda _: people.consume_login_link(db, token)))

    assert len([session for session in sessions if session]) == 1


def test_a_link_ends_after_fifteen_minutes(db: Database, make: Make, clock: Clock) -> None:
    clock.set("2026-10-01T12:00:00Z")
    early, late = (people.login_link(db, make.human().id) for _ in range(2))

    clock.set("2026-10-01T12:14:59Z")
    assert people.consume_login_link(db, early) is not None
    clock.set("2026-10-01T12:15:00Z")
    assert people.consume_login_link(db, late) is None


@pytest.mark.parametrize("token", ["", "nonsense", "\x00", "\ud800"])
def test_an_unknown_link_signs_nobody_in(db: Database, token: str) -> None:
    assert people.consume_login_link(db, token) is None


def test_a_link_needs_a_human_who_may_sign_in(db: Database, make: Make) -> None:
    suspended = make.human()
    make.run("update humans set suspended_at = clock() where id = %s", suspended.id)

    for human_id in (uuid.uuid4(), suspended.id):
        with pytest.raises(NotFound):
            people.login_link(db, human_id)


def test_only_hashes_are_stored(db: Database, make: Make) -> None:
    human = make.human()
    link = people.login_link(db, human.id)
    operator = people.mint_operator_token(db, human.id, "laptop")
    session = people.create_session(db, human.id)

    stored = [
        make.value("select token_hash from login_links"),
        make.value("select token_hash from oauth_tokens"),
        make.value("select token_hash from sessions"),
    ]

    assert stored == [hash_token(link), hash_token(operator), hash_token(session)]


def test_signing_out_ends_the_session(db: Database, make: Make) -> None:
    session = people.create_session(db, make.human().id)

    people.end_session(db, session)
    people.end_session(db, session)

    assert identity.session_by_token(db, session) is None


def test_an_operator_token_names_its_human_until_it_is_revoked(db: Database, make: Make) -> None:
    human = make.human()
    token = people.mint_operator_token(db, human.id, "laptop")
    facts = identity.human_by_operator_token(db, token)
    assert token.startswith("sbo_")
    assert facts is not None
    assert (facts.human.id, facts.token.name, facts.token.kind) == (human.id, "laptop", "operator")

    people.revoke_operator_token(db, human, facts.token.token_hash)

    assert identity.human_by_operator_token(db, token) is None


def test_nobody_revokes_the_token_of_another(db: Database, make: Make) -> None:
    token = people.mint_operator_token(db, make.human().id)

    with pytest.raises(NotFound):
        people.revoke_operator_token(db, make.human(), hash_token(token))

    assert identity.human_by_operator_token(db, token) is not None


def test_a_token_is_minted_for_a_known_human_only(db: Database) -> None:
    with pytest.raises(NotFound):
        people.mint_operator_token(db, uuid.uuid4(), "laptop")
