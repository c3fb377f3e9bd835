"""clock_in, clock_out and presence over the agent door; whoami's word for it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from flask import Flask

from tests.api.asking import Agent, agent_of
from tests.support.clock import Clock
from tests.support.make import Make

NIGHT = datetime(2026, 11, 30, 20, tzinfo=UTC)
OFFICE = "Mon-Fri 09:00-17:00"
IN = {"presence": "in", "source": "default", "until": None, "shift": None, "pending": 0}


@pytest.fixture
def late(app: Flask, make: Make, clock: Clock) -> Agent:
    """An agent whose shift is over for today, with one todo that waits."""
    clock.set(NIGHT)
    lane = make.endpoint()
    make.todo(lane)
    make.run("update endpoints set shift = %s, presence_seen = 'out' where id = %s",
             OFFICE, lane.id)
    return agent_of(app, make, lane)


def test_an_agent_without_any_grant_of_it_clocks_out_and_in(app: Flask, make: Make) -> None:
    agent = agent_of(app, make, make.endpoint(verbs=("list_todos",)))

    assert agent.get("presence").body == IN
    assert agent("clock_out").body == {**IN, "presence": "out", "source": "agent"}
    assert agent("whoami").body["presence"] == "out"
    assert agent("presence").body == {**IN, "presence": "out", "source": "agent"}
    assert agent("clock_in").body == IN
    assert agent("whoami").body["presence"] == "in"


@pytest.mark.parametrize(("arguments", "until"), [
    ({}, "2026-11-30T21:00:00Z"), ({"for": None}, "2026-11-30T21:00:00Z"),
    ({"for": "90m"}, "2026-11-30T21:30:00Z"), ({"for": "8h"}, "2026-12-01T04:00:00Z"),
])
def test_out_of_shift_it_says_for_how_long(
    late: Agent, arguments: dict[str, object], until: str
) -> None:
    assert late.post("clock_in", arguments).body == {
        "presence": "in", "source": "agent", "until": until, "shift": OFFICE, "pending": 1,
    }
    assert late("clock_out").body["until"] == "2026-12-01T09:00:00Z"


@pytest.mark.parametrize("stay", [
    "", "8", "8 h", "0h", "9h", "481m", "1d", "1w", "-1h", "1.5h", "h", "٣h", "8H", "99999999h",
    8, 1.5, True, [], {}, "1h\n",
])
def test_a_stay_that_cannot_be_used_names_for_and_changes_nothing(
    late: Agent, stay: object
) -> None:
    assert late.post("clock_in", {"for": stay}).refusal == (400, "invalid_argument", "for")
    assert late("presence").body["presence"] == "out"


@pytest.mark.parametrize(("verb", "key"), [
    ("clock_in", "stay"), ("clock_in", "until"), ("clock_out", "for"), ("presence", "for"),
])
def test_an_argument_they_do_not_take_is_named(late: Agent, verb: str, key: str) -> None:
    assert late.post(verb, {key: "1h"}).refusal == (400, "invalid_argument", key)


def test_the_schema_calls_the_stay_for(late: Agent) -> None:
    listed = {each["name"]: each for each in late.get("verbs").body["verbs"]}

    assert listed["clock_in"]["input_schema"]["required"] == []
    assert list(listed["clock_in"]["input_schema"]["properties"]) == ["for"]
    assert listed["presence"]["read_only"] is True


def test_out_every_pull_verb_works_as_usual(late: Agent) -> None:
    assert late("claim_next").body["todo"]["state"] == "claimed"
