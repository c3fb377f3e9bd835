"""Whom limits count by, and which names and origins are ours."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.edge import address
from app.edge.deps import EdgeConfig


@pytest.fixture
def edge_config() -> EdgeConfig:
    return EdgeConfig(base_url="https://sb.example", is_loopback=True,
                      trusted_proxies=("10.0.0.0/8", "192.0.2.7"))


@pytest.mark.parametrize(("peer", "forwarded", "expected"), [
    ("198.51.100.4", None, "198.51.100.4"),
    ("198.51.100.4", "203.0.113.9", "198.51.100.4"),
    ("10.1.2.3", "203.0.113.9", "203.0.113.9"),
    ("10.1.2.3", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
    ("10.1.2.3", "203.0.113.9, 192.0.2.7", "203.0.113.9"),
    ("10.1.2.3", "", "10.1.2.3"),
    ("10.1.2.3", "nonsense", "10.1.2.3"),
    ("10.1.2.3", "10.9.9.9", "10.9.9.9"),
])
def test_forwarding_headers_count_only_from_a_trusted_peer(
    app: Flask, peer: str, forwarded: str | None, expected: str
) -> None:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}

    with app.test_request_context("/", environ_base={"REMOTE_ADDR": peer}, headers=headers):
        assert address.client_address() == expected


@pytest.mark.parametrize("host", [
    "localhost", "localhost:8080", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080",
    "board.localhost", "sb.example",
])
def test_a_loopback_server_answers_to_its_own_names(client: FlaskClient, host: str) -> None:
    assert client.get("/login", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", [
    "evil.example", "192.0.2.1", "localhost.evil.example", "127.0.0.1.evil.example",
])
def test_a_loopback_server_refuses_a_foreign_name_on_every_surface(
    client: FlaskClient, host: str
) -> None:
    for path in ("/agent/v1/whoami", "/api/v1/me", "/", "/nothing", "/webhooks/w/x"):
        assert client.get(path, headers={"Host": host}).status_code == 403

    refused = client.get("/agent/v1/whoami", headers={"Host": host})
    assert refused.get_json()["code"] == "forbidden"


@pytest.mark.parametrize(("headers", "expected"), [
    ({}, True),
    ({"Origin": "https://sb.example"}, True),
    ({"Origin": "https://sb.example:443"}, True),
    ({"Origin": "http://localhost"}, True),
    ({"Origin": "http://sb.example"}, False),
    ({"Origin": "https://sb.example.evil.example"}, False),
    ({"Origin": "https://evil.example"}, False),
    ({"Origin": "null"}, False),
    ({"Origin": "http://["}, False),
    ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, True),
    ({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, False),
])
def test_a_form_is_ours_when_its_origin_says_so(
    app: Flask, headers: dict[str, str], *, expected: bool
) -> None:
    with app.test_request_context("/", headers=headers):
        assert address.is_same_origin() is expected
