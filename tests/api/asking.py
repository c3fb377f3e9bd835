"""How the tests of the JSON doors ask: one caller, one verb, the status and the body back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.domain.callers import Endpoint
from tests.support.make import Make

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and the JSON object that came with it."""

    status: int
    body: Json
    headers: dict[str, str]

    @property
    def refusal(self) -> tuple[int, str, str | None]:
        """Status, code and field of a refusal."""
        return self.status, self.body["code"], self.body.get("field")


@dataclass(frozen=True, slots=True)
class Agent:
    """One endpoint speaking to /agent/v1."""

    client: FlaskClient
    token: str

    def __call__(self, verb: str, *, key: str | None = None, **arguments: object) -> Answer:
        """POST a verb with these arguments."""
        return self.post(verb, arguments, key=key)

    def post(self, verb: str, arguments: object, *, key: str | None = None) -> Answer:
        """POST a verb with any JSON value as its body."""
        headers = self.headers | ({} if key is None else {"Idempotency-Key": key})
        return answer(self.client.post(f"/agent/v1/{verb}", json=arguments, headers=headers))

    def get(self, verb: str, query: str = "") -> Answer:
        """GET a verb with a raw query string."""
        return answer(self.client.get(f"/agent/v1/{verb}?{query}", headers=self.headers))

    @property
    def headers(self) -> dict[str, str]:
        """What proves who asks."""
        return {"Authorization": f"Bearer {self.token}"}


def agent_of(app: Flask, make: Make, endpoint: Endpoint) -> Agent:
    """An agent that holds an endpoint's credential."""
    return Agent(app.test_client(), make.credential(endpoint))


def answer(response: TestResponse) -> Answer:
    """A response as an Answer; every body of a JSON door is an object."""
    assert response.content_type == "application/json", response.data[:200]
    body = response.get_json()
    assert isinstance(body, dict)
    return Answer(response.status_code, body, without_id(response))


def without_id(response: TestResponse) -> dict[str, str]:
    """The headers of an answer but its id, which no two answers share."""
    return {name: text for name, text in response.headers.items() if name != "X-Request-Id"}
