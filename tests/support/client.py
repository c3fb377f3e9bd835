"""The application over `db`, and callers of its doors: agents, operators, browsers, anyone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from app.db.database import Database
from app.db.listener import Listener
from app.domain.callers import Endpoint, Human
from app.edge import deps
from app.edge.deps import EdgeConfig
from tests.support import page
from tests.support.make import Make

BASE_URL = "http://localhost"
COOKIE = "sb_session"


class CheckingClient(FlaskClient):
    """A test client that judges the markup of every HTML answer it gets."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        """Makes the request; a page that breaks a rule fails the test."""
        response = super().open(*args, **kwargs)
        if response.mimetype == "text/html" and response.status_code not in (301, 302, 303, 308):
            page.check(response.get_data(as_text=True))
        return response


class Caller:
    """Requests that carry one bearer token."""

    def __init__(self, client: FlaskClient, token: str, prefix: str) -> None:
        """Makes requests to paths below `prefix`."""
        self._client = client
        self._prefix = prefix
        self.token = token

    def open(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        """One request; keyword arguments as Flask's test client takes them."""
        headers = {"Authorization": f"Bearer {self.token}", **kwargs.pop("headers", {})}
        return self._client.open(f"{self._prefix}{path}", method=method, headers=headers, **kwargs)

    def call(self, verb: str, /, *, headers: dict[str, str] | None = None,
             **arguments: object) -> TestResponse:
        """One agent verb with its arguments as a JSON body."""
        return self.open("POST", f"/{verb}", json=arguments, headers=headers or {})

    def get(self, path: str, **kwargs: Any) -> TestResponse:
        """GET."""
        return self.open("GET", path, **kwargs)

    def post(self, path: str, **kwargs: Any) -> TestResponse:
        """POST."""
        return self.open("POST", path, **kwargs)

    def patch(self, path: str, **kwargs: Any) -> TestResponse:
        """PATCH."""
        return self.open("PATCH", path, **kwargs)

    def put(self, path: str, **kwargs: Any) -> TestResponse:
        """PUT."""
        return self.open("PUT", path, **kwargs)

    def delete(self, path: str, **kwargs: Any) -> TestResponse:
        """DELETE."""
        return self.open("DELETE", path, **kwargs)


class Browser:
    """A signed-in browser: its cookie, and the token its forms carry."""

    def __init__(self, client: FlaskClient, session: str) -> None:
        """Signs the client in with a session's cookie value."""
        self.client = client
        self.session = session
        self.csrf = hashlib.sha256(b"switchboard csrf 1:" + session.encode()).hexdigest()
        client.set_cookie(COOKIE, session, domain="localhost")

    def get(self, path: str, **kwargs: Any) -> TestResponse:
        """GET a page."""
        return self.client.get(path, **kwargs)

    def post(self, path: str, data: dict[str, object] | None = None, **kwargs: Any) -> TestResponse:
        """POST a form, with its CSRF token unless the data names one."""
        return self.client.post(path, data={"csrf_token": self.csrf, **(data or {})}, **kwargs)


@pytest.fixture
def edge_config() -> EdgeConfig:
    """What the application under `client` is configured with; a test module may override it."""
    return EdgeConfig(base_url=BASE_URL)


@pytest.fixture
def app(edge_config: EdgeConfig, db: Database, listener: Listener) -> Iterator[Flask]:
    """The whole application over `db`; its doorbells end with the test."""
    made = create_app(edge_config, db, listener)
    made.test_client_class = CheckingClient
    yield made
    with made.app_context():
        deps.state().ringer.close()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """Anyone: no cookie, no token."""
    return app.test_client()


@pytest.fixture
def agent(app: Flask, make: Make) -> Callable[[Endpoint], Caller]:
    """Gives a caller of /agent/v1 with an endpoint's credential."""
    return lambda endpoint: Caller(app.test_client(), make.credential(endpoint), "/agent/v1")


@pytest.fixture
def operator(app: Flask, make: Make) -> Callable[[Human], Caller]:
    """Gives a caller of /api/v1 with a fresh operator token of a human."""
    return lambda human: Caller(app.test_client(), make.operator_token(human), "/api/v1")


@pytest.fixture
def browser(app: Flask, make: Make) -> Callable[[Human], Browser]:
    """Gives a browser in which a human has signed in."""
    return lambda human: Browser(app.test_client(), make.session(human))
