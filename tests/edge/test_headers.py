"""Every answer carries the security headers, whatever it says."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.mark.parametrize("path", [
    "/", "/login", "/nothing", "/auth/link/unknown", "/invites/unknown", "/api/v1/nothing",
    "/agent/v0/nothing", "/static/app.css",
])
def test_the_four_headers_are_on_every_answer(client: FlaskClient, path: str) -> None:
    with client.get(path) as response:
        headers = response.headers

    assert headers["Content-Security-Policy"] == POLICY
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    is_link = path.startswith(("/auth/link/", "/invites/"))
    assert headers["Referrer-Policy"] == (
        "same-origin" if is_link else "strict-origin-when-cross-origin"
    )


def test_ingest_answers_may_load_nothing(client: FlaskClient) -> None:
    assert client.get("/webhooks/w/x").headers["Content-Security-Policy"] == "default-src 'none'"


@pytest.mark.parametrize("path", ["/", "/api/v1/nothing", "/agent/v0/x", "/webhooks/w/x"])
def test_pages_and_json_are_not_stored(client: FlaskClient, path: str) -> None:
    assert client.get(path).headers["Cache-Control"] == "no-store"


def test_a_style_sheet_may_be_kept_and_checked(client: FlaskClient) -> None:
    with client.get("/static/app.css") as response:
        assert response.headers["Cache-Control"] == "no-cache"


def test_no_page_sets_a_cookie_for_a_stranger(client: FlaskClient) -> None:
    for path in ("/", "/login", "/auth/link/unknown", "/nothing"):
        assert "Set-Cookie" not in client.get(path).headers
