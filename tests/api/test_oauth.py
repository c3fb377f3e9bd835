"""Discovery, registration, tokens and their end, as an app meets them over HTTP."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.api import oauth as door
from app.api import oauth_metadata
from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.errors import OutcomeUnknown, Unavailable
from app.domain.oauth import SCOPES
from app.domain.verbs import BASICS, GRANTABLE
from app.edge import deps
from app.edge import ringer as ringing
from tests.support.client import BASE_URL
from tests.support.clock import Clock
from tests.support.limits import stop_refill
from tests.support.make import Make
from tests.support.oauth import CALLBACK, OPERATOR, VERIFIER, App, an_app
from tests.support.wait import wait_for

SERVER = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource"
FORM = "application/x-www-form-urlencoded"
NAMED = {"client_name": "Widget agent", "redirect_uris": [CALLBACK]}


@pytest.fixture
def ada(make: Make) -> Human:
    return make.human("Ada")


@pytest.fixture
def lane(make: Make, ada: Human) -> Endpoint:
    return make.endpoint(ada, verbs=(*BASICS, "set_admission_policy"))


@pytest.fixture
def widget(db: Database, make: Make) -> App:
    return an_app(db, make)


@pytest.fixture
def roomy(app: Flask) -> None:
    """Lets one address ask as often as a table of cases is long."""
    with app.app_context():
        deps.state().limits.oauth._burst = 1_000


def answered(response: TestResponse, status: int = 200) -> dict[str, object]:
    """The body of an answer, which is never stored and always an object."""
    assert response.status_code == status, response.data
    assert response.content_type == "application/json"
    assert response.headers["Cache-Control"] == "no-store"
    body = response.get_json()
    assert isinstance(body, dict)
    return body


def refused(response: TestResponse, status: int = 400) -> str:
    """The code of a refusal in the standard's shape, whose text a header may carry."""
    body = answered(response, status)
    assert set(body) == {"error", "error_description"}
    said = str(body["error_description"])
    assert said
    assert said.isascii()
    assert said.isprintable()
    assert '"' not in said
    return str(body["error"])


def traded(app: App, code: str, /, **changed: str | None) -> dict[str, str]:
    """The form that redeems a code; None leaves a parameter out."""
    form = {"grant_type": "authorization_code", "code": code, "client_id": app.client_id,
            "redirect_uri": CALLBACK, "code_verifier": VERIFIER, **changed}
    return {name: text for name, text in form.items() if text is not None}


def renewed(app: App, token: str) -> dict[str, str]:
    return {"grant_type": "refresh_token", "refresh_token": token, "client_id": app.client_id}


# --- discovery --------------------------------------------------------------------------------


def test_the_server_describes_itself_as_rfc_8414_has_it(client: FlaskClient) -> None:
    found = answered(client.get(SERVER))

    AuthorizationServerMetadata(found).validate()
    assert found["issuer"] == BASE_URL
    assert found["token_endpoint"] == f"{BASE_URL}/oauth/token"
    assert found["scopes_supported"] == list(SCOPES)
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["token_endpoint_auth_methods_supported"] == ["none"]
    assert found["authorization_response_iss_parameter_supported"] is True


def test_every_address_in_it_is_a_route_of_ours(app: Flask) -> None:
    rules = {rule.rule for rule in app.url_map.iter_rules()}
    found = oauth_metadata.server_metadata("")

    assert {str(found[name]) for name in found if name.endswith("_endpoint")} <= rules
    assert get_well_known_url(BASE_URL) in rules


def test_each_resource_has_its_metadata_with_the_well_known_part_first(
    client: FlaskClient
) -> None:
    scopes = {"/api": ["operator"], "/agent/v1": [*GRANTABLE], "/mcp/lane-m-k3x9": [*GRANTABLE]}
    for path, named in scopes.items():
        where = get_well_known_url(BASE_URL + path, suffix="oauth-protected-resource")

        found = answered(client.get(where))

        assert where == RESOURCE + path
        assert (found["resource"], found["authorization_servers"]) == (BASE_URL + path, [BASE_URL])
        assert (found["scopes_supported"], found["bearer_methods_supported"]) == (
            named, ["header"])


def test_the_metadata_of_a_slug_tells_nothing_of_what_exists(
    client: FlaskClient, lane: Endpoint
) -> None:
    own, none = client.get(f"{RESOURCE}/mcp/{lane.slug}"), client.get(f"{RESOURCE}/mcp/nobody-0000")

    assert own.get_data(as_text=True).replace(lane.slug, "nobody-0000") == none.get_data(
        as_text=True)


NO_METADATA = [
    RESOURCE, RESOURCE + "/", RESOURCE + "/api/", RESOURCE + "/mcp/", RESOURCE + "/mcp/A b",
    RESOURCE + "/api/v1", RESOURCE + "//api", SERVER + "/api", "/.well-known/openid-configuration",
]  # fmt: skip


def test_no_other_path_has_metadata(client: FlaskClient) -> None:
    for path in NO_METADATA:
        answer = client.get(path)
        assert (path, answer.status_code, answer.content_type) == (path, 404, "application/json")


def test_a_forged_host_changes_no_address(client: FlaskClient) -> None:
    forged = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    paths = [SERVER, f"{RESOURCE}/api", f"{RESOURCE}/agent/v1", "/api/v1/me"]

    answers = [client.get(path, headers=forged) for path in paths]

    assert all("evil.example" not in str(each.headers) + each.text for each in answers)
    assert f'resource_metadata="{BASE_URL}{RESOURCE}/api"' in answers[-1].headers[
        "WWW-Authenticate"]


# --- registration -----------------------------------------------------------------------------


def test_an_app_registers_and_is_told_what_was_written_down(
    client: FlaskClient, make: Make
) -> None:
    asked = NAMED | {"logo_uri": "javascript:x", "scope": "openid", "software_id": 7}

    found = answered(client.post("/oauth/register", json=asked), 201)

    assert set(found) == {
        "client_id", "client_id_issued_at", "client_name", "redirect_uris", "grant_types",
        "response_types", "token_endpoint_auth_method"}
    assert (found["client_name"], found["redirect_uris"]) == ("Widget agent", [CALLBACK])
    assert found["token_endpoint_auth_method"] == "none"
    assert make.value("select client_id from oauth_clients") == found["client_id"]


WRONG_METADATA: list[tuple[dict[str, object], str]] = [
    ({"redirect_uris": None}, "invalid_redirect_uri"),
    ({"redirect_uris": CALLBACK}, "invalid_redirect_uri"),
    ({"redirect_uris": [7]}, "invalid_redirect_uri"),
    ({"redirect_uris": []}, "invalid_redirect_uri"),
    ({"redirect_uris": ["http://app.example.org/"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["https://a.example/\"\\é"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["https://[a/"]}, "invalid_redirect_uri"),
    ({"client_name": ""}, "invalid_client_metadata"),
    ({"client_name": "x" * 101}, "invalid_client_metadata"),
    ({"client_name": ["x"]}, "invalid_client_metadata"),
    ({"client_name": "a\x00"}, "invalid_request"),
    ({"client_name": "a\r\nX-Evil: 1"}, "invalid_client_metadata"),
    ({"token_endpoint_auth_method": "client_secret_basic"}, "invalid_client_metadata"),
    ({"grant_types": ["implicit"]}, "invalid_client_metadata"),
    ({"grant_types": "authorization_code"}, "invalid_client_metadata"),
    ({"response_types": ["token"]}, "invalid_client_metadata"),
]


@pytest.mark.usefixtures("roomy")
def test_an_app_that_cannot_be_written_down_is_told_why(client: FlaskClient, make: Make) -> None:
    for changed, error in WRONG_METADATA:
        answer = client.post("/oauth/register", json=NAMED | changed)
        assert (changed, refused(answer)) == (changed, error)
        assert "X-Evil" not in answer.headers
    assert make.value("select count(*) from oauth_clients") == 0


@pytest.mark.usefixtures("roomy")
def test_a_refusal_names_what_is_missing_and_what_it_is_about(
    client: FlaskClient, widget: App
) -> None:
    def said(answer: TestResponse, error: str) -> object:
        assert refused(answer) == error
        return answer.get_json()["error_description"]

    register = "/oauth/register"
    assert said(client.post(register, json={}), "invalid_redirect_uri") == (
        "redirect_uris: it is required.")
    assert said(client.post(register, json={"redirect_uris": 7}), "invalid_redirect_uri") == (
        "redirect_uris: the value cannot be used.")
    gone = "The code or refresh token is unknown, used, expired, or meant for another request."
    for form in (traded(widget, "nothing"), renewed(widget, "nothing")):
        assert said(client.post("/oauth/token", data=form), "invalid_grant") == gone


def test_a_body_that_is_no_registration_is_refused_by_its_status(client: FlaskClient) -> None:
    def sent(data: str | bytes, kind: str = "application/json") -> TestResponse:
        return client.post("/oauth/register", data=data, content_type=kind)

    assert refused(sent("[]")) == "invalid_request"
    assert refused(sent("{")) == "invalid_request"
    assert refused(sent("{}", FORM), 415) == "invalid_request"
    assert refused(sent(b" " * (64 * 1024 + 1)), 413) == "invalid_request"
    assert refused(client.post("/oauth/token", data=b"a" * (64 * 1024 + 1), content_type=FORM),
                   413) == "invalid_request"


# --- tokens -----------------------------------------------------------------------------------


def test_a_code_and_then_a_refresh_open_the_api_and_a_replay_closes_it(
    client: FlaskClient, widget: App, ada: Human
) -> None:
    def me(token: object) -> TestResponse:
        return client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})

    code = widget.allowed(ada)
    first = answered(client.post("/oauth/token", data=traded(widget, code, resource=OPERATOR)))
    assert (first["token_type"], first["expires_in"], first["scope"]) == (
        "Bearer", 3600, "operator")
    token = me(first["access_token"]).get_json()["token"]
    assert (token["name"], token["kind"]) == ("an app", "oauth")

    form = renewed(widget, str(first["refresh_token"]))
    second = answered(client.post("/oauth/token", data=form))

    assert me(second["access_token"]).status_code == 200
    assert me(first["access_token"]).status_code == 401
    assert refused(client.post("/oauth/token", data=traded(widget, code))) == "invalid_grant"
    assert me(second["access_token"]).data == me("sba_unknown").data
    assert me(second["access_token"]).status_code == 401


NO_REDEMPTION: list[tuple[dict[str, str | None], str]] = [
    ({"grant_type": None}, "invalid_request"),
    ({"grant_type": "password"}, "unsupported_grant_type"),
    ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
    ({"code": None}, "invalid_request"),
    ({"code": "x" * 5000}, "invalid_request"),
    ({"redirect_uri": None}, "invalid_request"),
    ({"code_verifier": None}, "invalid_request"),
    ({"client_id": None}, "invalid_request"),
    ({"client_id": "nobody"}, "invalid_client"),
    ({"client_secret": "s"}, "invalid_client"),
]


@pytest.mark.usefixtures("roomy")
def test_a_request_that_is_no_redemption_uses_no_code_up(
    client: FlaskClient, widget: App, ada: Human
) -> None:
    code = widget.allowed(ada)

    for changed, error in NO_REDEMPTION:
        answer = client.post("/oauth/token", data=traded(widget, code, **changed))
        assert (changed, refused(answer)) == (changed, error)
    assert client.post("/oauth/token", data=traded(widget, code)).status_code == 200


@pytest.mark.usefixtures("roomy")
def test_a_wrong_verifier_costs_the_code(client: FlaskClient, widget: App, ada: Human) -> None:
    for verifier in ("short", "wrong" * 10, "v" * 129, VERIFIER + "=", "é" * 43):
        code = widget.allowed(ada)

        form = traded(widget, code, code_verifier=verifier)
        assert refused(client.post("/oauth/token", data=form)) == "invalid_grant"
        assert refused(client.post("/oauth/token", data=traded(widget, code))) == "invalid_grant"


def test_a_form_is_one_and_says_each_thing_once(
    client: FlaskClient, widget: App, ada: Human
) -> None:
    form = traded(widget, widget.allowed(ada))
    twice = "&".join(f"{name}={text}" for name, text in form.items()) + "&code=another"

    assert refused(client.post("/oauth/token", json=form)) == "invalid_request"
    for body in (twice, "%zz", "a b", "\xff"):
        answer = client.post("/oauth/token", data=body, content_type=FORM)
        assert refused(answer) == "invalid_request"
    assert client.get("/oauth/token").status_code == 405


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
def test_a_client_that_shows_a_secret_is_refused_and_by_a_header_as_rfc_6749_has_it(
    client: FlaskClient, widget: App, ada: Human, path: str
) -> None:
    form = {**traded(widget, widget.allowed(ada)), "token": "x"}
    basic = {"Authorization": "Basic eDp5"}

    for sent in (form, {name: form[name] for name in form if name != "client_id"}, {}):
        by_header = client.post(path, data=sent, headers=basic, content_type=FORM)
        assert refused(by_header, 401) == "invalid_client"
        assert by_header.headers.getlist("WWW-Authenticate") == ['Basic realm="switchboard"']
    by_form = client.post(path, data={**form, "client_secret": "s"})
    assert refused(by_form) == "invalid_client"
    assert "WWW-Authenticate" not in by_form.headers
    assert client.post(path, data=form).status_code == 200


def test_an_agent_grant_opens_its_endpoint_with_its_verbs_and_no_api(
    client: FlaskClient, widget: App, ada: Human, lane: Endpoint, clock: Clock
) -> None:
    issued = widget.tokens(ada, lane, ("claim", "list_todos"))
    shown = {"Authorization": f"Bearer {issued.access_token}"}

    def call(verb: str) -> TestResponse:
        return client.post(f"/agent/v1/{verb}", json={}, headers=shown)

    me = answered(call("whoami"))
    named = answered(client.get("/agent/v1/verbs", headers=shown))["verbs"]

    assert me["slug"] == lane.slug
    assert isinstance(named, list)
    assert {each["name"] for each in named} == {
        "claim", "list_todos", "get_todo", "admission_status", "clock_in", "clock_out", "presence",
        "whoami"}
    assert call("set_admission_policy").status_code == 403
    assert call("complete").status_code == 403
    unknown = {"Authorization": "Bearer unknown"}
    stranger = client.get("/api/v1/me", headers=unknown)
    assert client.get("/api/v1/me", headers=shown).data == stranger.data
    clock.advance(3601)
    assert call("whoami").data == client.post("/agent/v1/whoami", json={}, headers=unknown).data


def test_an_operator_grant_opens_no_agent_verb(
    client: FlaskClient, widget: App, ada: Human, lane: Endpoint
) -> None:
    shown = {"Authorization": f"Bearer {widget.tokens(ada).access_token}"}

    assert client.post("/agent/v1/whoami", json={}, headers=shown).status_code == 401
    assert client.get(f"/api/v1/endpoints/{lane.slug}/webhooks", headers=shown).status_code == 200


def test_neither_a_code_nor_a_refresh_token_opens_a_surface(
    client: FlaskClient, widget: App, ada: Human, lane: Endpoint
) -> None:
    code = widget.allowed(ada, lane)
    issued = widget.tokens(ada, lane)
    for token in (code, issued.refresh_token):
        shown = {"Authorization": f"Bearer {token}"}
        assert client.post("/agent/v1/whoami", json={}, headers=shown).status_code == 401
        assert client.get("/api/v1/me", headers=shown).status_code == 401
    form = renewed(widget, issued.access_token)
    assert refused(client.post("/oauth/token", data=form)) == "invalid_grant"


def test_deleting_the_token_of_a_grant_ends_its_refresh_too(
    client: FlaskClient, widget: App, ada: Human
) -> None:
    issued = widget.tokens(ada)
    shown = {"Authorization": f"Bearer {issued.access_token}"}

    assert answered(client.delete("/api/v1/token", headers=shown)) == {"revoked": True}

    assert client.get("/api/v1/me", headers=shown).status_code == 401
    form = renewed(widget, issued.refresh_token)
    assert refused(client.post("/oauth/token", data=form)) == "invalid_grant"


# --- revocation, limits, outages --------------------------------------------------------------


def test_a_revoked_token_and_an_unknown_one_are_one_answer(
    client: FlaskClient, widget: App, ada: Human
) -> None:
    issued = widget.tokens(ada)
    form = {"token": issued.access_token, "client_id": widget.client_id,
            "token_type_hint": "refresh_token"}

    done = client.post("/oauth/revoke", data=form)
    unknown = client.post("/oauth/revoke", data=form | {"token": "unknown"})

    assert answered(done) == answered(unknown) == {}
    assert refused(client.post("/oauth/token", data=renewed(widget, issued.refresh_token))) == (
        "invalid_grant")
    assert refused(client.post("/oauth/revoke", data={"client_id": "x"})) == "invalid_request"
    assert refused(client.post("/oauth/revoke", data={"token": "x"})) == "invalid_request"
    form = {"token": "x", "client_id": "nobody"}
    assert refused(client.post("/oauth/revoke", data=form)) == "invalid_client"


def test_an_address_that_asks_too_often_is_told_when_to_come_back(
    app: Flask, client: FlaskClient
) -> None:
    stop_refill(app)
    paths = ["/oauth/token", "/oauth/register", "/oauth/revoke"]

    answers = [client.post(paths[number % 3], data="x") for number in range(21)]

    assert {each.status_code for each in answers[:20]} <= {400, 415}
    assert refused(answers[20], 429) == "temporarily_unavailable"
    assert answers[20].headers["Retry-After"] == "1"
    assert client.get(SERVER).status_code == 200


def test_an_outage_is_told_in_the_standards_words(
    client: FlaskClient, widget: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked_while(lost: type[Exception]) -> TestResponse:
        def fail(*_: object) -> None:
            raise lost

        monkeypatch.setattr(door.oauth_tokens, "redeem", fail)
        return client.post("/oauth/token", data=traded(widget, "sbc_x"))

    assert refused(asked_while(Unavailable), 503) == "temporarily_unavailable"
    assert refused(asked_while(OutcomeUnknown), 500) == "server_error"


@pytest.mark.parametrize("end", ["revoked", "demoted"])
def test_an_agent_stream_ends_with_the_grant_it_was_opened_with(
    app: Flask, client: FlaskClient, widget: App, ada: Human, make: Make,
    monkeypatch: pytest.MonkeyPatch, end: str,
) -> None:
    """Or with the right of who gave it to configure the endpoint, at the next look."""
    monkeypatch.setattr(ringing, "LOOK", 0.2)
    team = make.team()
    make.member(team, ada, "admin")
    lane = make.endpoint(ada, team)
    issued = widget.tokens(ada, lane)
    with app.app_context():
        ringer = deps.state().ringer
    opened: list[Callable[[], None]] = []
    try:
        for token in (issued.access_token, make.credential(lane)):
            stream = client.get("/agent/v1/stream", headers={"Authorization": f"Bearer {token}"})
            assert stream.status_code == 200
            opened.append(stream.close)
        granted, own = ringer._all()
        assert (granted.grant_id is None, own.grant_id) == (False, None)

        if end == "revoked":
            answered(client.post("/oauth/revoke", data={
                "token": issued.refresh_token, "client_id": widget.client_id}))
        else:
            make.run("update team_members set role = 'member'")

        wait_for(lambda: granted.is_closed)
        assert not own.is_closed
    finally:
        for close in opened:
            close()
        ringer.close()
