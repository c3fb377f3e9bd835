"""A foreign thing and an unknown thing cost the same statements, not only the same bytes."""

from __future__ import annotations

import uuid

import pytest

from app.domain.callers import Endpoint
from tests.support.client import Caller
from tests.support.make import Make
from tests.support.recorded import recorded


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/endpoints/{endpoint}", {"default_lease_ttl_seconds": 60}),
        ("POST", "/endpoints/{endpoint}/revoke", {}),
        ("DELETE", "/endpoints/{endpoint}", {}),
        ("GET", "/endpoints/{endpoint}/presence", None),
        ("PUT", "/endpoints/{endpoint}/presence", {"presence": "out"}),
        ("DELETE", "/endpoints/{endpoint}/presence", None),
        ("PUT", "/endpoints/{endpoint}/shift", {"shift": "no shift"}),
        ("POST", "/endpoints/{endpoint}/todos", {"title": "t"}),
        ("GET", "/endpoints/{endpoint}/webhooks", None),
        ("POST", "/webhooks/{webhook}/rotate", {}),
        ("DELETE", "/webhooks/{webhook}", {}),
        ("GET", "/webhooks/{webhook}/routes", None),
        ("POST", "/webhooks/{webhook}/routes", {"endpoint": "any"}),
        ("GET", "/events/{event}", None),
        ("GET", "/todos/{todo}", None),
        ("POST", "/todos/{todo}/retry", {}),
        ("POST", "/todos/{todo}/discard", {}),
        ("POST", "/todos/{todo}/complete", {}),
    ],
)
def test_foreign_unknown_and_malformed_run_the_same_statements(
    api: Caller,
    make: Make,
    foreign: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: dict[str, object] | None,
) -> None:
    event = make.value(
        "insert into events (source, family, trust_mode, verified, endpoint_id)"
        " values ('generic', 'webhook', 'token', false, %s) returning id",
        foreign.id,
    )
    theirs = {
        "endpoint": foreign.slug,
        "webhook": make.webhook(foreign, target_queue="a/b").id,
        "event": event,
        "todo": make.todo(foreign, "a/b"),
    }
    unknown = {
        "endpoint": "nobody-abcd",
        "webhook": uuid.uuid4(),
        "event": 10**9,
        "todo": f"td_{uuid.uuid4().hex}",
    }
    malformed = dict.fromkeys(theirs, "nonsense")
    api.get("/me")  # the token's stamp, due once a minute, is out of the way

    runs = []
    for names in (theirs, unknown, malformed):
        with recorded(monkeypatch) as said:
            assert api.open(method, path.format(**names), json=body).status_code == 404
        runs.append(said)

    assert runs[0]
    assert runs[0] == runs[1] == runs[2]
