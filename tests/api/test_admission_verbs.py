"""The admission verbs: what an agent reads of its budget, and changes when it is let."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask

from app.domain.callers import Endpoint, Human
from app.domain.verbs import ADMISSION, BASICS
from tests.api.asking import Agent, agent_of
from tests.support.clock import Clock
from tests.support.make import Make

WINDOW = {"period": "day", "tz": "America/Los_Angeles", "start": "00:00"}
DAILY = {"max_claims_per_window": 100, "window": WINDOW}
FULL = {"max_in_flight": None, **DAILY}
PAUSED = {"state": "deferred", "reason": "paused", "next_eligible_at": None, "exact": False}
ADMITTED = {"state": "admitted"}
STORED = "select queue_id, max_in_flight, max_claims_per_window, revision from admission_policies"


@pytest.fixture(autouse=True)
def noon(clock: Clock) -> None:
    """Five in the morning in Los Angeles."""
    clock.set("2026-09-30T12:00:00Z")


@pytest.fixture
def ada(make: Make) -> Human:
    return make.human("Ada")


@pytest.fixture
def lane(make: Make, ada: Human) -> Endpoint:
    return make.endpoint(ada, queues=("lane-m", "inbox"), verbs=(*BASICS, *ADMISSION))


@pytest.fixture
def agent(app: Flask, make: Make, lane: Endpoint) -> Agent:
    return agent_of(app, make, lane)


@pytest.fixture
def basic(app: Flask, make: Make, ada: Human) -> Callable[..., Agent]:
    """Makes an agent of Ada's with these verbs, the basics by default."""
    return lambda verbs=BASICS: agent_of(app, make, make.endpoint(ada, verbs=verbs))


# --- admission_status ----------------------------------------------------------------------------


@pytest.mark.rule("agent-api.md: admission_status, every granted queue, policy or not")
def test_status_of_every_granted_queue(agent: Agent, make: Make, lane: Endpoint) -> None:
    policy = make.policy(make.queue_id(lane, "lane-m"), max_in_flight=3, max_claims_per_window=100,
                         tz="America/Los_Angeles")
    make.run("insert into admission_windows values (%s, '2026-09-30 07:00Z', 73, 0, 0, 100)",
             policy)
    for state in ("claimed", "claimed", "pending", "pending", "failed"):
        make.todo(lane, "lane-m", state=state)

    asked = agent("admission_status")

    inbox = {"queue": "inbox", "policy": None, "usage": None, "status": ADMITTED, "pending": 0}
    assert asked.body == {"queues": [inbox, {
        "queue": "lane-m", "policy": {"max_in_flight": 3, **DAILY},
        "usage": {"in_flight": 2, "used": 73, "remaining": 27,
                  "window_started_at": "2026-09-30T07:00:00Z",
                  "window_resets_at": "2026-10-01T07:00:00Z"},
        "status": ADMITTED, "pending": 2,
    }]}
    assert agent.get("admission_status").body == asked.body
    assert agent.get("admission_status", "queue=inbox").body == {"queues": [inbox]}


@pytest.mark.rule("agent-api.md: a policy that cannot be read has null policy and usage")
def test_a_policy_that_cannot_be_read_says_so(agent: Agent, make: Make, lane: Endpoint) -> None:
    make.policy(make.queue_id(lane, "lane-m"), max_claims_per_window=5, tz="Mars/Olympus")
    make.todo(lane, "lane-m")

    answer = agent("admission_status", queue="lane-m").body["queues"]

    assert answer == [{
        "queue": "lane-m", "policy": None, "usage": None, "pending": 1,
        "status": {"state": "deferred", "reason": "admission_unavailable",
                   "next_eligible_at": None, "exact": False},
    }]


@pytest.mark.req("REQ-7", "Status is scoped to the caller")
@pytest.mark.rule("R33: forbidden for an own name, not found for a team's, and not a word more")
def test_a_queue_outside_the_grant_is_refused_and_reveals_nothing(
    app: Flask, make: Make, lane: Endpoint, agent: Agent
) -> None:
    make.policy(make.queue(lane, "outside"), max_in_flight=0)
    other = make.endpoint(queues=("elsewhere",))
    make.policy(make.queue_id(other, "elsewhere"), max_in_flight=0)
    distant = make.team_queue(make.team(), "far")
    make.policy(distant, max_in_flight=0)

    own = [agent("admission_status", queue=name) for name in ("outside", "elsewhere", "unknown")]
    team = [agent("admission_status", queue=name) for name in (distant.name, "team:nobody/far")]

    assert {each.refusal for each in own} == {(403, "forbidden", "queue")}
    assert {each.refusal for each in team} == {(404, "not_found", None)}
    for same in (own, team):
        assert all(each.body == same[0].body for each in same)
    assert [each["queue"] for each in agent("admission_status").body["queues"]] == [
        "inbox", "lane-m"]


@pytest.mark.rule("agent-api.md: claim or claim_next implies admission_status")
@pytest.mark.parametrize(("verbs", "status"), [
    (("claim",), 200), (("claim_next",), 200), (("list_todos", "complete"), 403),
])
def test_who_may_claim_may_ask(
    basic: Callable[..., Agent], verbs: tuple[str, ...], status: int
) -> None:
    assert basic(verbs)("admission_status").status == status


# --- set and clear -------------------------------------------------------------------------------


@pytest.mark.req("REQ-10", "An owner opts an agent in")
def test_an_agent_that_is_let_sets_and_clears_its_budget(
    agent: Agent, make: Make, lane: Endpoint, ada: Human
) -> None:
    policy = {"max_claims_per_window": 50, "window": WINDOW}

    made = agent("set_admission_policy", queue="lane-m", policy=policy, reason="night")
    cleared = agent("clear_admission_policy", queue="lane-m", reason="day")
    again = agent("clear_admission_policy", queue="lane-m")

    assert (made.status, made.body) == (200, {
        "queue": "lane-m", "policy": {"max_in_flight": None, **policy}, "status": ADMITTED,
        "usage": {"in_flight": 0, "used": 0, "remaining": 50,
                  "window_started_at": "2026-09-30T07:00:00Z",
                  "window_resets_at": "2026-10-01T07:00:00Z"},
    })
    assert cleared.body == {"queue": "lane-m", "cleared": True}
    assert again.body == {"queue": "lane-m", "cleared": False}
    assert make.rows("select action, reason, actor_human_id, actor_endpoint_id"
                     " from admission_policy_audit order by id") == [
        ("create", "night", ada.id, lane.id), ("delete", "day", ada.id, lane.id),
    ]


@pytest.mark.req("REQ-10", "An owner opts an agent in")
@pytest.mark.rule("R57: may it manage the queue, and only then: is the policy one")
@pytest.mark.parametrize("policy", [DAILY, {"max_in_flight": -1}, {"x": 1}, "nonsense", None, []])
def test_a_queue_it_may_not_manage_is_not_found_whatever_the_policy(
    agent: Agent, make: Make, lane: Endpoint, ada: Human, policy: object
) -> None:
    other = make.endpoint(ada, queues=("elsewhere",))
    make.queue(lane, "outside")
    team = make.team()
    make.member(team, ada, "owner")
    shared = make.team_queue(team, "shared")
    make.grant(lane, shared)  # granted, but the endpoint is Ada's own
    names = ["outside", "elsewhere", "unknown", f"endpoint:{other.slug}", shared.name,
             "team:nobody/x", "team:", "\u202e"]

    answers = [agent("set_admission_policy", queue=name, policy=policy, reason=5)
               for name in names]

    assert {each.refusal for each in answers} == {(404, "not_found", None)}
    assert all(each.body == answers[0].body for each in answers)
    assert make.rows(STORED) == []


@pytest.mark.req("REQ-10", "By default an agent cannot raise its own ceiling")
def test_without_the_grant_no_such_verb_is_offered_or_succeeds(
    basic: Callable[..., Agent], app: Flask, make: Make, ada: Human
) -> None:
    endpoint = make.endpoint(ada)
    make.policy(make.queue_id(endpoint), max_in_flight=1)
    before = make.rows(STORED)
    agent = agent_of(app, make, endpoint)

    offered = {verb["name"] for verb in agent.get("verbs").body["verbs"]}
    answers = [
        agent("set_admission_policy", queue="inbox", policy={"max_in_flight": 100}),
        agent("clear_admission_policy", queue="inbox"),
        agent("set_admission_policy", queue="inbox", policy="nonsense"),
    ]
    with_token = app.test_client().put(
        f"/api/v1/admission/endpoint:{endpoint.slug}/inbox", json={"max_in_flight": 100},
        headers=agent.headers)

    assert offered.isdisjoint(ADMISSION)
    assert "admission_status" in offered
    assert {each.refusal for each in answers} == {(403, "forbidden", None)}
    assert with_token.status_code == 401
    assert make.rows(STORED) == before


@pytest.mark.rule("agent-api.md, Grants: never in basics")
def test_one_admission_verb_does_not_carry_the_other(basic: Callable[..., Agent]) -> None:
    assert set(BASICS).isdisjoint(ADMISSION)
    setter = basic((*BASICS, "set_admission_policy"))
    clearer = basic((*BASICS, "clear_admission_policy"))

    assert setter("set_admission_policy", queue="inbox", policy={"max_in_flight": 1}).status == 200
    assert setter("clear_admission_policy", queue="inbox").status == 403
    assert clearer("clear_admission_policy", queue="inbox").status == 200
    assert clearer("set_admission_policy", queue="inbox", policy={}).status == 403


@pytest.mark.req("REQ-1", "Unknown zone is refused")
@pytest.mark.rule("R19 on the agent verb")
@pytest.mark.parametrize(("policy", "field"), [
    ({**DAILY, "window": {**WINDOW, "tz": "Mars/Olympus"}}, "window.tz"),
    ({**DAILY, "reason": "x"}, "reason"),
    ({"max_in_flight": "1"}, "max_in_flight"),
    ({"max_in_flight": 1.5}, "max_in_flight"),
    ({"max_claims_per_window": 5}, "window"),
    ({}, "max_in_flight"),
    ("nonsense", "policy"),
    ([], "policy"),
    (None, "policy"),
])
def test_a_policy_that_is_none_names_its_field(
    agent: Agent, make: Make, lane: Endpoint, policy: object, field: str
) -> None:
    make.policy(make.queue_id(lane, "lane-m"), max_in_flight=1)
    before = make.rows(STORED)

    answer = agent("set_admission_policy", queue="lane-m", policy=policy)

    assert answer.refusal == (400, "invalid_argument", field)
    assert make.rows(STORED) == before
    assert make.value("select count(*) from admission_policy_audit") == 0


@pytest.mark.parametrize(("arguments", "field"), [
    ({"policy": DAILY}, "queue"),
    ({"queue": "lane-m"}, "policy"),
    ({"queue": 5, "policy": DAILY}, "queue"),
    ({"queue": "lane-m", "policy": DAILY, "surprise": 1}, "surprise"),
    ({"queue": "lane-m", "policy": DAILY, "reason": "x" * 501}, "reason"),
    ({"queue": "lane-m", "policy": DAILY, "reason": 5}, "reason"),
    ({"queue": "quarantine", "policy": DAILY}, "queue"),
])
def test_arguments_that_are_wrong_name_their_field(
    agent: Agent, arguments: dict[str, object], field: str
) -> None:
    answer = agent.post("set_admission_policy", arguments)

    assert answer.refusal == (400, "invalid_argument", field)


@pytest.mark.rule("R37: a team queue by the team's own endpoint")
def test_the_teams_endpoint_sets_the_teams_queue(app: Flask, make: Make, ada: Human) -> None:
    team = make.team("ours")
    shared = make.team_queue(team, "a/b")
    endpoint = make.endpoint(ada, team, verbs=(*BASICS, *ADMISSION))
    make.grant(endpoint, shared)

    answer = agent_of(app, make, endpoint)(
        "set_admission_policy", queue="team:ours/a/b", policy={"max_in_flight": 0})

    assert (answer.status, answer.body["queue"], answer.body["status"]) == (
        200, "team:ours/a/b", PAUSED)
    assert make.rows("select actor_human_id, actor_endpoint_id from admission_policy_audit") == [
        (ada.id, endpoint.id)]


@pytest.mark.rule("R43: one write a second, ten at once, per endpoint")
def test_the_eleventh_write_of_an_endpoint_is_refused(
    agent: Agent, app: Flask, make: Make, ada: Human, clock: Clock
) -> None:
    for n in range(5):
        policy = {"max_in_flight": n + 1}
        assert agent("set_admission_policy", queue="lane-m", policy=policy).status == 200
        assert agent("clear_admission_policy", queue="unknown").status == 404

    refused = [agent("set_admission_policy", queue="lane-m", policy={"max_in_flight": 9}),
               agent("clear_admission_policy", queue="lane-m")]

    assert {each.refusal for each in refused} == {(429, "rate_limited", None)}
    assert [each.headers["Retry-After"] for each in refused] == ["1", "1"]
    assert agent("admission_status").status == 200
    sibling = make.endpoint(ada, verbs=(*BASICS, *ADMISSION))
    assert agent_of(app, make, sibling)("clear_admission_policy", queue="inbox").status == 200
    clock.advance(1)
    assert agent("clear_admission_policy", queue="lane-m").body["cleared"] is True


# --- todo rows -----------------------------------------------------------------------------------


@pytest.mark.req("REQ-6", "An exhausted day keeps its work")
@pytest.mark.rule("R26: admitted rows say so, rows without a policy say nothing")
def test_pending_rows_say_whether_they_wait_and_until_when(
    agent: Agent, make: Make, lane: Endpoint
) -> None:
    policy = make.policy(make.queue_id(lane, "lane-m"), max_claims_per_window=5,
                         tz="America/Los_Angeles")
    todo, free = make.todo(lane, "lane-m"), make.todo(lane, "inbox")
    held = make.todo(lane, "lane-m", state="claimed")

    def shown() -> list[object]:
        rows = {row["id"]: row for row in agent("list_todos").body["todos"]}
        assert "admission" not in rows[free]
        one = agent("get_todo", id=todo).body
        return [rows[todo]["admission"], one["admission"], one["state"], one["attempt"]]

    assert shown() == [ADMITTED, ADMITTED, "pending", 0]
    make.run("insert into admission_windows values (%s, '2026-09-30 07:00Z', 5, 0, 0, 5)", policy)
    exhausted = {"state": "deferred", "reason": "window_exhausted",
                 "next_eligible_at": "2026-10-01T07:00:00Z", "exact": True}
    assert shown() == [exhausted, exhausted, "pending", 0]
    assert "admission" not in agent("heartbeat", id=held).body
    assert agent("release", id=held).body["admission"] == exhausted
    assert make.value("select used from admission_windows") == 5
