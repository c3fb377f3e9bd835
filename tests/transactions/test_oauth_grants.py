"""The apps a person has let in: listed to those who may end them, and ended by them."""

from __future__ import annotations

import uuid

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.errors import NotFound
from app.reads import identity, oauth_grants
from app.transactions import endpoints
from app.transactions import oauth_grants as ending
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.oauth import App, an_app, fault


@pytest.fixture
def ada(make: Make) -> Human:
    return make.human("Ada")


@pytest.fixture
def lane(make: Make, ada: Human) -> Endpoint:
    return make.endpoint(ada)


@pytest.fixture
def widget(db: Database, make: Make) -> App:
    return an_app(db, make, name="Widget agent")


def slugs(db: Database, human: Human) -> set[str | None]:
    return {each.endpoint_slug for each in oauth_grants.held(db, human)}


def test_a_grant_says_which_app_may_do_what_and_who_let_it_in(
    db: Database, widget: App, ada: Human, lane: Endpoint
) -> None:
    widget.tokens(ada)
    widget.tokens(ada, lane, ("complete", "claim"))

    agent, operator = oauth_grants.held(db, ada)

    assert (agent.client_name, agent.kind, agent.endpoint_slug) == (
        "Widget agent", "agent", lane.slug)
    assert (set(agent.verbs), agent.granted_by, agent.in_all) == ({"claim", "complete"}, "Ada", 2)
    assert (operator.kind, operator.endpoint_slug, operator.verbs) == ("operator", None, [])
    assert oauth_grants.held_grant(db, ada, str(agent.grant_id)).verbs == agent.verbs


def test_only_who_may_configure_the_endpoint_sees_and_ends_its_grants(
    db: Database, make: Make, widget: App, ada: Human
) -> None:
    team, admin, member, stranger = make.team(), make.human(), make.human(), make.human()
    make.member(team, ada, "owner")
    make.member(team, admin, "admin")
    make.member(team, member, "member")
    ours = make.endpoint(ada, team)
    issued = widget.tokens(ada, ours)
    widget.tokens(ada)
    grant_id = str(next(each.grant_id for each in oauth_grants.held(db, admin)))

    assert slugs(db, ada) == {ours.slug, None}
    assert slugs(db, admin) == {ours.slug}
    assert slugs(db, member) == slugs(db, stranger) == set()
    for nobody in (member, stranger):
        with pytest.raises(NotFound):
            oauth_grants.held_grant(db, nobody, grant_id)
        with pytest.raises(NotFound):
            ending.revoke(db, nobody, grant_id)
    assert identity.endpoint_by_token(db, issued.access_token) is not None
    ending.revoke(db, admin, grant_id)
    assert identity.endpoint_by_token(db, issued.access_token) is None


def test_an_ended_grant_takes_its_refresh_along_and_is_listed_no_more(
    db: Database, widget: App, ada: Human
) -> None:
    issued = widget.tokens(ada)
    grant_id = str(oauth_grants.held(db, ada)[0].grant_id)

    ending.revoke(db, ada, grant_id)

    assert identity.human_by_operator_token(db, issued.access_token) is None
    assert fault(widget.refresh(issued.refresh_token)) == "invalid_grant"
    assert oauth_grants.held(db, ada) == []
    for again in (grant_id, str(uuid.uuid4()), "nonsense"):
        with pytest.raises(NotFound):
            ending.revoke(db, ada, again)


def test_a_grant_stays_listed_while_it_can_be_refreshed_and_no_longer(
    db: Database, make: Make, widget: App, ada: Human, lane: Endpoint, clock: Clock
) -> None:
    widget.tokens(ada)
    widget.tokens(ada, lane)
    make.operator_token(ada)
    clock.advance(2 * 3600)
    assert slugs(db, ada) == {lane.slug, None}
    endpoints.revoke(db, ada, lane.slug)
    assert slugs(db, ada) == {None}
    clock.advance(30 * 86400)
    assert slugs(db, ada) == set()
