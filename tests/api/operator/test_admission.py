"""Policies over /api/v1: what each route answers, and what a stranger cannot learn."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from app.domain.callers import Endpoint, Human
from app.domain.verbs import ADMISSION, BASICS
from tests.support.client import Caller
from tests.support.clock import Clock
from tests.support.make import Make
from tests.support.recorded import recorded

WINDOW = {"period": "day", "tz": "America/Los_Angeles", "start": "00:00"}
DAILY = {"max_claims_per_window": 100, "window": WINDOW}
FULL = {"max_in_flight": None, **DAILY}
NOT_FOUND = b'{"error":"Not found.","code":"not_found"}'
TYPED = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def noon(clock: Clock) -> None:
    """Five in the morning in Los Angeles, and the clock stands."""
    clock.set("2026-09-30T12:00:00Z")


@pytest.fixture
def path(lane: Endpoint) -> str:
    return f"/admission/endpoint:{lane.slug}/lane-m"


# --- PUT and GET ---------------------------------------------------------------------------------


@pytest.mark.req("REQ-1", "A daily budget")
def test_a_policy_is_set_and_read_back_as_it_was_sent(
    api: Caller, lane: Endpoint, path: str, ada: Human
) -> None:
    put = api.put(path, json={**DAILY, "reason": "incident 12"})
    got = api.get(path)

    usage = {"in_flight": 0, "used": 0, "remaining": 100,
             "window_started_at": "2026-09-30T07:00:00Z",
             "window_resets_at": "2026-10-01T07:00:00Z"}
    answer = {"scope": f"endpoint:{lane.slug}", "queue": "lane-m", "policy": FULL, "revision": 1,
              "status": {"state": "admitted"}, "usage": usage}
    assert (put.status_code, put.get_json()) == (200, answer)
    audit = [{"at": "2026-09-30T12:00:00Z", "action": "create",
              "actor": {"human_id": str(ada.id), "name": "Ada"}, "before": None, "after": FULL,
              "reason": "incident 12"}]
    assert (got.status_code, got.get_json()) == (200, {
        **answer, "also_binding": [], "windows": [], "audit": audit})
    again = api.put(path, json=got.get_json()["policy"])
    assert again.get_json()["revision"] == 1


@pytest.mark.rule("operator-api.md: weekday is present only for week")
def test_a_week_says_its_day(api: Caller, path: str) -> None:
    window = {**WINDOW, "period": "week", "weekday": "Mon"}

    answer = api.put(path, json={**DAILY, "window": window}).get_json()

    assert answer["policy"]["window"] == window
    assert answer["usage"]["window_started_at"] == "2026-09-28T07:00:00Z"


@pytest.mark.rule("R5, R56: a deferred queue says why, until when, and what else binds")
def test_a_deferred_queue_says_everything_that_binds(
    api: Caller, path: str, lane: Endpoint, make: Make
) -> None:
    policy = make.policy(make.queue_id(lane, "lane-m"), max_in_flight=1, max_claims_per_window=1,
                         tz="America/Los_Angeles")
    make.run("insert into admission_windows values (%s, '2026-09-30 07:00Z', 3, 1, 1, 2)", policy)
    make.run("insert into admission_windows values (%s, '2026-09-29 07:00Z', 9, 0, 0, 9)", policy)
    for _ in range(2):
        make.todo(lane, "lane-m", state="claimed")

    answer = api.get(path).get_json()

    assert answer["status"] == {"state": "deferred", "reason": "window_exhausted",
                                "next_eligible_at": "2026-10-01T07:00:00Z", "exact": True}
    assert answer["also_binding"] == ["in_flight_full"]
    assert answer["usage"] == {
        "in_flight": 2, "used": 3, "remaining": 0, "window_started_at": "2026-09-30T07:00:00Z",
        "window_resets_at": "2026-10-01T07:00:00Z"}
    assert answer["windows"] == [
        {"window_start": "2026-09-30T07:00:00Z", "used": 3, "retries": 1, "takeovers": 1,
         "limit_at_last_charge": 2},
        {"window_start": "2026-09-29T07:00:00Z", "used": 9, "retries": 0, "takeovers": 0,
         "limit_at_last_charge": 9},
    ]


@pytest.mark.rule("R42, R49: nulls where there is no limit; exact beside every next_eligible_at")
def test_a_full_cap_has_a_hint_and_no_window(
    api: Caller, path: str, lane: Endpoint, make: Make
) -> None:
    make.policy(make.queue_id(lane, "lane-m"), max_in_flight=1)
    make.todo(lane, "lane-m", state="claimed", lease=300)

    answer = api.get(path).get_json()

    assert answer["status"] == {"state": "deferred", "reason": "in_flight_full",
                                "next_eligible_at": "2026-09-30T12:05:30Z", "exact": False}
    assert answer["usage"] == {"in_flight": 1, "used": None, "remaining": None,
                               "window_started_at": None, "window_resets_at": None}
    assert answer["policy"] == {"max_in_flight": 1, "max_claims_per_window": None, "window": None}


@pytest.mark.rule("operator-api.md: at most 30 windows and 50 audit records, newest first")
def test_windows_and_audit_end_at_30_and_50(
    api: Caller, path: str, lane: Endpoint, make: Make, ada: Human
) -> None:
    queue = make.queue_id(lane, "lane-m")
    policy = make.policy(queue, max_claims_per_window=5)
    make.run("insert into admission_windows (policy_id, window_start, used, limit_at_last_charge)"
             " select %s, timestamptz '2026-01-01 00:00Z' + n * interval '1 day', n, 5"
             " from generate_series(1, 31) n", policy)
    make.run("insert into admission_policy_audit (policy_id, queue_id, actor_human_id, action, at)"
             " select %s, %s, %s, 'update', clock() - n * interval '1 s'"
             " from generate_series(1, 51) n", policy, int(queue), ada.id)

    answer = api.get(path).get_json()

    assert [each["used"] for each in answer["windows"]] == list(range(31, 1, -1))
    stamps = [each["at"] for each in answer["audit"]]
    assert len(stamps) == 50
    assert stamps == sorted(stamps, reverse=True)
    assert stamps[0] == "2026-09-30T11:59:59Z"


@pytest.mark.rule("R35: no policy is an answer, not an absence")
def test_a_queue_without_a_policy_answers_nulls_and_keeps_its_audit(
    api: Caller, path: str, lane: Endpoint
) -> None:
    bare = api.get(path).get_json()
    api.put(path, json=DAILY)
    first = api.delete(f"{path}?reason=over")
    second = api.delete(path)
    after = api.get(path).get_json()

    nothing: dict[str, object] = {
        "scope": f"endpoint:{lane.slug}", "queue": "lane-m", "policy": None, "revision": None,
        "status": {"state": "admitted"}, "usage": None, "also_binding": [], "windows": [],
    }
    assert bare == {**nothing, "audit": []}
    assert (first.status_code, first.get_json()) == (200, {"deleted": True})
    assert (second.status_code, second.get_json()) == (200, {"deleted": False})
    records = [(each["action"], each["before"], each["after"], each["reason"])
               for each in after.pop("audit")]
    assert after == nothing
    assert records == [("delete", FULL, None, "over"), ("create", None, FULL, None)]


@pytest.mark.req("REQ-10", "An owner opts an agent in")
def test_the_audit_names_the_agent_and_its_human(
    api: Caller, agent: Callable[[Endpoint], Caller], make: Make, ada: Human
) -> None:
    lane = make.endpoint(ada, queues=("lane-m",), verbs=(*BASICS, *ADMISSION))
    agent(lane).call("set_admission_policy", queue="lane-m", policy={"max_in_flight": 1})

    record = api.get(f"/admission/endpoint:{lane.slug}/lane-m").get_json()["audit"][0]

    assert record["actor"] == {"human_id": str(ada.id), "name": "Ada"}
    assert record["endpoint"] == {"id": str(lane.id), "slug": lane.slug}


@pytest.mark.req("REQ-10", "Lowering mid-window")
def test_lowering_and_raising_take_effect_at_once(
    api: Caller, path: str, lane: Endpoint, make: Make
) -> None:
    api.put(path, json=DAILY)
    policy = make.value("select id from admission_policies")
    make.run("insert into admission_windows values (%s, '2026-09-30 07:00Z', 60, 0, 0, 100)",
             policy)
    make.todo(lane, "lane-m")

    def state_after(limit: int) -> tuple[str, int, str]:
        put = api.put(path, json={**DAILY, "max_claims_per_window": limit}).get_json()
        row = api.get("/todos").get_json()["todos"][0]
        return put["status"]["state"], put["usage"]["remaining"], row["admission"]["state"]

    assert state_after(50) == ("deferred", 0, "deferred")
    assert state_after(61) == ("admitted", 1, "admitted")


@pytest.mark.req("REQ-9", "A policy that cannot be evaluated")
def test_a_broken_policy_is_shown_and_healed(
    api: Caller, path: str, lane: Endpoint, make: Make
) -> None:
    make.policy(make.queue_id(lane, "lane-m"), max_claims_per_window=5, tz="Mars/Olympus")

    broken = api.get(path).get_json()
    healed = api.put(path, json=DAILY).get_json()

    assert (broken["policy"], broken["revision"], broken["usage"]) == (None, None, None)
    assert broken["status"] == {"state": "deferred", "reason": "admission_unavailable",
                                "next_eligible_at": None, "exact": False}
    assert (healed["status"], healed["revision"]) == ({"state": "admitted"}, 2)


# --- the list ------------------------------------------------------------------------------------


def test_the_list_holds_the_policies_one_may_manage(
    api: Caller, lane: Endpoint, foreign: Endpoint, make: Make, ada: Human
) -> None:
    ours, theirs = make.team("ours"), make.team("theirs")
    make.member(ours, ada, "admin")
    make.member(theirs, ada, "member")
    for queue in (make.queue_id(lane, "a/b"), make.queue_id(foreign, "lane-m"),
                  make.team_queue(ours, "shared"), make.team_queue(theirs, "shared")):
        make.policy(queue, max_in_flight=2)

    answer = api.get("/admission").get_json()

    policy = {"max_in_flight": 2, "max_claims_per_window": None, "window": None}
    usage = {"in_flight": 0, "used": None, "remaining": None, "window_started_at": None,
             "window_resets_at": None}
    said = {"policy": policy, "status": {"state": "admitted"}, "usage": usage}
    assert answer == {"policies": [
        {"scope": f"endpoint:{lane.slug}", "queue": "a/b", **said},
        {"scope": "team:ours", "queue": "shared", **said},
    ]}


# --- addresses -----------------------------------------------------------------------------------


@pytest.mark.rule("operator-api.md: a queue name may hold / and :, and no path is redirected")
@pytest.mark.parametrize("name", ["a/b", "a:b/c:d", "%2F", "sp ace", "ünï", "a?#&"])
@pytest.mark.parametrize("by", ["slug", "id"])
def test_any_queue_name_is_addressed_percent_encoded(
    api: Caller, make: Make, ada: Human, name: str, by: str
) -> None:
    endpoint = make.endpoint(ada, queues=(name, "b"))
    ref = endpoint.slug if by == "slug" else str(endpoint.id)

    answer = api.put(f"/admission/endpoint:{ref}/{quote(name, safe='')}", json=DAILY)

    assert (answer.status_code, answer.get_json()["queue"]) == (200, name)
    assert make.rows("select name from queues where has_policy") == [(name,)]


@pytest.mark.parametrize("tail", ["lane-m/", "/lane-m", "//lane-m", "a//b", "", "a/b/"])
def test_a_path_that_is_not_exactly_a_queue_is_not_found(
    api: Caller, lane: Endpoint, make: Make, tail: str
) -> None:
    answer = api.put(f"/admission/endpoint:{lane.slug}/{tail}", json=DAILY)

    assert (answer.status_code, answer.data) == (404, NOT_FOUND)
    assert make.value("select count(*) from admission_policies") == 0


@pytest.mark.rule("R34: the reserved name")
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_the_reserved_name_is_an_invalid_argument(
    api: Caller, lane: Endpoint, method: str
) -> None:
    answer = api.open(method, f"/admission/endpoint:{lane.slug}/quarantine",
                      json=DAILY if method == "PUT" else None)

    assert answer.status_code == 400
    assert (answer.get_json()["code"], answer.get_json()["field"]) == ("invalid_argument", "queue")


# --- strangers -----------------------------------------------------------------------------------

BODIES: list[dict[str, Any]] = [
    {"json": DAILY},
    {"json": {"max_in_flight": -1, "surprise": 1}},
    {"data": b"{nonsense", "headers": TYPED},
]


@pytest.mark.req("REQ-10", "Another human's queue is opaque")
@pytest.mark.rule("R57: foreign and unknown are the same bytes after the same statements")
@pytest.mark.parametrize(("method", "sent"), [
    ("GET", {}), ("DELETE", {}), *(("PUT", each) for each in BODIES),
])
def test_a_foreign_queue_is_an_unknown_queue(
    api: Caller, foreign: Endpoint, make: Make, monkeypatch: pytest.MonkeyPatch, method: str,
    sent: dict[str, Any],
) -> None:
    make.policy(make.queue_id(foreign, "lane-m"), max_in_flight=1)
    team = make.team()
    make.team_queue(team, "shared")
    api.get("/me")  # the token's stamp, due once a minute, is out of the way
    api.delete("/admission/endpoint:nobody/q")  # and the first write makes its bucket
    runs, answers = [], []

    for address in (f"endpoint:{foreign.slug}/lane-m", f"endpoint:{foreign.id}/lane-m",
                    "endpoint:nobody-abcd/lane-m", f"endpoint:{uuid.uuid4()}/lane-m",
                    f"endpoint:{foreign.slug}/unknown", f"team:{team.slug}/shared",
                    "team:nobody/shared", "nonsense/%00%ff"):
        with recorded(monkeypatch) as said:
            answers.append(api.open(method, f"/admission/{address}", **sent))
        runs.append(said)

    assert {(answer.status_code, answer.data) for answer in answers} == {(404, NOT_FOUND)}
    assert runs[0]
    assert all(run == runs[0] for run in runs)
    assert make.value("select max_in_flight from admission_policies") == 1


def test_a_plain_member_is_a_stranger_to_the_teams_policies(
    api: Caller, make: Make, ada: Human
) -> None:
    team = make.team("ours")
    make.member(team, ada, "member")
    make.policy(make.team_queue(team, "shared"), max_in_flight=1)

    for method in ("GET", "PUT", "DELETE"):
        answer = api.open(method, "/admission/team:ours/shared",
                          json=DAILY if method == "PUT" else None)
        assert (answer.status_code, answer.data) == (404, NOT_FOUND)
    assert api.get("/admission").get_json() == {"policies": []}


@pytest.mark.rule("R35: a revoked endpoint's policy is read, not written")
def test_a_revoked_endpoint_is_read_only(
    api: Caller, lane: Endpoint, make: Make, path: str
) -> None:
    api.put(path, json=DAILY)
    make.run("update endpoints set state = 'revoked' where id = %s", lane.id)

    put, delete = api.put(path, json={"max_in_flight": -1}), api.delete(path)

    assert api.get(path).get_json()["policy"] == FULL
    for answer in (put, delete):
        assert answer.status_code == 409
        assert (answer.get_json()["code"], answer.get_json()["state"]) == ("conflict", "revoked")


# --- bad bodies ----------------------------------------------------------------------------------


@pytest.mark.req("REQ-1", "Unknown zone is refused")
def test_an_unknown_zone_names_its_field_and_changes_nothing(
    api: Caller, path: str, make: Make
) -> None:
    api.put(path, json=DAILY)
    before = make.rows("select revision, window_tz, updated_at from admission_policies")

    answer = api.put(path, json={**DAILY, "window": {**WINDOW, "tz": "Mars/Olympus"}})

    assert answer.status_code == 400
    assert answer.get_json()["code"] == "invalid_argument"
    assert answer.get_json()["field"] == "window.tz"
    assert make.rows("select revision, window_tz, updated_at from admission_policies") == before
    assert make.value("select count(*) from admission_policy_audit") == 1


@pytest.mark.rule("issue B: bad input is 400 or 413 or 415, never 500, and changes nothing")
@pytest.mark.parametrize(("data", "kind", "status", "field"), [
    (b"", "application/json", 400, None),
    (b"{", "application/json", 400, None),
    (b"[]", "application/json", 400, None),
    (b"null", "application/json", 400, None),
    (b'{"max_in_flight":1', "application/json", 400, None),
    (b'{"max_in_flight":1,"max_in_flight":2}', "application/json", 400, None),
    (b'{"max_in_flight":1e400}', "application/json", 400, None),
    (b'{"max_in_flight":1e2}', "application/json", 400, "max_in_flight"),
    (b'{"max_in_flight":NaN}', "application/json", 400, None),
    (b'{"max_in_flight":"1"}', "application/json", 400, "max_in_flight"),
    (b'{"max_in_flight":-1}', "application/json", 400, "max_in_flight"),
    (b'{"max_in_flight":99999999999999999999999999}', "application/json", 400, "max_in_flight"),
    (b'{"max_in_flight":1,"reason":"\\u0000"}', "application/json", 400, None),
    (b'{"max_in_flight":1,"reason":"\\ud800"}', "application/json", 400, None),
    (b'{"max_in_flight":1,"reason":5}', "application/json", 400, "reason"),
    (b'{"max_in_flight":1,"\xff":1}', "application/json", 400, None),
    (b'{"max_in_flight":1,"extra":1}', "application/json", 400, "extra"),
    (b'{"window":' + b"[" * 8000 + b"]" * 8000 + b"}", "application/json", 400, None),
    (b'{"max_in_flight":1}', "text/plain", 415, None),
    (b" " * (16 * 1024 + 1), "application/json", 413, None),
])
def test_a_body_that_is_no_policy_is_refused(
    api: Caller, path: str, make: Make, data: bytes, kind: str, status: int, field: str | None
) -> None:
    answer = api.put(path, data=data, headers={"Content-Type": kind})

    assert answer.status_code == status
    assert answer.get_json()["code"] == "invalid_argument"
    if field is not None:
        assert answer.get_json()["field"] == field
    assert make.value("select count(*) from admission_policies") == 0
    assert make.value("select count(*) from admission_policy_audit") == 0


def test_a_body_of_16_kib_is_read(api: Caller, path: str) -> None:
    policy = b'{"max_in_flight":1}'

    answer = api.put(path, data=policy.ljust(16 * 1024), headers=TYPED)

    assert answer.status_code == 200


@pytest.mark.rule("R55: 500 characters of reason, 501 refused, on every surface")
def test_reasons_of_500_and_501_characters(api: Caller, path: str) -> None:
    most, over = "é" * 500, "é" * 501

    answers = [
        api.put(path, json={**DAILY, "reason": most}),
        api.put(path, json={**DAILY, "reason": over}),
        api.delete(f"{path}?reason={quote(over)}"),
        api.delete(f"{path}?reason={quote(most)}"),
    ]

    assert [answer.status_code for answer in answers] == [200, 400, 400, 200]
    assert {answers[n].get_json()["field"] for n in (1, 2)} == {"reason"}
    audit = api.get(path).get_json()["audit"]
    assert [each["reason"] for each in audit] == [most, most]


def test_delete_takes_a_reason_and_nothing_else(api: Caller, path: str) -> None:
    answers = [
        api.delete(f"{path}?surprise=1"),
        api.delete(f"{path}?reason=a&reason=b"),
        api.delete(path, json={"surprise": 1}),
        api.delete(path, json=[]),
        api.delete(path, data=b"{}", headers={"Content-Type": "text/plain"}),
        api.delete(path, data=b" " * (16 * 1024 + 1), headers=TYPED),
        api.get(f"{path}?surprise=1"),
        api.get("/admission?surprise=1"),
    ]

    assert [each.status_code for each in answers] == [400, 400, 400, 400, 415, 413, 400, 400]


# --- order and rate ------------------------------------------------------------------------------


@pytest.mark.rule("R43: one write a second, ten at once, per human, refused ones too")
def test_the_eleventh_write_is_refused_before_anything_is_looked_at(
    api: Caller, operator: Callable[[Human], Caller], ada: Human, path: str, clock: Clock,
    make: Make,
) -> None:
    unknown = "/admission/endpoint:nobody/q"
    for n in range(5):
        assert api.put(path, json={"max_in_flight": n + 1}).status_code == 200
        assert api.delete(unknown).status_code == 404

    refused = [
        api.put(path, json=DAILY),
        api.put(unknown, data=b"x" * 20_000),
        api.delete(path),
        operator(ada).delete(path),
    ]

    for answer in refused:
        assert (answer.status_code, answer.get_json()["code"]) == (429, "rate_limited")
        assert answer.headers["Retry-After"] == "1"
    assert api.get(path).get_json()["policy"]["max_in_flight"] == 5
    assert operator(make.human()).delete(path).status_code == 404
    clock.advance(1)
    assert [api.delete(path).status_code, api.delete(path).status_code] == [200, 429]


@pytest.mark.rule("R57: caller, rate, size and type, may manage, body")
def test_size_and_type_come_before_who_may(api: Caller) -> None:
    unknown = "/admission/endpoint:nobody/q"

    answers = [
        api.put(unknown, data=b" " * (16 * 1024 + 1), headers=TYPED),
        api.put(unknown, data=b"{}", headers={"Content-Type": "text/plain"}),
        api.put(unknown, data=b"{", headers=TYPED),
    ]

    assert [answer.status_code for answer in answers] == [413, 415, 404]


# --- todo rows -----------------------------------------------------------------------------------


@pytest.mark.rule("R26: every pending row of a queue with a policy, and no other, has a status")
def test_todo_routes_say_whether_a_pending_todo_waits(
    api: Caller, lane: Endpoint, make: Make, ada: Human
) -> None:
    make.policy(make.queue_id(lane, "lane-m"), max_in_flight=0)
    waits, free = make.todo(lane, "lane-m"), make.todo(lane, "a/b")
    failed = make.todo(lane, "lane-m", state="failed")
    held = make.todo(lane, "lane-m", state="claimed", holder=ada)

    rows = {row["id"]: row.get("admission") for row in api.get("/todos").get_json()["todos"]}
    one = api.get(f"/todos/{waits}").get_json()
    acts = [api.post(f"/todos/{failed}/retry"), api.post(f"/todos/{held}/release"),
            api.post(f"/todos/{waits}/discard")]

    paused = {"state": "deferred", "reason": "paused", "next_eligible_at": None, "exact": False}
    assert rows == {waits: paused, free: None, failed: None, held: None}
    assert one["admission"] == paused
    assert [answer.status_code for answer in acts] == [200, 200, 200]
    assert [answer.get_json().get("admission") for answer in acts] == [paused, paused, None]
