"""Whatever is sent as a policy, by whom and to which address, the answer is never an accident."""

from __future__ import annotations

from urllib.parse import quote

import hypothesis.strategies as st
import pytest
from flask import Flask
from hypothesis.strategies import SearchStrategy

from app.domain.callers import Endpoint, Human
from app.domain.verbs import ADMISSION, BASICS
from app.transactions import write_limit
from tests.api import throwing
from tests.api.throwing import thrown
from tests.support.make import Make

pytestmark = [
    pytest.mark.timeout(throwing.SECONDS),
    pytest.mark.rule("issue B: bad input is 400 or 413, never 500"),
]

WINDOW = {
    "period": st.sampled_from(["hour", "day", "week", "Day", ""]),
    "tz": st.sampled_from(["UTC", "America/Los_Angeles", "localtime", "../x", "America", "\x00"]),
    "start": st.sampled_from(["00:00", "23:59", "24:00", "0:0", "\u0660" * 2 + ":00", "00:00\n"]),
    "weekday": st.sampled_from([None, "Mon", "Sun", "mon", "Monday"]),
}
GOOD = st.just({"period": "day", "tz": "UTC", "start": "00:00"})
WINDOWS: SearchStrategy[object] = st.one_of(
    GOOD, GOOD, st.none(), st.fixed_dictionaries({}, optional=WINDOW),
    st.fixed_dictionaries(WINDOW), throwing.VALUE,
)
POLICY: dict[str, SearchStrategy[object]] = {
    "max_in_flight": st.sampled_from([0, 1, 2, 3, 4, 10_000, None, 10_001, -1, True, 1.0]),
    "max_claims_per_window": st.sampled_from([None, 0, 1, 2, 1_000_000, 1_000_001, 2**63]),
    "window": WINDOWS,
    "reason": st.sampled_from([None, "", "why", "x" * 500, "x" * 501, 5, "\x00"]),
}


@pytest.fixture
def app(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Flask:
    """Without limits, the one in Postgres included."""
    monkeypatch.setattr(write_limit, "take", lambda db, caller: None)
    return throwing.without_limits(app)


@pytest.fixture
def ada(make: Make) -> Human:
    return make.human()


@pytest.fixture
def lane(make: Make, ada: Human) -> Endpoint:
    return make.endpoint(ada, queues=("inbox", "a/b"), verbs=(*BASICS, *ADMISSION))


def test_no_policy_put_or_cleared_makes_an_accident(
    app: Flask, make: Make, ada: Human, lane: Endpoint
) -> None:
    client, headers = app.test_client(), {"Authorization": f"Bearer {make.operator_token(ada)}"}
    right = st.sampled_from([f"endpoint:{lane.slug}/inbox", f"endpoint:{lane.id}/a%2Fb"])
    addresses = st.one_of(right, right, throwing.path_parts(),
                          st.text(max_size=9).map(lambda text: f"team:{quote(text)}/x"))
    asks = st.tuples(
        st.sampled_from(["PUT", "PUT", "PUT", "DELETE", "GET"]), addresses,
        throwing.query(["reason"]), st.one_of(throwing.whole(POLICY), throwing.body(POLICY)))

    def ask(thing: tuple[str, str, str, bytes]) -> None:
        method, address, query, body = thing
        thrown(client.open(f"/api/v1/admission/{address}", method=method, query_string=query,
                           data=body, headers=headers, content_type="application/json"))

    throwing.throw(200, asks, ask)

    assert make.value("select count(*) from admission_policy_audit") not in (0, None)


def test_no_policy_set_or_cleared_by_an_agent_makes_an_accident(
    app: Flask, make: Make, lane: Endpoint
) -> None:
    client, headers = app.test_client(), {"Authorization": f"Bearer {make.credential(lane)}"}
    queues = st.one_of(st.sampled_from(["inbox", "a/b", "quarantine", "team:x/y"]), throwing.TEXT)
    policies = {key: values for key, values in POLICY.items() if key != "reason"}
    arguments: dict[str, SearchStrategy[object]] = {
        "queue": queues,
        "policy": st.one_of(st.fixed_dictionaries(policies),
                            st.fixed_dictionaries({}, optional=policies), throwing.VALUE),
        "reason": POLICY["reason"],
    }
    asks = st.tuples(st.sampled_from([*ADMISSION, "admission_status"]),
                     st.one_of(throwing.whole(arguments), throwing.body(arguments)))

    def ask(thing: tuple[str, bytes]) -> None:
        verb, body = thing
        thrown(client.post(f"/agent/v1/{verb}", data=body, headers=headers,
                           content_type="application/json"))

    throwing.throw(200, asks, ask)

    assert make.value("select count(*) from admission_policy_audit") not in (0, None)
