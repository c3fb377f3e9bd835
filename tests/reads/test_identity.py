"""A secret is looked up by its hash, and only what lives is found."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest

from app.db.database import Database
from app.domain.tokens import hash_token
from app.reads import identity
from tests.support.clock import Clock
from tests.support.make import Make


def _grant(make: Make, token: str, column: str, owner: object, **more: object) -> None:
    if "client_id" in more:
        make.run("insert into oauth_clients (client_id, client_name, redirect_uris)"
                 " values (%s, 'an app', '{https://app.example.org/}')", more["client_id"])
        more["grant_id"] = uuid.uuid4()
    names = "".join(f", {name}" for name in more)
    holes = ", %s" * len(more)
    make.run(f"insert into oauth_tokens (token_hash, {column}{names}) values (%s, %s{holes})",
             hash_token(token), owner, *more.values())


def test_a_credential_names_its_endpoint_with_owner_and_scope(db: Database, make: Make) -> None:
    made = make.endpoint(queues=("inbox", "lane-m"), verbs=("claim", "whoami"))

    found = identity.endpoint_by_token(db, make.credential(made))

    assert found is not None
    assert found.endpoint == made
    assert (found.is_suspended, found.is_stale, found.grant_hash) == (False, True, None)


def test_a_revoked_an_expired_and_an_unknown_credential_are_all_nobody(
    db: Database, make: Make
) -> None:
    revoked = make.endpoint()
    make.run("update endpoints set state = 'revoked' where id = %s", revoked.id)
    expired = make.endpoint(expires_at=make.now())

    for token in (make.credential(revoked), make.credential(expired), "sbk_unknown", "x"):
        assert identity.endpoint_by_token(db, token) is None


def test_an_agent_grant_opens_its_endpoint_until_it_or_the_endpoint_ends(
    db: Database, make: Make, clock: Clock
) -> None:
    made = make.endpoint(expires_at=make.now() + timedelta(hours=2))
    verbs = sorted(made.verbs)
    _grant(make, "granted", "endpoint_id", made.id, client_id="c", scope_verbs=verbs,
           granted_by_human_id=made.owner_human_id, expires_at=make.now() + timedelta(hours=1))
    _grant(make, "longer", "endpoint_id", made.id, client_id="d", scope_verbs=verbs,
           granted_by_human_id=made.owner_human_id)

    found = identity.endpoint_by_token(db, "granted")

    assert found is not None
    assert (found.endpoint, found.grant_hash) == (made, hash_token("granted"))
    clock.advance(3601)
    assert identity.endpoint_by_token(db, "granted") is None
    assert identity.endpoint_by_token(db, "longer") is not None
    clock.advance(3600)
    assert identity.endpoint_by_token(db, "longer") is None


def test_a_grant_without_verbs_opens_none(db: Database, make: Make) -> None:
    made = make.endpoint()
    _grant(make, "bare", "endpoint_id", made.id, granted_by_human_id=made.owner_human_id)

    found = identity.endpoint_by_token(db, "bare")

    assert found is not None
    assert (found.endpoint.id, found.endpoint.verbs) == (made.id, frozenset())


def test_a_suspended_owner_is_said_of_the_endpoint(db: Database, make: Make) -> None:
    own, teams = make.endpoint(), make.endpoint(team=make.team("night"))
    make.run("update humans set suspended_at = clock() where id = %s", own.owner_human_id)
    make.run("update teams set suspended_at = clock()")

    for made in (own, teams):
        found = identity.endpoint_by_token(db, make.credential(made))

        assert found is not None
        assert found.is_suspended


def test_a_humans_token_never_names_an_endpoint_and_the_reverse(db: Database, make: Make) -> None:
    made = make.endpoint()
    _grant(make, "agent-grant", "endpoint_id", made.id)

    assert identity.endpoint_by_token(db, make.operator_token(make.human())) is None
    assert identity.human_by_operator_token(db, make.credential(made)) is None
    assert identity.human_by_operator_token(db, "agent-grant") is None


def test_an_operator_token_names_its_human_and_itself(db: Database, make: Make) -> None:
    ana = make.human("Ana", email="ana@sb.example")
    token = make.operator_token(ana, name="laptop")

    found = identity.human_by_operator_token(db, token)

    assert found is not None
    assert found.human == ana
    assert (found.token.name, found.token.kind) == ("laptop", "operator")
    assert (found.token.token_hash, found.token.last_used_at) == (hash_token(token), None)


@pytest.mark.parametrize("ending", [
    "update oauth_tokens set revoked_at = clock()",
    "update oauth_tokens set expires_at = clock()",
    "update humans set suspended_at = clock()",
])
def test_a_token_that_ended_names_nobody(db: Database, make: Make, ending: str) -> None:
    token = make.operator_token(make.human())
    make.run(ending)

    assert identity.human_by_operator_token(db, token) is None


def test_a_session_ends_twelve_hours_after_its_last_request(
    db: Database, make: Make, clock: Clock
) -> None:
    token = make.session(make.human("Ana"))
    clock.advance(12 * 3600 - 5)

    found = identity.session_by_token(db, token)

    assert found is not None
    assert (found.human.display_name, found.zone, found.theme) == ("Ana", None, "system")
    clock.advance(10)
    assert identity.session_by_token(db, token) is None


def test_a_session_ends_thirty_days_after_sign_in_whatever_its_row_says(
    db: Database, make: Make, clock: Clock
) -> None:
    token = make.session(make.human(), seconds=40 * 86400)
    clock.advance(30 * 86400 - 5)

    assert identity.session_by_token(db, token) is not None
    clock.advance(10)
    assert identity.session_by_token(db, token) is None


def test_a_session_is_stale_a_minute_after_it_was_moved(
    db: Database, make: Make, clock: Clock
) -> None:
    token = make.session(make.human())

    fresh = identity.session_by_token(db, token)
    clock.advance(61)
    later = identity.session_by_token(db, token)

    assert fresh is not None
    assert later is not None
    assert (fresh.is_stale, later.is_stale) == (False, True)


def test_looking_at_a_link_does_not_use_it(db: Database, make: Make, clock: Clock) -> None:
    token = make.login_link(make.human())

    assert [identity.is_link_live(db, token) for _ in range(3)] == [True, True, True]
    assert not identity.is_link_live(db, "unknown")
    clock.advance(901)
    assert not identity.is_link_live(db, token)
