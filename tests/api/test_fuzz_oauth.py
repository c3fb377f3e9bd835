"""Whatever an app sends to the OAuth server, the answer is never an accident."""

from __future__ import annotations

from urllib.parse import urlencode

import hypothesis.strategies as st
import pytest
from flask import Flask
from hypothesis import given
from werkzeug.test import TestResponse

from app.db.database import Database
from tests.api import throwing
from tests.support.make import Make
from tests.support.oauth import CALLBACK, VERIFIER, an_app

FORM = "application/x-www-form-urlencoded"
WORDS = ["grant_type", "code", "client_id", "redirect_uri", "code_verifier", "resource", "scope",
         "refresh_token", "token", "client_secret"]
KEYS = ["redirect_uris", "client_name", "token_endpoint_auth_method", "grant_types",
        "response_types", "jwks", "scope", "contacts"]

pytestmark = pytest.mark.timeout(throwing.SECONDS)


@pytest.fixture
def app(app: Flask) -> Flask:
    return throwing.without_limits(app)


def told(response: TestResponse) -> int:
    """The status of an answer; a refusal is in the standard's shape."""
    body = response.get_json()
    assert isinstance(body, dict)
    assert response.status_code < 400 or set(body) == {"error", "error_description"}, body
    return response.status_code


def test_no_body_makes_an_accident(app: Flask, db: Database, make: Make) -> None:
    client, widget = app.test_client(), an_app(db, make)
    right = {"client_id": widget.client_id, "redirect_uri": CALLBACK, "code": "sbc_x",
             "grant_type": "authorization_code", "code_verifier": VERIFIER, "token": "x",
             "refresh_token": "sbr_" + "x" * 65}
    kinds = st.sampled_from(["authorization_code", "refresh_token"])
    texts = throwing.header_text() | st.text()
    changes = st.dictionaries(st.sampled_from(WORDS), texts, max_size=3)

    @throwing.rounds(60)
    @given(st.sampled_from(["token", "revoke"]), kinds, changes, throwing.BROKEN, st.booleans())
    def throw_form(path: str, kind: str, changed: dict[str, str], broken: bytes,
                   breaks: bool) -> None:  # noqa: FBT001
        form = urlencode(right | {"grant_type": kind} | changed, errors="replace").encode()
        response = client.post(f"/oauth/{path}", data=broken if breaks else form,
                               content_type=FORM)
        assert told(response) in (200, 400, 413)

    @throwing.rounds(60)
    @given(throwing.body(dict.fromkeys(KEYS, throwing.SCALAR | st.lists(throwing.SCALAR))))
    def throw_json(body: bytes) -> None:
        response = client.post("/oauth/register", data=body, content_type="application/json")
        assert told(response) in (201, 400)

    throw_form()
    throw_json()
