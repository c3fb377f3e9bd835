"""whoami and the default lease over the agent door."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flask import Flask

from tests.api.asking import agent_of
from tests.support.make import Make


def test_whoami_says_who_the_credential_is(app: Flask, make: Make) -> None:
    ends = make.now() + timedelta(days=1)
    endpoint = make.endpoint(queues=("b", "a"), verbs=("claim_next", "list_todos"), expires_at=ends,
                             default_lease_ttl_seconds=600)

    assert agent_of(app, make, endpoint).get("whoami").body == {
        "endpoint_id": str(endpoint.id), "slug": endpoint.slug, "agent_name": endpoint.agent_name,
        "state": "active", "queues": ["b", "a"], "verbs": ["list_todos", "claim_next"],
        "expires_at": ends.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "default_lease_ttl_seconds": 600, "effective_lease_ttl_seconds": 600, "presence": "in",
    }


def test_whoami_of_a_plain_endpoint_has_nulls_and_the_default(app: Flask, make: Make) -> None:
    body = agent_of(app, make, make.endpoint())("whoami").body

    assert (body["expires_at"], body["default_lease_ttl_seconds"]) == (None, None)
    assert body["effective_lease_ttl_seconds"] == 300


def test_whoami_lists_team_queues_only_while_they_are_in_reach(app: Flask, make: Make) -> None:
    human, team = make.human(), make.team("crew")
    make.member(team, human)
    endpoint = make.endpoint(human)
    make.grant(endpoint, make.team_queue(team, "shared"))
    agent = agent_of(app, make, endpoint)

    assert agent("whoami").body["queues"] == ["inbox", "team:crew/shared"]
    make.remove_member(team, human)
    assert agent("whoami").body["queues"] == ["inbox"]


def test_the_default_lease_is_read_set_and_cleared(app: Flask, make: Make) -> None:
    agent = agent_of(app, make, make.endpoint())
    none = {"default_lease_ttl_seconds": None, "effective_lease_ttl_seconds": 300, "min": 60,
            "max": 86_400}
    some = none | {"default_lease_ttl_seconds": 60, "effective_lease_ttl_seconds": 60}

    assert agent.get("get_default_lease").body == none
    assert agent("set_default_lease", default_lease_ttl_seconds=60).body == some
    assert agent("get_default_lease").body == some
    assert agent("set_default_lease", default_lease_ttl_seconds=None).body == none
    assert agent("get_default_lease").body == none


@pytest.mark.parametrize("seconds", [59, 86_401, 0, -1, 10**40, 60.0, "60", True, []])
def test_a_default_lease_outside_its_bounds_is_refused_never_clamped(
    app: Flask, make: Make, seconds: object
) -> None:
    agent = agent_of(app, make, make.endpoint(default_lease_ttl_seconds=90))

    refused = agent("set_default_lease", default_lease_ttl_seconds=seconds)

    assert refused.refusal == (400, "invalid_argument", "default_lease_ttl_seconds")
    assert agent("get_default_lease").body["default_lease_ttl_seconds"] == 90
    assert agent("set_default_lease").refusal == refused.refusal


def test_a_changed_default_applies_to_the_next_call_only(app: Flask, make: Make) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint)
    agent = agent_of(app, make, endpoint)
    before = agent("claim", id=todo).body["lease_expires_at"]

    agent("set_default_lease", default_lease_ttl_seconds=60)

    assert agent("get_todo", id=todo).body["lease_expires_at"] == before
    agent("heartbeat", id=todo)
    assert make.row(todo)["lease_expires_at"] - make.now() <= timedelta(seconds=60)
