"""Whatever anyone sends to a route of the application, the answer is never an accident."""

from __future__ import annotations

import re

import hypothesis.strategies as st
import pytest
from flask import Flask
from hypothesis import given
from hypothesis.strategies import SearchStrategy
from werkzeug.routing import Rule

from tests.api import throwing
from tests.api.throwing import thrown
from tests.support.client import Browser
from tests.support.make import Make

AGENT_AND_INGEST = ("/agent/", "/webhooks/w/")
OAUTH = ("/oauth/register", "/oauth/token", "/oauth/revoke")
HOLE = re.compile(r"<[^>]+>")
# What the routes take, each set together; every route gets its own and those of others.
TAKEN = (
    (), ("name", "queues", "verbs", "lifetime", "webhook_source_type"), ("name",), ("name", "team"),
    ("title", "queue", "kind", "payload", "key"), ("title", "key"), ("source_type", "target_queue"),
    ("endpoint",), ("default_lease_ttl_seconds",), ("presence", "until"),
    ("shift",), ("result", "summary", "artifact"),
)
LIKELY: dict[str, SearchStrategy[object]] = {
    "queues": st.sampled_from([["inbox"], ["inbox", "lane"], [], ["a", "a"], ["team:crew/shared"]]),
    "verbs": st.sampled_from([["claim"], ["claim", "claim_next"], ["whoami"], []]),
    "lifetime": st.sampled_from(["1h", "4w", "0m", "9999999w"]),
    "webhook_source_type": st.sampled_from(["github", "generic", "x"]),
    "source_type": st.sampled_from(["github", "slack", "x"]),
    "target_queue": st.sampled_from(["inbox", "lane", "team:crew/shared"]),
    "team": st.sampled_from(["crew", "other"]),
    "presence": st.sampled_from(["in", "out", "away"]),
    "until": st.sampled_from(["2199-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "1h"]),
    "shift": st.sampled_from(["Mon-Fri 09:00-17:00", "TZ=Europe/Berlin 22:00-06:00", "", None]),
    "default_lease_ttl_seconds": st.sampled_from([60, 59, 86_400, None]),
    "queue": st.sampled_from(["inbox", "lane"]),
    "artifact": st.sampled_from(["https://example.org/x", "x"]),
    "payload": throwing.VALUE,
    "result": throwing.VALUE,
}
QUERY = ("queue", "state", "endpoint", "team", "limit", "cursor", "reason")
WORDS = ("inbox", "github", "1h", "claim", "pending", "crew", "team:crew/shared")

pytestmark = pytest.mark.timeout(throwing.SECONDS)

# Without a sign-in provider these two say so with 503 (identity.md, "OIDC login").
UNCONFIGURED = ("/auth/login", "/auth/callback")


@pytest.fixture
def app(app: Flask) -> Flask:
    return throwing.without_limits(app)


@pytest.fixture
def ids(make: Make) -> list[str]:
    """Names and ids of things the human owns, reaches through a team, or must not see."""
    human, team = make.human(), make.team("crew")
    make.member(team, human, "admin")
    own, other = make.endpoint(human, webhook_max=10_000), make.endpoint()
    shared = make.todo(queue=make.team_queue(team, "shared"))
    todos = [make.todo(own, state=state) for state in ("pending", "claimed", "failed", "done")]
    mine = make.todo(own, state="claimed", holder=human)
    event = make.value(
        "insert into events (source, family, trust_mode, verified, endpoint_id) "
        "values ('x', 'operator', 'operator', true, %s) returning id", own.id)
    return [make.operator_token(human), make.session(human), own.slug, str(own.id), str(other.id),
            *todos, mine, shared, make.todo(other), str(make.webhook(own).id),
            str(make.webhook(other).id), str(event), str(make.queue_id(own))]


def rules(app: Flask, *, api: bool) -> list[Rule]:
    """The rules of the operator door, or of the pages; what ends something comes last. The JSON
    doors of OAuth have a shape of their own for refusals: test_fuzz_oauth.py throws at them.
    """
    found = [rule for rule in app.url_map.iter_rules()
             if not rule.rule.startswith(AGENT_AND_INGEST)
             and rule.rule not in OAUTH and rule.rule.startswith("/api/") == api]
    return sorted(found, key=lambda rule: (
        rule.rule.endswith(("/token", "/logout")), "DELETE" in (rule.methods or ()),
        rule.rule.endswith("/revoke"), rule.rule,
    ))


def filled(rule: Rule, ids: list[str]) -> SearchStrategy[str]:
    """Paths of one rule: its holes hold known ids, or anything."""
    part = st.one_of(st.sampled_from(ids), st.sampled_from(ids), throwing.path_parts())
    holes = len(HOLE.findall(rule.rule))
    return st.lists(part, min_size=holes, max_size=holes).map(
        lambda parts: HOLE.sub(lambda _: parts.pop(0), rule.rule) if parts else rule.rule
    )


def test_no_request_to_a_route_of_the_operator_door_makes_an_accident(
    app: Flask, ids: list[str]
) -> None:
    client, (token, _, *known) = app.test_client(), ids
    proof = {"Authorization": f"Bearer {token}"}
    found = rules(app, api=True)
    assert len(found) > 10
    bodies = st.sampled_from(TAKEN).flatmap(lambda keys: _body(keys, known))

    for rule in found:
        asks = st.tuples(st.sampled_from(sorted(rule.methods or ())), filled(rule, known),
                         throwing.query(QUERY), bodies)

        def ask(thing: tuple[str, str, str, bytes]) -> None:
            method, path, query, body = thing
            thrown(client.open(
                path, method=method, query_string=query, data=body, headers=proof,
                content_type="application/json",
            ))

        throwing.throw(12, asks, ask)


def test_no_request_below_the_operator_prefix_makes_an_accident(
    app: Flask, ids: list[str]
) -> None:
    client, (token, *_) = app.test_client(), ids

    @throwing.rounds(80)
    @given(st.data())
    def throw(data: st.DataObject) -> None:
        tails = st.one_of(throwing.path_parts(), st.sampled_from(["me", "todos", "endpoints"]))
        ask = data.draw(throwing.request(tails.map("/api/v1/{}".format), token))
        thrown(ask(client))

    throw()


@pytest.mark.parametrize("signed_in", [True, False])
def test_no_request_to_a_page_makes_an_accident(
    app: Flask, ids: list[str], *, signed_in: bool
) -> None:
    _, session, *known = ids
    names = st.one_of(st.sampled_from(["title", "queue", "next"]), throwing.DECODABLE)
    forms = st.dictionaries(names, throwing.DECODABLE, max_size=3)

    for rule in rules(app, api=False):
        asks = st.tuples(filled(rule, known), throwing.query(QUERY), forms,
                         st.none() | throwing.BROKEN, st.sampled_from(sorted(rule.methods or ())))

        def ask(thing: tuple[str, str, dict[str, str], bytes | None, str]) -> None:
            path, query, form, raw, method = thing
            client = app.test_client()
            csrf = Browser(client, session).csrf if signed_in else "none"
            answer = client.open(
                path, method=method, query_string=query, headers={"X-CSRF-Token": csrf},
                data=form if raw is None else raw,
                content_type="application/x-www-form-urlencoded",
            )
            thrown(answer, *([503] if path in UNCONFIGURED else []))

        throwing.throw(5, asks, ask)


def _body(keys: tuple[str, ...], known: list[str]) -> SearchStrategy[bytes]:
    """A body of these keys: likely words and known ids most of the time."""
    words = st.sampled_from([*known, *WORDS])
    values = {key: LIKELY.get(key, words) for key in keys}
    return st.one_of(throwing.whole(values), throwing.whole(values), throwing.body(values))
