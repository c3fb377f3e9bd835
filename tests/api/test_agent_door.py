"""The agent door: who may ask, how, and what every wrong way of asking gets."""

from __future__ import annotations

import io

import pytest
from flask import Flask
from jsonschema import Draft202012Validator

from app.api import registry
from app.domain.callers import ALWAYS_GRANTED
from app.domain.verbs import GRANTABLE
from tests.api.asking import Agent, agent_of, answer
from tests.support.make import Make

MEGABYTE = 1024 * 1024


@pytest.fixture
def agent(app: Flask, make: Make) -> Agent:
    return agent_of(app, make, make.endpoint())


def test_the_registry_holds_every_verb_a_grant_may_name_and_what_comes_with_it() -> None:
    assert set(registry.VERBS) == {*GRANTABLE, "admission_status", *ALWAYS_GRANTED}
    assert {name for name, verb in registry.VERBS.items() if verb.read_only} == {
        "list_todos", "get_todo", "admission_status", "whoami", "get_default_lease",
        "list_webhooks", "list_notify_hooks", "presence",
    }


def test_verbs_lists_exactly_what_the_grant_allows(app: Flask, make: Make) -> None:
    narrow = agent_of(app, make, make.endpoint(verbs=("list_todos", "claim")))

    listed = narrow.get("verbs").body["verbs"]

    assert [verb["name"] for verb in listed] == [
        "list_todos", "get_todo", "claim", "admission_status", "whoami", "clock_in", "clock_out",
        "presence",
    ]
    for verb in listed:
        assert set(verb) == {"name", "description", "read_only", "input_schema"}
        Draft202012Validator.check_schema(verb["input_schema"])
        assert verb["input_schema"]["additionalProperties"] is False


def test_every_listed_verb_may_be_called_and_no_other(app: Flask, make: Make) -> None:
    narrow = agent_of(app, make, make.endpoint(verbs=("claim_next", "list_webhooks")))
    listed = {verb["name"] for verb in narrow.get("verbs").body["verbs"]}

    for name in registry.VERBS:
        assert (narrow(name).refusal[:2] != (403, "forbidden") if name not in listed else True) is (
            name in listed
        ), name


def test_worker_text_is_called_untrusted_in_the_schemas(agent: Agent) -> None:
    listed = {verb["name"]: verb for verb in agent.get("verbs").body["verbs"]}

    for name, field in (("claim", "claimant"), ("complete", "summary"), ("fail", "artifact")):
        assert "Untrusted" in listed[name]["input_schema"]["properties"][field]["description"]
    assert "Untrusted" in listed["get_todo"]["description"]


@pytest.mark.parametrize("header", [
    None, "", "Bearer", "Bearer ", "Bearer sbk_unknown", "Basic c2JrXw==", "Bearer sbk_\xff",
    "bearer  x y",
])
@pytest.mark.parametrize("path", [
    "/whoami", "/claim_next", "/verbs", "/no_such_verb", "/a/b", "/", "",
])
def test_without_a_live_credential_every_path_answers_one_401(
    app: Flask, make: Make, path: str, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header}

    response = app.test_client().post(f"/agent/v1{path}", json={}, headers=headers)

    assert answer(response).refusal == (401, "unauthenticated", None)
    assert response.headers["WWW-Authenticate"] == (
        'Bearer realm="switchboard",'
        ' resource_metadata="http://localhost/.well-known/oauth-protected-resource/agent/v1"')


def test_a_human_never_opens_this_surface_nor_does_a_cookie(app: Flask, make: Make) -> None:
    human = make.human()
    client = app.test_client()
    client.set_cookie("sb_session", make.session(human))

    by_cookie = client.post("/agent/v1/whoami", json={})
    by_token = Agent(client, make.operator_token(human))("whoami")

    assert by_cookie.status_code == by_token.status == 401


def test_a_revoked_or_expired_credential_is_refused_at_once(app: Flask, make: Make) -> None:
    revoked, expired = make.endpoint(), make.endpoint(expires_at=make.now())
    make.run("update endpoints set state = 'revoked', revoked_at = clock() where id = %s",
             revoked.id)

    for endpoint in (revoked, expired):
        assert agent_of(app, make, endpoint)("whoami").refusal == (401, "unauthenticated", None)


@pytest.mark.parametrize("name", [
    "no_such_verb", "stream/", "verbs/", "claim/", "a/b", "%00", "cl%00aim", "notify_hook",
    "clock_on",
])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_an_unknown_verb_is_404_whatever_the_method(agent: Agent, name: str, method: str) -> None:
    response = agent.client.open(f"/agent/v1/{name}", method=method, headers=agent.headers)

    assert answer(response).refusal == (404, "not_found", None)


def test_a_verb_outside_the_grant_is_403_before_its_arguments_are_read(
    app: Flask, make: Make
) -> None:
    narrow = agent_of(app, make, make.endpoint(verbs=("list_todos",)))

    assert narrow.post("claim", [1]).refusal == (403, "forbidden", None)
    assert narrow("get_todo", id="td_unknown").refusal == (404, "not_found", None)
    assert narrow("whoami").status == 200


@pytest.mark.parametrize(("method", "name", "allowed"), [
    ("GET", "claim", {"POST"}), ("HEAD", "complete", {"POST"}), ("PUT", "claim_next", {"POST"}),
    ("DELETE", "list_todos", {"GET", "HEAD", "POST"}), ("PATCH", "whoami", {"GET", "HEAD", "POST"}),
    ("OPTIONS", "claim", {"POST"}), ("POST", "verbs", {"GET", "HEAD"}),
    ("DELETE", "verbs", {"GET", "HEAD"}),
])
def test_a_wrong_method_is_405_and_says_which_are_right(
    agent: Agent, method: str, name: str, allowed: set[str]
) -> None:
    response = agent.client.open(f"/agent/v1/{name}", method=method, headers=agent.headers)

    assert response.status_code == 405
    assert {each.strip() for each in response.headers["Allow"].split(",")} == allowed
    assert method == "HEAD" or response.get_json()["code"] == "invalid_argument"


def test_a_read_only_verb_answers_get_and_post_alike(agent: Agent) -> None:
    for name in ("whoami", "list_todos", "get_default_lease", "list_webhooks"):
        assert agent.get(name) == agent(name)


@pytest.mark.parametrize(("query", "field"), [
    ("limit=ten", "limit"), ("limit=1&limit=1", "limit"), ("limit=", "limit"),
    ("surprise=1", "surprise"), ("state=lost", "state"), ("queue=%00", "queue"),
    ("queue=in%00box", "queue"), ("%00=1", "\x00"),
])
def test_a_wrong_query_parameter_is_named(agent: Agent, query: str, field: str) -> None:
    assert agent.get("list_todos", query).refusal == (400, "invalid_argument", field)


@pytest.mark.parametrize("data", [
    b"", b"[]", b'"x"', b"null", b"{", b'{"queue":"a","queue":"a"}', b'{"queue":"\\u0000"}',
    b'{"queue":"\\udc00"}', b'{"limit":1e400}', b'{"limit":NaN}', b'{"limit":"5"}',
    b'{"limit":true}', b'{"limit":5.0}', b'{"queue":7}', b'{"queue":' + b"[" * 9_000 + b"}",
    b'{"limit":' + b"9" * 9_000 + b"}", b"\xff\xfe", b'{"surprise":1}',
])
def test_a_body_that_is_not_the_arguments_is_400(agent: Agent, data: bytes) -> None:
    response = agent.client.post(
        "/agent/v1/list_todos", data=data, headers=agent.headers, content_type="application/json"
    )

    assert answer(response).refusal[:2] == (400, "invalid_argument")


@pytest.mark.parametrize(("content_type", "status"), [
    ("application/json", 200), ("application/json; charset=utf-8", 200), ("text/json", 415),
    ("application/x-www-form-urlencoded", 415), ("", 415),
])
def test_only_json_is_taken(agent: Agent, content_type: str, status: int) -> None:
    response = agent.client.post(
        "/agent/v1/whoami", data=b"{}", headers=agent.headers, content_type=content_type
    )

    assert response.status_code == status
    assert status == 200 or response.get_json()["code"] == "invalid_argument"


def test_a_body_over_one_megabyte_is_413_declared_or_chunked(agent: Agent) -> None:
    huge = b'{"queue":"' + b"x" * MEGABYTE + b'"}'
    declared = agent.client.post(
        "/agent/v1/list_todos", data=huge, headers=agent.headers, content_type="application/json"
    )
    chunked = agent.client.post(
        "/agent/v1/list_todos", headers=agent.headers, content_type="application/json",
        environ_overrides={"wsgi.input": io.BytesIO(huge), "wsgi.input_terminated": True},
    )

    for response in (declared, chunked):
        assert answer(response).refusal == (413, "invalid_argument", None)


def test_a_chunked_body_within_the_limit_is_read(agent: Agent) -> None:
    response = agent.client.post(
        "/agent/v1/whoami", headers=agent.headers, content_type="application/json",
        environ_overrides={"wsgi.input": io.BytesIO(b"{}"), "wsgi.input_terminated": True},
    )

    assert response.status_code == 200


def test_answers_are_not_stored_and_carry_the_security_headers(agent: Agent) -> None:
    for response in (agent("whoami"), agent("no_such_verb"), agent.get("claim")):
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["X-Frame-Options"] == "DENY"
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize("key", ["", " ", "two words", "é", "x" * 65, "tab\there"])
@pytest.mark.parametrize("verb", ["claim", "claim_next"])
def test_a_claim_key_is_1_to_64_visible_characters(agent: Agent, verb: str, key: str) -> None:
    asked = {"id": "td_unknown"} if verb == "claim" else {}

    assert agent.post(verb, asked, key=key).refusal == (
        400, "invalid_argument", "Idempotency-Key"
    )


def test_other_verbs_never_look_at_the_claim_key(agent: Agent) -> None:
    assert agent.post("whoami", {}, key="two words").status == 200
