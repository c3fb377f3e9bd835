"""Codes and refresh tokens: used once, bound to all they were made for, gone when copied."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.oauth import Fault
from app.domain.verbs import BASICS
from app.reads import identity
from app.transactions import endpoints, oauth_tokens
from app.transactions.oauth_tokens import Issued
from tests.support.clock import Clock
from tests.support.make import Make, Team
from tests.support.oauth import AGENT, CALLBACK, OPERATOR, App, an_app, fault, had, proven_by
from tests.support.race import all_returned, together

HOUR = 3600
MONTH = 30 * 86400


@pytest.fixture
def app_of_ada(db: Database, make: Make) -> App:
    return an_app(db, make)


@pytest.fixture
def ada(make: Make) -> Human:
    return make.human("Ada")


def opens_api(db: Database, issued: Issued) -> bool:
    return identity.human_by_operator_token(db, issued.access_token) is not None


def opens_agent(db: Database, issued: Issued) -> bool:
    return identity.endpoint_by_token(db, issued.access_token) is not None


def test_an_operator_grant_opens_the_humans_api_and_no_endpoint(
    db: Database, app_of_ada: App, ada: Human
) -> None:
    issued = had(app_of_ada.redeem(app_of_ada.allowed(ada), resource=OPERATOR))

    found = identity.human_by_operator_token(db, issued.access_token)
    assert found is not None
    assert (found.human, found.token.kind, found.token.name) == (ada, "oauth", "an app")
    assert (issued.expires_in, issued.scopes) == (HOUR, ("operator",))
    assert not opens_agent(db, issued)


def test_an_agent_grant_opens_its_endpoint_alone_with_the_verbs_ticked(
    db: Database, make: Make, app_of_ada: App, ada: Human
) -> None:
    lane, other = make.endpoint(ada), make.endpoint(ada)

    issued = app_of_ada.tokens(ada, lane, ("heartbeat", "claim"))

    found = identity.endpoint_by_token(db, issued.access_token)
    assert found is not None
    assert (found.endpoint.id, found.endpoint.verbs) == (lane.id, {"claim", "heartbeat"})
    assert found.endpoint.id != other.id
    assert issued.scopes == ("claim", "heartbeat")
    assert not opens_api(db, issued)


def test_a_verb_the_endpoint_lacks_is_not_opened_by_a_grant_that_names_it(
    db: Database, make: Make, app_of_ada: App, ada: Human
) -> None:
    issued = app_of_ada.tokens(ada, make.endpoint(ada), ("claim", "complete"))
    make.run("update oauth_tokens set scope_verbs = '{claim,set_admission_policy}'")

    found = identity.endpoint_by_token(db, issued.access_token)

    assert found is not None
    assert found.endpoint.verbs == {"claim"}


def test_of_twenty_who_bring_one_code_one_gets_tokens_and_they_end_with_it(
    db: Database, app_of_ada: App, ada: Human
) -> None:
    code = app_of_ada.allowed(ada)

    answers = all_returned(together(20, lambda _: app_of_ada.redeem(code)))

    won = [each for each in answers if isinstance(each, Issued)]
    lost = Counter(each.error for each in answers if isinstance(each, Fault))
    assert (len(won), lost) == (1, {"invalid_grant": 19})
    assert not opens_api(db, won[0])
    assert fault(app_of_ada.refresh(won[0].refresh_token)) == "invalid_grant"


def test_a_code_that_comes_again_ends_the_grant_also_from_another_app_and_much_later(
    db: Database, make: Make, app_of_ada: App, ada: Human, clock: Clock
) -> None:
    code = app_of_ada.allowed(ada)
    issued = had(app_of_ada.redeem(code))
    clock.advance(HOUR - 60)
    assert opens_api(db, issued)

    stranger = an_app(db, make)

    assert fault(stranger.redeem(code)) == "invalid_grant"
    assert not opens_api(db, issued)


@pytest.mark.parametrize("changed", [
    {"challenge": proven_by("another-verifier-of-forty-three-characters-xx")},
    {"challenge": ""},
    {"redirect_uri": CALLBACK + "/"},
    {"redirect_uri": CALLBACK.replace("43117", "43118")},
    {"resource": AGENT},
    {"resource": "nonsense"},
], ids=["verifier", "no verifier", "slash", "port", "other resource", "no resource"])
def test_a_code_with_one_part_wrong_is_refused_and_used_up(
    make: Make, app_of_ada: App, ada: Human, changed: dict[str, str]
) -> None:
    code = app_of_ada.allowed(ada)

    assert fault(app_of_ada.redeem(code, **changed)) == "invalid_grant"
    assert fault(app_of_ada.redeem(code)) == "invalid_grant"
    assert make.value("select count(*) from oauth_tokens") == 0


def test_a_code_is_its_own_apps_and_an_unknown_app_uses_nothing_up(
    db: Database, make: Make, app_of_ada: App, ada: Human
) -> None:
    code, another = app_of_ada.allowed(ada), app_of_ada.allowed(ada)

    assert fault(app_of_ada.redeem(code, client_id="nobody\x00")) == "invalid_client"
    assert isinstance(app_of_ada.redeem(code), Issued)
    assert fault(an_app(db, make).redeem(another)) == "invalid_grant"
    assert fault(app_of_ada.redeem(another)) == "invalid_grant"


def test_a_code_lives_for_a_minute(app_of_ada: App, ada: Human, clock: Clock) -> None:
    early, late = app_of_ada.allowed(ada), app_of_ada.allowed(ada)

    clock.advance(55)
    assert isinstance(app_of_ada.redeem(early), Issued)
    clock.advance(6)
    assert fault(app_of_ada.redeem(late)) == "invalid_grant"
    assert fault(app_of_ada.redeem("sbc_unknown")) == "invalid_grant"


def test_a_code_is_worth_nothing_once_its_endpoint_or_its_human_has_ended(
    db: Database, make: Make, app_of_ada: App, ada: Human
) -> None:
    lane = make.endpoint(ada)
    of_lane, of_ada = app_of_ada.allowed(ada, lane), app_of_ada.allowed(ada)

    endpoints.revoke(db, ada, lane.slug)
    assert fault(app_of_ada.redeem(of_lane)) == "invalid_grant"
    make.run("update humans set suspended_at = clock()")
    assert fault(app_of_ada.redeem(of_ada)) == "invalid_grant"


def test_only_hashes_are_kept(make: Make, app_of_ada: App, ada: Human) -> None:
    code = app_of_ada.allowed(ada)
    issued = had(app_of_ada.redeem(code))
    kept = str(make.value("select row_to_json(t)::text from oauth_tokens t"))
    kept += str(make.value("select row_to_json(c)::text from oauth_codes c"))

    for secret in (code, issued.access_token, issued.refresh_token):
        assert secret not in kept
        assert secret[4:30] not in kept


def test_an_access_token_lives_for_an_hour_and_a_refresh_replaces_both(
    db: Database, app_of_ada: App, ada: Human, clock: Clock
) -> None:
    first = app_of_ada.tokens(ada)
    clock.advance(HOUR - 5)
    assert opens_api(db, first)
    clock.advance(10)
    assert not opens_api(db, first)

    second = had(app_of_ada.refresh(first.refresh_token))

    assert opens_api(db, second)
    assert second.refresh_token != first.refresh_token
    assert not opens_api(db, first)


def test_a_refresh_token_that_was_rotated_ends_the_grant(
    db: Database, app_of_ada: App, ada: Human
) -> None:
    first = app_of_ada.tokens(ada)
    second = had(app_of_ada.refresh(first.refresh_token))
    third = had(app_of_ada.refresh(second.refresh_token))

    assert fault(app_of_ada.refresh(first.refresh_token)) == "invalid_grant"
    assert not opens_api(db, third)
    assert fault(app_of_ada.refresh(third.refresh_token)) == "invalid_grant"


def test_of_many_refreshes_at_once_one_wins_and_the_others_end_the_grant(
    db: Database, app_of_ada: App, ada: Human
) -> None:
    first = app_of_ada.tokens(ada)

    answers = all_returned(together(8, lambda _: app_of_ada.refresh(first.refresh_token)))

    won = [each for each in answers if isinstance(each, Issued)]
    assert len(won) == 1
    assert not opens_api(db, won[0])
    assert fault(app_of_ada.refresh(won[0].refresh_token)) == "invalid_grant"


def test_no_refresh_slips_past_a_revocation(db: Database, app_of_ada: App, ada: Human) -> None:
    for _ in range(5):
        issued = app_of_ada.tokens(ada)

        def act(number: int, held: Issued = issued) -> Issued | Fault | None:
            if number == 0:
                return oauth_tokens.revoke(db, held.access_token, app_of_ada.client_id)
            return app_of_ada.refresh(held.refresh_token)

        _, renewed = all_returned(together(2, act))

        if isinstance(renewed, Issued) and opens_api(db, renewed):
            # The refresh came first, and the token that was to be revoked had ended by then.
            assert oauth_tokens.revoke(db, renewed.refresh_token, app_of_ada.client_id) is None
            assert not opens_api(db, renewed)


def test_a_refresh_lives_thirty_days_from_the_last(
    app_of_ada: App, ada: Human, clock: Clock
) -> None:
    first = app_of_ada.tokens(ada)
    clock.advance(MONTH - 60)
    second = had(app_of_ada.refresh(first.refresh_token))
    clock.advance(MONTH + 1)

    assert fault(app_of_ada.refresh(second.refresh_token)) == "invalid_grant"


def test_a_refresh_token_is_its_own_apps(db: Database, make: Make, app_of_ada: App,
                                         ada: Human) -> None:
    issued, stranger = app_of_ada.tokens(ada), an_app(db, make)

    assert fault(stranger.refresh(issued.refresh_token)) == "invalid_grant"
    assert fault(app_of_ada.refresh(issued.refresh_token, client_id="x")) == "invalid_client"
    assert isinstance(app_of_ada.refresh(issued.refresh_token), Issued)


def test_a_refresh_may_narrow_the_scope_and_never_widen_it(
    db: Database, make: Make, app_of_ada: App, ada: Human
) -> None:
    lane = make.endpoint(ada, verbs=(*BASICS, "set_admission_policy"))
    first = app_of_ada.tokens(ada, lane, ("claim", "complete"))
    asked = ("claim fail", "set_admission_policy", "operator", "claim operator", "nothing")

    for scope in asked:
        assert fault(app_of_ada.refresh(first.refresh_token, scope=scope)) == "invalid_scope"
    narrow = had(app_of_ada.refresh(first.refresh_token, scope="complete"))

    found = identity.endpoint_by_token(db, narrow.access_token)
    assert found is not None
    assert (found.endpoint.verbs, narrow.scopes) == ({"complete"}, ("complete",))
    assert had(app_of_ada.refresh(narrow.refresh_token)).scopes == ("claim", "complete")


def test_a_refresh_for_another_resource_is_refused_and_rotates_nothing(
    make: Make, app_of_ada: App, ada: Human
) -> None:
    lane = make.endpoint(ada)
    issued = app_of_ada.tokens(ada, lane)
    named = f"{AGENT.removesuffix('/agent/v1')}/mcp/{lane.slug}"

    for resource in (OPERATOR, named, "nonsense"):
        refused = app_of_ada.refresh(issued.refresh_token, resource=resource)
        assert fault(refused) == "invalid_target"
    assert isinstance(app_of_ada.refresh(issued.refresh_token, resource=AGENT), Issued)


def test_a_grant_ends_with_its_endpoint_however_long_it_was_for(
    db: Database, make: Make, app_of_ada: App, ada: Human, clock: Clock
) -> None:
    lane = make.endpoint(ada, expires_at=make.now() + timedelta(minutes=10))
    issued = app_of_ada.tokens(ada, lane)
    assert 590 <= issued.expires_in <= 600
    second = had(app_of_ada.refresh(issued.refresh_token))
    assert 590 <= second.expires_in <= 600

    clock.advance(601)

    assert not opens_agent(db, second)
    assert fault(app_of_ada.refresh(second.refresh_token)) == "invalid_grant"
    latest = make.value("select max(refresh_expires_at) from oauth_tokens")
    assert latest == make.value("select expires_at from endpoints")


def test_a_revoked_endpoint_takes_its_grants_along(
    db: Database, make: Make, app_of_ada: App, ada: Human
) -> None:
    lane = make.endpoint(ada)
    issued = app_of_ada.tokens(ada, lane)

    endpoints.revoke(db, ada, lane.slug)

    assert not opens_agent(db, issued)
    assert fault(app_of_ada.refresh(issued.refresh_token)) == "invalid_grant"


@pytest.mark.parametrize("whose", ["human", "endpoint", "team"])
def test_nothing_is_renewed_while_the_owner_is_suspended(
    make: Make, app_of_ada: App, ada: Human, whose: str
) -> None:
    team = make.team()
    make.member(team, ada, "admin")
    lane = None if whose == "human" else make.endpoint(ada, team if whose == "team" else None)
    issued = app_of_ada.tokens(ada, lane)
    table = "teams" if whose == "team" else "humans"

    make.run(f"update {table} set suspended_at = clock()")
    assert fault(app_of_ada.refresh(issued.refresh_token)) == "invalid_grant"
    make.run(f"update {table} set suspended_at = null")

    assert isinstance(app_of_ada.refresh(issued.refresh_token), Issued)


# --- an agent grant holds while who gave it may configure the endpoint -------------------------


@pytest.fixture
def shared(make: Make, ada: Human) -> tuple[Team, Endpoint]:
    """A team in which Ada is an admin, and its endpoint, vended by its owner."""
    team, owner = make.team(), make.human()
    make.member(team, owner, "owner")
    make.member(team, ada, "admin")
    return team, make.endpoint(owner, team)


LOSSES = {
    "demoted": ("update team_members set role = 'member' where human_id = %s",
                "update team_members set role = 'admin' where human_id = %s"),
    "removed": ("delete from team_members where human_id = %s",
                "insert into team_members (team_id, human_id, role, source)"
                " select id, %s, 'owner', 'manual' from teams"),
    "suspended": ("update humans set suspended_at = clock() where id = %s",
                  "update humans set suspended_at = null where id = %s"),
}  # fmt: skip


@pytest.mark.rule("identity.md: OAuth server")
@pytest.mark.parametrize("loss", LOSSES)
def test_an_agent_grant_works_only_while_who_gave_it_may_configure_the_endpoint(
    db: Database, make: Make, app_of_ada: App, ada: Human, shared: tuple[Team, Endpoint], loss: str
) -> None:
    lane, (takes, gives) = shared[1], LOSSES[loss]
    issued, early = app_of_ada.tokens(ada, lane), app_of_ada.allowed(ada, lane)
    later = app_of_ada.allowed(ada, lane)
    grant = identity.endpoint_by_token(db, issued.access_token)
    assert grant is not None
    assert grant.grant_id is not None

    make.run(takes, ada.id)
    assert fault(app_of_ada.redeem(early)) == "invalid_grant"
    assert not opens_agent(db, issued)
    assert identity.live_grants(db, {grant.grant_id}) == set()
    assert fault(app_of_ada.refresh(issued.refresh_token)) == "invalid_grant"
    assert identity.endpoint_by_token(db, make.credential(lane)) is not None

    make.run(gives, ada.id)
    assert opens_agent(db, issued)
    assert identity.live_grants(db, {grant.grant_id}) == {grant.grant_id}
    assert opens_agent(db, had(app_of_ada.refresh(issued.refresh_token)))
    assert opens_agent(db, had(app_of_ada.redeem(later)))
    assert fault(app_of_ada.redeem(early)) == "invalid_grant"


@pytest.mark.rule("identity.md: OAuth server")
def test_a_grant_of_one_admin_outlives_the_role_of_another_and_one_source_of_their_own(
    db: Database, make: Make, app_of_ada: App, ada: Human, shared: tuple[Team, Endpoint]
) -> None:
    team, lane = shared
    other = make.human()
    make.member(team, other, "admin")
    make.member(team, ada, "admin", source="oidc_group")
    issued = app_of_ada.tokens(ada, lane)

    make.remove_member(team, other)
    make.run("update team_members set role = 'member' where human_id = %s and source = 'manual'",
             ada.id)
    assert opens_agent(db, issued)
    assert isinstance(app_of_ada.refresh(issued.refresh_token), Issued)


@pytest.mark.rule("identity.md: Ways in")
def test_a_grant_of_a_suspended_owner_is_told_so_and_not_refused_as_unknown(
    db: Database, make: Make, app_of_ada: App, ada: Human, shared: tuple[Team, Endpoint]
) -> None:
    held = [app_of_ada.tokens(ada, lane) for lane in (make.endpoint(ada), shared[1])]

    make.run("update teams set suspended_at = clock()")
    of_team = identity.endpoint_by_token(db, held[1].access_token)
    make.run("update humans set suspended_at = clock()")
    of_ada = identity.endpoint_by_token(db, held[0].access_token)

    assert [found is not None and found.is_suspended for found in (of_team, of_ada)] == [True] * 2


@pytest.mark.parametrize("which", ["access", "refresh", "rotated"])
def test_revoking_any_token_of_a_grant_ends_all_of_it(
    db: Database, app_of_ada: App, ada: Human, which: str
) -> None:
    old = app_of_ada.tokens(ada)
    issued = had(app_of_ada.refresh(old.refresh_token))
    token = {"access": issued.access_token, "refresh": issued.refresh_token,
             "rotated": old.refresh_token}[which]

    assert oauth_tokens.revoke(db, token, app_of_ada.client_id) is None

    assert not opens_api(db, issued)
    assert fault(app_of_ada.refresh(issued.refresh_token)) == "invalid_grant"
    assert oauth_tokens.revoke(db, token, app_of_ada.client_id) is None


def test_nobody_revokes_what_is_another_apps_or_no_grant(
    db: Database, make: Make, app_of_ada: App, ada: Human
) -> None:
    issued, stranger = app_of_ada.tokens(ada), an_app(db, make)
    operator = make.operator_token(ada)

    for token in (issued.access_token, issued.refresh_token, operator, "unknown"):
        assert oauth_tokens.revoke(db, token, stranger.client_id) is None
    assert opens_api(db, issued)
    assert identity.human_by_operator_token(db, operator) is not None
    refused = oauth_tokens.revoke(db, issued.access_token, "nobody")
    assert refused is not None
    assert refused.error == "invalid_client"
