"""Whatever a holder of a credential sends to the agent door, the answer is never an accident."""

from __future__ import annotations

from urllib.parse import urlencode

import hypothesis.strategies as st
import pytest
from flask import Flask
from hypothesis import given
from hypothesis.strategies import SearchStrategy

from app.api import registry
from app.api.arguments import input_schema
from tests.api import throwing
from tests.api.asking import agent_of
from tests.api.throwing import thrown
from tests.support.make import Make

PATHS = st.one_of(
    st.sampled_from([*registry.VERBS, "verbs", "stream", "", "/", "verbs/"]), throwing.path_parts()
)
KEYS = st.one_of(st.none(), st.none(), st.sampled_from(["once", "again"]), throwing.header_text())

pytestmark = pytest.mark.timeout(throwing.SECONDS)


@pytest.fixture
def app(app: Flask) -> Flask:
    return throwing.without_limits(app)


@pytest.fixture
def ids(make: Make) -> list[str]:
    """Ids that mean something to the agent that asks, and some that must not."""
    own, other = make.endpoint(queues=("inbox", "lane")), make.endpoint()
    make.todo(own, attempt=2)
    held = [make.todo(own, state="claimed") for _ in range(5)]
    return [make.credential(own), *held, make.todo(own), make.todo(own, state="failed"),
            make.todo(own, "lane", state="done"), make.todo(other), str(make.webhook(own).id),
            str(make.webhook(other).id), "inbox", "lane", "github", "generic"]


def fitting(name: str, ids: list[str]) -> dict[str, SearchStrategy[object]]:
    """For each declared argument of a verb, values of its type, from likely to absurd."""
    properties = input_schema(registry.VERBS[name].arguments)["properties"]
    assert isinstance(properties, dict)
    known = {key: _of(str(part), ids) for key, part in properties.items()}
    todos = st.sampled_from([each for each in ids if each.startswith("td_")])
    better = {
        "id": st.one_of(todos, todos, known.get("id", todos)),
        "artifact": st.sampled_from([None, "https://example.org/x", "https://", "ftp://x"]),
        "wait_seconds": st.sampled_from([0, 0, 0, -1, 31]),
    }
    return known | {key: better[key] for key in better.keys() & known.keys()}


def _of(schema: str, ids: list[str]) -> SearchStrategy[object]:
    if "enum" in schema:
        return st.sampled_from(["pending", "claimed", "done", "failed"])
    if "integer" in schema:
        return st.one_of(st.integers(-3, 300), st.sampled_from([0, 2**31, 2**63, -(2**64), 10**30]))
    if "boolean" in schema:
        return st.booleans()
    if "string" in schema:
        return st.one_of(st.sampled_from(ids), st.sampled_from(ids), throwing.STORABLE)
    return throwing.VALUE


@pytest.mark.parametrize("name", registry.VERBS)
def test_no_body_of_a_verb_makes_an_accident(app: Flask, ids: list[str], name: str) -> None:
    client, known = app.test_client(), fitting(name, ids[1:])
    headers = {"Authorization": f"Bearer {ids[0]}"}

    @throwing.rounds(30)
    @given(st.one_of(throwing.whole(known), throwing.body(known)), KEYS)
    def throw(body: bytes, key: str | None) -> None:
        said = headers | ({} if key is None else {"Idempotency-Key": key})
        thrown(client.post(f"/agent/v1/{name}", data=body, headers=said,
                           content_type="application/json"))

    throw()


@pytest.mark.parametrize("name", [name for name, verb in registry.VERBS.items() if verb.read_only])
def test_no_query_of_a_read_only_verb_makes_an_accident(
    app: Flask, ids: list[str], name: str
) -> None:
    client, known = app.test_client(), fitting(name, ids[1:])
    headers = {"Authorization": f"Bearer {ids[0]}"}
    likely = st.fixed_dictionaries({}, optional=known).map(urlencode)

    @throwing.rounds(20)
    @given(st.one_of(likely, throwing.query([*known])))
    def throw(query: str) -> None:
        thrown(client.get(f"/agent/v1/{name}", headers=headers, query_string=query))

    throw()


def test_no_path_method_or_header_makes_an_accident(app: Flask, make: Make) -> None:
    agent = agent_of(app, make, make.endpoint())

    @throwing.rounds(100)
    @given(st.data())
    def throw(data: st.DataObject) -> None:
        request = data.draw(throwing.request(PATHS.map("/agent/v1/{}".format), agent.token))
        thrown(request(agent.client))

    throw()
