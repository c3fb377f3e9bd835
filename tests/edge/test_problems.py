"""Refusals become statuses and bodies in one place, on every surface."""

from __future__ import annotations

import json
import logging

import pytest
from flask import Flask
from flask.testing import FlaskClient
from psycopg_pool import ConnectionPool

from app import create_app
from app.db.database import Connection
from app.db.listener import Listener
from app.domain import errors
from app.domain.errors import DomainError
from app.edge import problems
from app.edge.deps import EdgeConfig
from tests.support.pg import database_over


def _kinds() -> list[type[DomainError]]:
    found = [kind for kind in vars(errors).values()
             if isinstance(kind, type) and issubclass(kind, DomainError)]
    return [kind for kind in found if kind is not DomainError]


@pytest.fixture
def failing(app: Flask) -> Flask:
    """The application with routes that raise whatever a test hangs on them."""
    app.config["RAISE"] = RuntimeError("an internal detail")

    def fail(**values: str) -> str:
        raise app.config["RAISE"]

    app.add_url_rule("/api/v1/fails", view_func=fail, endpoint="api_fails", methods=["GET"])
    app.add_url_rule("/agent/v1-fails/<token>", view_func=fail, endpoint="agent_fails")
    app.add_url_rule("/webhooks/w/it/fails", view_func=fail, endpoint="ingest_fails")
    app.add_url_rule("/fails/<token>", view_func=fail, endpoint="page_fails")
    return app


@pytest.mark.parametrize("kind", _kinds())
def test_every_refusal_has_a_row_in_the_table(kind: type[DomainError]) -> None:
    assert kind in problems.STATUS


def test_a_refusal_is_flat_json_with_its_field_and_extras(failing: Flask) -> None:
    failing.config["RAISE"] = errors.Conflict(field="slug", state="revoked")

    response = failing.test_client().get("/api/v1/fails")

    assert response.status_code == 409
    assert response.mimetype == "application/json"
    assert response.get_json() == {
        "error": "The thing is not in a state that allows this.", "code": "conflict",
        "field": "slug", "state": "revoked",
    }


def test_the_same_refusal_under_a_page_is_a_page(failing: Flask) -> None:
    failing.config["RAISE"] = errors.Conflict("It is claimed already.")

    response = failing.test_client().get("/fails/x")

    assert response.status_code == 409
    assert response.mimetype == "text/html"
    assert "It is claimed already." in response.text


def test_a_lost_commit_is_internal_in_json_and_told_plainly_on_a_page(failing: Flask) -> None:
    failing.config["RAISE"] = errors.OutcomeUnknown()
    client = failing.test_client()

    told, shown = client.get("/api/v1/fails"), client.get("/fails/x")

    assert (told.status_code, told.get_json()["code"]) == (500, "internal")
    assert (shown.status_code, "may or may not have been made" in shown.text) == (500, True)


def test_a_page_that_needs_a_session_sends_a_reader_to_sign_in(failing: Flask) -> None:
    failing.config["RAISE"] = errors.Unauthenticated()

    response = failing.test_client().get("/fails/x")

    assert (response.status_code, response.headers["Location"]) == (302, "/login")


def test_too_many_requests_say_when_to_come_back(failing: Flask) -> None:
    failing.config["RAISE"] = errors.RateLimited(retry_after=7)

    for path in ("/api/v1/fails", "/fails/x"):
        response = failing.test_client().get(path)

        assert (response.status_code, response.headers["Retry-After"]) == (429, "7")


@pytest.mark.parametrize(("path", "challenge"), [
    ("/api/v1/fails", 'Bearer realm="switchboard-api",'
     ' resource_metadata="http://localhost/.well-known/oauth-protected-resource/api"'),
    ("/agent/v1-fails/x", 'Bearer realm="switchboard",'
     ' resource_metadata="http://localhost/.well-known/oauth-protected-resource/agent/v1"'),
    ("/webhooks/w/it/fails", None),
])
def test_a_missing_credential_is_challenged_in_the_surfaces_own_realm(
    failing: Flask, path: str, challenge: str | None
) -> None:
    failing.config["RAISE"] = errors.Unauthenticated()

    response = failing.test_client().get(path)

    assert response.status_code == 401
    assert response.headers.get("WWW-Authenticate") == challenge


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/agent/v0/x", "/webhooks/w/x/y", "/api/"])
def test_an_unknown_address_of_a_json_surface_is_json(client: FlaskClient, path: str) -> None:
    response = client.get(path)

    assert response.status_code == 404
    assert response.get_json() == {"error": "Not found.", "code": "not_found"}


def test_an_unknown_address_of_the_site_is_a_page(client: FlaskClient) -> None:
    response = client.get("/nothing")

    assert response.status_code == 404
    assert '<h1 id="heading">Page not found</h1>' in response.text


def test_a_path_is_never_redirected(client: FlaskClient) -> None:
    assert client.get("/auth//link/x").status_code == 404
    assert client.get("/login/").status_code == 404


@pytest.mark.parametrize(("path", "mimetype"), [
    ("/api/v1/fails", "application/json"), ("/login", "text/html"),
])
def test_a_wrong_method_says_which_are_allowed(
    failing: Flask, path: str, mimetype: str
) -> None:
    response = failing.test_client().delete(path)

    assert response.status_code == 405
    assert set(response.headers["Allow"].split(", ")) == {"GET", "HEAD"}
    assert response.mimetype == mimetype


def test_a_wrong_method_carries_the_code_of_a_bad_argument(failing: Flask) -> None:
    assert failing.test_client().post("/api/v1/fails").get_json()["code"] == "invalid_argument"


@pytest.mark.parametrize("path", ["/api/v1/fails", "/fails/secret-token"])
def test_an_unforeseen_failure_is_logged_and_tells_the_caller_nothing(
    failing: Flask, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    with caplog.at_level(logging.ERROR):
        response = failing.test_client().get(path)

    assert response.status_code == 500
    assert "internal detail" not in response.text
    assert "internal detail" in caplog.text
    assert "secret-token" not in caplog.text


def test_text_that_is_no_utf8_does_not_break_the_answer(failing: Flask) -> None:
    failing.config["RAISE"] = errors.InvalidArgument("Unknown key: \ud800.", field="\ud800")

    response = failing.test_client().get("/api/v1/fails")

    assert response.status_code == 400
    assert json.loads(response.data)["field"] == "?"


@pytest.fixture
def stranded(listener: Listener) -> FlaskClient:
    """A client of an application whose database is away."""
    pool: ConnectionPool[Connection] = ConnectionPool(open=False)
    config = EdgeConfig(base_url="http://localhost")
    return create_app(config, database_over(pool), listener).test_client()


def test_without_a_database_a_page_says_so_and_keeps_the_cookie(stranded: FlaskClient) -> None:
    stranded.set_cookie("sb_session", "somebody", domain="localhost")

    for answer in (stranded.get("/"), stranded.post("/logout")):
        assert answer.status_code == 503
        assert "nothing was changed" in answer.text
        assert "Set-Cookie" not in answer.headers


def test_without_a_database_a_link_is_not_burnt_but_put_off(stranded: FlaskClient) -> None:
    assert stranded.get("/auth/link/x").status_code == 503
    assert stranded.post("/auth/link/x").status_code == 503


@pytest.mark.parametrize(("path", "token"), [
    ("/agent/v1/whoami", "sbk_x"), ("/agent/v1/whoami", "grant"), ("/api/v1/me", "sbo_x"),
])
def test_without_a_database_a_json_surface_says_unavailable(
    stranded: FlaskClient, path: str, token: str
) -> None:
    answer = stranded.get(path, headers={"Authorization": f"Bearer {token}"})

    assert answer.status_code == 503
    assert answer.get_json()["code"] == "unavailable"


def test_without_a_database_what_needs_none_still_answers(stranded: FlaskClient) -> None:
    for path, status in (("/", 200), ("/login", 200), ("/nothing", 404), ("/agent/v1/x", 401)):
        assert stranded.get(path).status_code == status
