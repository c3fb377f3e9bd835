"""Consent: who is shown what, who may say yes, and where the answer goes."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.errors import Conflict, InvalidArgument
from app.domain.verbs import ADMISSION, BASICS, GRANTABLE
from app.reads import identity
from app.transactions import endpoints, oauth
from app.transactions.oauth import Asked, SentBack
from tests.support.client import BASE_URL
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.oauth import AGENT, CALLBACK, App, an_app, code_in, had


@pytest.fixture
def app_of_ada(db: Database, make: Make) -> App:
    return an_app(db, make, name="Widget agent")


@pytest.fixture
def ada(make: Make) -> Human:
    return make.human("Ada")


@pytest.fixture
def lane(make: Make, ada: Human) -> Endpoint:
    return make.endpoint(ada, verbs=(*BASICS, *ADMISSION))


def shown(asked: Asked | SentBack) -> Asked:
    assert isinstance(asked, Asked), asked
    return asked


def told(asked: Asked | SentBack | str) -> dict[str, str]:
    """What a redirect URL says to the app."""
    url = asked.url if isinstance(asked, SentBack) else asked
    assert isinstance(url, str)
    assert url.startswith(CALLBACK + "?")
    return dict(parse_qsl(urlsplit(url).query))


@pytest.mark.parametrize("uri", [
    CALLBACK + "/", CALLBACK[:-1], CALLBACK.upper(), CALLBACK.replace("/callback", "/Callback"),
    CALLBACK.replace("43117", "43118"), CALLBACK.replace(":43117", ""), CALLBACK + "?x=1",
    CALLBACK + "#", CALLBACK + "#x", CALLBACK.replace("//", "//u@"), CALLBACK + "%2F",
    CALLBACK.replace("callback", "%63allback"), CALLBACK.replace("127.0.0.1", "localhost"),
    CALLBACK.replace("http", "https"), CALLBACK + "\x00", CALLBACK + " ", "/callback",
    CALLBACK.replace("/callback", "/x/../callback"), "https://evil.example/callback", None,
])
def test_a_redirect_uri_off_by_one_character_leads_nowhere(
    db: Database, make: Make, app_of_ada: App, ada: Human, uri: str | None
) -> None:
    request = app_of_ada.request(redirect_uri=uri, response_type="wrong", scope="nothing")

    for refuses in (oauth.begin, oauth.allow, oauth.deny):
        with pytest.raises(InvalidArgument) as refused:
            refuses(db, ada, request)
        assert refused.value.field == "redirect_uri"
    with pytest.raises(InvalidArgument):
        oauth.trust(db, request)
    assert make.value("select count(*) from oauth_codes") == 0


@pytest.mark.parametrize("changed", [
    {"client_id": "nobody"}, {"client_id": None}, {"client_id": "a\x00"},
    {"repeated": ("client_id",)}, {"repeated": ("redirect_uri",)},
])
def test_an_unclear_app_leads_nowhere_either(
    db: Database, app_of_ada: App, ada: Human, changed: dict[str, object]
) -> None:
    with pytest.raises(InvalidArgument):
        oauth.begin(db, ada, app_of_ada.request(**changed))


def test_a_later_fault_is_told_to_the_app_with_state_and_issuer(
    db: Database, app_of_ada: App, ada: Human
) -> None:
    request = app_of_ada.request(code_challenge_method="plain")

    said = told(oauth.begin(db, ada, request))

    assert (said["error"], said["state"], said["iss"]) == ("invalid_request", "the state", BASE_URL)
    assert told(oauth.allow(db, ada, request)) == said
    assert oauth.trust(db, request) == CALLBACK
    assert "state" not in told(oauth.begin(db, ada, app_of_ada.request(repeated=("state",))))


def test_an_operator_grant_is_asked_about_without_endpoints(
    db: Database, app_of_ada: App, ada: Human, lane: Endpoint
) -> None:
    asked = shown(oauth.begin(db, ada, app_of_ada.request(scope="operator")))

    assert (asked.kind, asked.client_name, asked.redirect_uri) == (
        "operator", "Widget agent", CALLBACK)
    assert asked.endpoints == ()
    assert lane.slug not in str(asked)


def test_an_agent_grant_lists_the_endpoints_the_human_may_configure(
    db: Database, make: Make, app_of_ada: App, ada: Human, lane: Endpoint
) -> None:
    ours, theirs = make.team(), make.team()
    make.member(ours, ada, "admin")
    make.member(theirs, ada, "member")
    of_ours = make.endpoint(team=ours)
    make.endpoint(team=theirs)
    make.endpoint()
    make.endpoint(ada, expires_at=make.now() - timedelta(seconds=1))
    endpoints.revoke(db, ada, make.endpoint(ada).slug)

    asked = shown(oauth.begin(db, ada, app_of_ada.request(AGENT)))

    assert {each.id for each in asked.endpoints} == {lane.id, of_ours.id}


def test_without_a_scope_all_but_the_admission_verbs_stand_ticked(
    db: Database, app_of_ada: App, ada: Human, lane: Endpoint
) -> None:
    asked = shown(oauth.begin(db, ada, app_of_ada.request(AGENT)))

    assert asked.verbs == ()
    assert set(asked.endpoints[0].verbs) == {*BASICS, *ADMISSION}
    assert set(asked.endpoints[0].ticked) == set(BASICS)


def test_with_a_scope_what_was_asked_is_listed_and_the_admission_verbs_still_not_ticked(
    db: Database, app_of_ada: App, ada: Human, lane: Endpoint
) -> None:
    scope = "claim set_admission_policy create_notify_hook operator openid"

    asked = shown(oauth.begin(db, ada, app_of_ada.request(AGENT, scope=scope)))

    assert asked.verbs == ("claim", "create_notify_hook", "set_admission_policy")
    assert asked.endpoints[0].verbs == ("claim", *ADMISSION)
    assert asked.endpoints[0].ticked == ("claim",)


def test_a_foreign_an_unknown_and_an_ended_slug_are_one_answer(
    db: Database, make: Make, app_of_ada: App, ada: Human, lane: Endpoint
) -> None:
    ended, foreign = make.endpoint(ada), make.endpoint()
    team = make.team()
    make.member(team, ada, "member")
    of_team = make.endpoint(team=team)
    endpoints.revoke(db, ada, ended.slug)
    slugs = [foreign.slug, ended.slug, of_team.slug, "nobody-k3x9"]

    answers = {
        str(oauth.begin(db, ada, app_of_ada.request(f"{BASE_URL}/mcp/{slug}"))) for slug in slugs
    }

    assert len(answers) == 1
    assert "invalid_target" in answers.pop()
    own = shown(oauth.begin(db, ada, app_of_ada.request(f"{BASE_URL}/mcp/{lane.slug}")))
    assert [each.id for each in own.endpoints] == [lane.id]


def test_asking_for_admission_verbs_grants_nothing_that_was_not_ticked(
    db: Database, app_of_ada: App, ada: Human, lane: Endpoint
) -> None:
    request = app_of_ada.request(AGENT, scope=" ".join(GRANTABLE))
    url = oauth.allow(db, ada, request, endpoint_id=str(lane.id), verbs=("claim",))

    issued = had(app_of_ada.redeem(code_in(url)))

    found = identity.endpoint_by_token(db, issued.access_token)
    assert found is not None
    assert found.endpoint.verbs == {"claim"}


def test_an_owner_opts_an_agent_in_by_ticking(
    db: Database, app_of_ada: App, ada: Human, lane: Endpoint
) -> None:
    issued = app_of_ada.tokens(ada, lane, ("claim", "set_admission_policy"))

    found = identity.endpoint_by_token(db, issued.access_token)
    assert found is not None
    assert found.endpoint.verbs == {"claim", "set_admission_policy"}


@pytest.mark.parametrize(("scope", "verbs"), [
    (None, ()),
    (None, ("create_notify_hook",)),
    (None, ("claim", "operator")),
    ("claim", ("claim", "complete")),
    ("claim", ("complete", "set_admission_policy")),
])
def test_what_was_not_listed_cannot_be_ticked(
    db: Database, make: Make, app_of_ada: App, ada: Human, lane: Endpoint,
    scope: str | None, verbs: tuple[str, ...],
) -> None:
    request = app_of_ada.request(AGENT, scope=scope)

    with pytest.raises(InvalidArgument) as refused:
        oauth.allow(db, ada, request, endpoint_id=str(lane.id), verbs=verbs)
    assert refused.value.field == "verbs"
    assert make.value("select count(*) from oauth_codes") == 0


def test_nobody_allows_for_an_endpoint_they_may_not_configure(
    db: Database, make: Make, app_of_ada: App, ada: Human, lane: Endpoint
) -> None:
    team = make.team()
    make.member(team, ada, "member")
    refused = []
    for ref in (make.endpoint().id, make.endpoint(team=team).id, "unknown", None):
        with pytest.raises(InvalidArgument) as wrong:
            oauth.allow(db, ada, app_of_ada.request(AGENT), verbs=("claim",),
                        endpoint_id=None if ref is None else str(ref))
        refused.append((wrong.value.field, wrong.value.sentence))
    other = make.endpoint(ada)
    with pytest.raises(InvalidArgument):
        oauth.allow(db, ada, app_of_ada.request(f"{BASE_URL}/mcp/{lane.slug}"), verbs=("claim",),
                    endpoint_id=str(other.id))

    assert len(set(refused)) == 1
    assert make.value("select count(*) from oauth_codes") == 0


def test_the_statement_that_inserts_a_code_asks_again_who_may_consent(
    db: Database, make: Make, app_of_ada: App, ada: Human, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = make.endpoint()
    listed = oauth.oauth_asking.EndpointChoice(
        id=foreign.id, slug=foreign.slug, agent_name="x", team=None, verbs=("claim",), ticked=())
    monkeypatch.setattr(oauth.oauth_asking, "choices", lambda *_: (listed,))

    with pytest.raises(InvalidArgument) as refused:
        oauth.allow(db, ada, app_of_ada.request(AGENT), endpoint_id=str(foreign.id),
                    verbs=("claim",))
    assert refused.value.field == "endpoint"
    assert make.value("select count(*) from oauth_codes") == 0


def test_a_suspended_human_allows_nothing(
    db: Database, make: Make, app_of_ada: App, ada: Human
) -> None:
    make.run("update humans set suspended_at = clock()")

    with pytest.raises(InvalidArgument):
        oauth.allow(db, ada, app_of_ada.request())


def test_yes_is_a_code_with_state_and_issuer_and_no_is_a_word(
    db: Database, app_of_ada: App, ada: Human
) -> None:
    yes = told(oauth.allow(db, ada, app_of_ada.request()))
    no = told(oauth.deny(db, ada, app_of_ada.request(state=None)))

    assert yes["code"].startswith("sbc_")
    assert {name: yes[name] for name in ("state", "iss")} == {"state": "the state", "iss": BASE_URL}
    assert (no["error"], no["iss"]) == ("access_denied", BASE_URL)
    assert "state" not in no


def test_a_form_sent_twice_makes_one_code_until_it_was_used(
    db: Database, make: Make, app_of_ada: App, ada: Human, lane: Endpoint, clock: Clock
) -> None:
    def sent(*verbs: str, once: str = "form") -> str:
        return oauth.allow(db, ada, app_of_ada.request(AGENT), endpoint_id=str(lane.id),
                           verbs=verbs, once=once)

    first = sent("claim", "complete")

    assert sent("complete", "claim") == first
    assert make.value("select count(*) from oauth_codes") == 1
    with pytest.raises(Conflict):
        sent("claim")
    had(app_of_ada.redeem(code_in(first)))
    with pytest.raises(Conflict):
        sent("claim", "complete")
    assert sent("claim", once="another") != first
    clock.advance(61)
    with pytest.raises(Conflict):
        sent("claim", once="another")


def test_the_same_form_of_two_humans_is_two_codes(
    db: Database, make: Make, app_of_ada: App, ada: Human
) -> None:
    mine = oauth.allow(db, ada, app_of_ada.request(), once="form")

    assert oauth.allow(db, make.human(), app_of_ada.request(), once="form") != mine
    assert oauth.allow(db, ada, app_of_ada.request(), once="form") == mine


def test_an_app_that_was_swept_away_meanwhile_gets_no_code(
    db: Database, make: Make, app_of_ada: App, ada: Human, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = oauth.oauth_asking.Client(
        client_id=app_of_ada.client_id, client_name="x", redirect_uris=[CALLBACK])
    make.run("delete from oauth_clients")
    monkeypatch.setattr(oauth.oauth_asking, "trusted", lambda *_: (found, CALLBACK))

    with pytest.raises(InvalidArgument) as refused:
        oauth.allow(db, ada, app_of_ada.request())
    assert refused.value.field == "client_id"


