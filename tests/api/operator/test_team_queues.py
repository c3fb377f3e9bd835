"""Team queues and grants by API: who makes them, who drains them, and what the others are told."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import psycopg
import pytest
from werkzeug.test import TestResponse

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.transactions import settling
from tests.support.client import Caller
from tests.support.make import Make, Team
from tests.support.race import all_returned, together
from tests.support.recorded import recorded

Operator = Callable[[Human], Caller]
NOT_FOUND = b'{"error":"Not found.","code":"not_found"}'
NAMES = ["builds", "a/b", "a/todos", "todos", "todos/todos", "a:b", "x%2Fy", "späti ✓", "a b+c?d#e"]


@pytest.fixture
def crew(make: Make, ada: Human) -> Team:
    """A team that Ada administers."""
    team = make.team("crew")
    make.member(team, ada, "admin")
    return team


@pytest.fixture
def bea(make: Make, crew: Team) -> Human:
    """A plain member of the crew."""
    human = make.human("Bea")
    make.member(crew, human)
    return human


def refusal(answer: TestResponse) -> tuple[int, str]:
    """The status and the code of a refusal."""
    return answer.status_code, answer.get_json()["code"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_the_rest_of_the_path_whatever_it_holds(
    api: Caller, make: Make, ada: Human, crew: Team, name: str
) -> None:
    lane, path = make.endpoint(ada), quote(name, safe="")
    display = f"team:crew/{name}"

    made = api.post("/teams/crew/queues", json={"name": name})
    again = api.post(f"/teams/{crew.id}/queues", json={"name": name})
    todo = api.post(f"/teams/crew/queues/{path}/todos", json={"title": "t"})
    granted = api.put(f"/endpoints/{lane.slug}/team-queues/crew/{path}")
    listed = api.get("/teams/crew/queues").get_json()["queues"]
    policy = api.put(f"/admission/team:crew/{path}", json={"max_in_flight": 2})
    held = api.delete(f"/teams/crew/queues/{path}")
    make.run("update todos set state = 'done'")
    gone = api.delete(f"/teams/crew/queues/{path}")

    assert (made.status_code, again.status_code, todo.status_code) == (201, 200, 201)
    row = made.get_json()
    assert row == again.get_json() == {"id": row["id"], "name": name, "queue": display,
                                       "has_policy": False, "drained_by": []}
    assert (todo.get_json()["team"], todo.get_json()["queue"]) == ("crew", display)
    assert granted.get_json() == {"endpoint_id": str(lane.id), "queue": display, "granted": True}
    assert listed == [
        row | {"drained_by": [{"endpoint_id": str(lane.id), "slug": lane.slug}]}]
    assert (policy.status_code, policy.get_json()["queue"]) == (200, name)
    assert refusal(held) == (409, "conflict")
    assert gone.get_json() == {"id": row["id"], "deleted": True}
    assert api.get("/teams/crew/queues").get_json() == {"queues": []}


def test_a_name_no_queue_can_bear_makes_none(api: Caller, make: Make, crew: Team) -> None:
    names = ["", " ", "/a", "a//b", "..", "team:x/y", "quarantine", "x" * 256, "a\nb"]

    answers = [api.post("/teams/crew/queues", json={"name": name}) for name in names]

    assert {(*refusal(each), each.get_json()["field"]) for each in answers} == {
        (400, "invalid_argument", "name")}
    assert make.rows("select id from queues where team_id is not null") == []
    assert make.rows("select id from operator_audit") == []


def test_a_member_works_the_queues_and_does_not_set_them_up(
    operator: Operator, make: Make, crew: Team, bea: Human
) -> None:
    make.team_queue(crew, "builds")
    own, of_the_team = make.endpoint(bea), make.endpoint(team=crew)
    api = operator(bea)

    assert [each["name"] for each in api.get("/teams/crew/queues").get_json()["queues"]] == [
        "builds"]
    assert api.post("/teams/crew/queues/builds/todos", json={"title": "t"}).status_code == 201
    assert api.put(f"/endpoints/{own.slug}/team-queues/crew/builds").status_code == 200
    for answer in (api.post("/teams/crew/queues", json={"name": "more"}),
                   api.delete("/teams/crew/queues/builds"),
                   api.delete("/teams/crew/queues/unknown")):
        assert refusal(answer) == (403, "role_required")
    for method in ("PUT", "DELETE"):
        answer = api.open(method, f"/endpoints/{of_the_team.slug}/team-queues/crew/builds")
        assert (answer.status_code, answer.data) == (404, NOT_FOUND)
    for method in ("GET", "PUT", "DELETE"):
        body = {"max_in_flight": 0} if method == "PUT" else None
        answer = api.open(method, "/admission/team:crew/builds", json=body)
        assert (answer.status_code, answer.data) == (404, NOT_FOUND)


def test_a_grant_reaches_no_further_than_the_endpoints_owner(
    api: Caller, make: Make, ada: Human, crew: Team
) -> None:
    other = make.team("other")
    make.member(other, ada, "owner")
    for team in (crew, other):
        make.team_queue(team, "builds")
    own, crews = make.endpoint(ada), make.endpoint(ada, crew)

    granted = [api.put(f"/endpoints/{each.slug}/team-queues/{team}/builds").status_code
               for each, team in ((own, "crew"), (own, "other"), (crews, "crew"))]
    refused = api.put(f"/endpoints/{crews.slug}/team-queues/other/builds")

    assert granted == [200, 200, 200]
    assert refusal(refused) == (403, "grant_out_of_scope")
    assert make.value("select count(*) from endpoint_team_grants where endpoint_id = %s",
                      crews.id) == 1


def test_granting_and_taking_away_twice_is_doing_it_once(
    api: Caller, make: Make, lane: Endpoint, crew: Team
) -> None:
    queue = make.team_queue(crew, "builds")
    path = f"/endpoints/{lane.id}/team-queues/{crew.id}/builds"

    granted = [api.put(path).get_json() for _ in range(2)]
    listed = api.get(f"/endpoints/{lane.slug}/team-queues").get_json()
    taken = [api.delete(path).get_json() for _ in range(2)]

    said = {"endpoint_id": str(lane.id), "queue": "team:crew/builds"}
    assert granted == [said | {"granted": True}] * 2
    assert listed == {"team_queues": [{"id": int(queue), "queue": "team:crew/builds"}]}
    assert taken == [said | {"granted": False}] * 2
    assert api.get(f"/endpoints/{lane.slug}/team-queues").get_json() == {"team_queues": []}
    assert make.rows("select action, detail from operator_audit order by id") == [
        (action, {"queue": "builds", "endpoint": lane.slug})
        for action in ("queue_granted", "queue_ungranted")]


def test_a_revoked_endpoint_is_granted_nothing_and_read_still(
    api: Caller, make: Make, ada: Human, crew: Team, revoked: Endpoint
) -> None:
    make.grant(revoked, make.team_queue(crew, "builds"))
    path = f"/endpoints/{revoked.slug}/team-queues"

    for method in ("PUT", "DELETE"):
        answer = api.open(method, f"{path}/crew/builds")
        assert (*refusal(answer), answer.get_json()["state"]) == (409, "conflict", "revoked")
    assert [each["queue"] for each in api.get(path).get_json()["team_queues"]] == [
        "team:crew/builds"]
    assert api.get("/teams/crew/queues").get_json()["queues"][0]["drained_by"] == []


@pytest.mark.rule("R47")
def test_what_the_endpoint_held_of_the_queue_goes_back_with_the_grant(
    api: Caller, make: Make, ada: Human, crew: Team, agent: Callable[[Endpoint], Caller]
) -> None:
    queue, kept_queue = make.team_queue(crew, "builds"), make.team_queue(crew, "kept")
    lane, other = make.endpoint(ada), make.endpoint(ada)
    for each in (lane, other):
        make.grant(each, queue)
    make.grant(lane, kept_queue)
    held = make.todo(queue=queue, state="claimed", attempt=2, holder=lane)
    kept = [make.todo(queue=kept_queue, state="claimed", holder=lane),
            make.todo(queue=queue, state="claimed", holder=other),
            make.todo(queue=queue, state="claimed", holder=ada), make.todo(lane, state="claimed")]

    answer = api.delete(f"/endpoints/{lane.slug}/team-queues/crew/builds")

    assert answer.status_code == 200
    row = make.row(held)
    assert (row["state"], row["owner"], row["attempt"]) == ("pending", None, 2)
    last = make.attempts(held)[-1]
    assert (last["outcome"], last["disposition"]) == ("released", "requeued")
    assert {make.row(todo)["state"] for todo in kept} == {"claimed"}
    for verb in ("heartbeat", "complete", "fail", "release"):
        refused = agent(lane).call(verb, id=str(held))
        assert (refused.status_code, refused.data) == (404, NOT_FOUND)
    assert refusal(agent(lane).call("claim_next", queue=queue.name)) == (404, "not_found")
    again = agent(other).call("claim_next", queue=queue.name).get_json()["todo"]
    assert (again["id"], again["team"], again["queue"]) == (held, "crew", "team:crew/builds")


@pytest.mark.parametrize("state", ["pending", "claimed", "parked", "done", "dead"])
def test_a_queue_is_deleted_once_nothing_in_it_lives(
    api: Caller, make: Make, ada: Human, crew: Team, state: str
) -> None:
    queue, lane = make.team_queue(crew, "builds"), make.endpoint(ada)
    make.grant(lane, queue)
    hook = make.webhook(lane, "generic", secret=None, trust_mode="token", team_queue=queue)
    make.policy(queue, max_in_flight=1)
    if state in ("parked", "dead"):
        retry = make.now() if state == "parked" else None
        make.todo(queue=queue, state="failed", next_retry_at=retry, holder=lane)
    else:
        make.todo(queue=queue, state=state, holder=lane)

    answer = api.delete("/teams/crew/queues/builds")

    lives = state in ("pending", "claimed", "parked")
    assert answer.status_code == (409 if lives else 200)
    counts = [make.value(f"select count(*) from {table}")
              for table in ("todos", "admission_policies", "endpoint_team_grants",
                            "operator_audit")]
    assert counts == ([1, 1, 1, 0] if lives else [0, 0, 0, 1])
    delivered = api._client.post(hook.path, json={"n": 1})
    assert delivered.status_code == (202 if lives else 503)


def test_a_todo_written_while_its_queue_goes_is_refused(
    api: Caller, make: Make, db_url: str, crew: Team
) -> None:
    queue = make.team_queue(crew, "builds")
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from queues where id = %s for update", (int(queue),))

        def act(number: int) -> TestResponse:
            if number == 0:
                return api.post("/teams/crew/queues/builds/todos", json={"title": "t"})
            make.wait_until_blocked()
            holder.execute("delete from queues where id = %s", (int(queue),))
            holder.commit()
            return api.get("/teams/crew/queues")

        made, _ = all_returned(together(2, act))

    assert (made.status_code, made.data) == (404, NOT_FOUND)
    assert make.rows("select id from events") == []


def test_a_deletion_sees_the_todo_it_waited_for(
    api: Caller, make: Make, db_url: str, crew: Team
) -> None:
    queue = make.team_queue(crew, "builds")
    with psycopg.connect(db_url) as writer:
        writer.execute("insert into todos (id, queue_id, team_id, title)"
                       " values (%s, %s, %s, 't')",
                       (f"td_{'1' * 32}", int(queue), crew.id))

        def end(number: int) -> TestResponse | None:
            if number == 0:
                return api.delete("/teams/crew/queues/builds")
            make.wait_until_blocked()
            writer.commit()
            return None

        deleted, _ = all_returned(together(2, end))

    assert deleted is not None
    assert refusal(deleted) == (409, "conflict")


def test_a_deletion_waits_for_a_retry_and_sees_its_todo(
    api: Caller, make: Make, db: Database, db_url: str, ada: Human, crew: Team
) -> None:
    queue, other = make.team_queue(crew, "builds"), make.team_queue(crew, "other")
    todo = make.todo(queue=queue, state="failed", holder=ada, key="k")
    with psycopg.connect(db_url) as holder:
        holder.execute("insert into todos (id, queue_id, team_id, title, idempotency_key)"
                       " values (%s, %s, %s, 't', 'k')", (f"td_{'1' * 32}", int(other), crew.id))

        def act(number: int) -> TestResponse | None:
            if number == 0:
                settling.retry_now(db, ada, todo)  # the key's other bearer makes it wait
                return None
            make.wait_until_blocked(1)
            if number == 1:
                return api.delete("/teams/crew/queues/builds")
            make.wait_until_blocked(2)
            holder.rollback()
            return None

        _, deleted, _ = all_returned(together(3, act))

    assert deleted is not None
    assert refusal(deleted) == (409, "conflict")
    assert make.row(todo)["state"] == "pending"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/teams/{team}/queues", None),
        ("POST", "/teams/{team}/queues", {"name": "builds"}),
        ("DELETE", "/teams/{team}/queues/builds", None),
        ("POST", "/teams/{team}/queues/builds/todos", {"title": "t"}),
        ("GET", "/endpoints/{endpoint}/team-queues", None),
        ("PUT", "/endpoints/{endpoint}/team-queues/{team}/builds", None),
        ("DELETE", "/endpoints/{endpoint}/team-queues/{team}/builds", None),
        ("PUT", "/endpoints/{own}/team-queues/{team}/builds", None),
        ("DELETE", "/endpoints/{own}/team-queues/{team}/builds", None),
        ("GET", "/admission/team:{team}/builds", None),
    ],
)
def test_another_teams_queue_is_an_unknown_one_in_bytes_and_in_statements(
    api: Caller, make: Make, lane: Endpoint, foreign: Endpoint, monkeypatch: pytest.MonkeyPatch,
    method: str, path: str, body: dict[str, object] | None,
) -> None:
    theirs = make.team("theirs")
    make.team_queue(theirs, "builds")
    make.policy(make.team_queue(theirs, "more"), max_in_flight=1)
    api.get("/me")  # the token's stamp, due once a minute, is out of the way

    runs = []
    for team, endpoint in (("theirs", foreign.slug), (str(theirs.id), str(foreign.id)),
                           ("nobody", "nobody-abcd"), ("no%00thing", "no%00thing")):
        with recorded(monkeypatch) as said:
            named = path.format(team=team, endpoint=endpoint, own=lane.slug)
            answer = api.open(method, named, json=body)
        assert (answer.status_code, answer.data) == (404, NOT_FOUND)
        runs.append(said)

    assert runs[0]
    assert runs.count(runs[0]) == 4


def test_a_repeated_key_is_the_todo_there_is(api: Caller, make: Make, crew: Team) -> None:
    make.team_queue(crew, "builds")
    make.team_queue(crew, "other")
    work = {"title": "t", "kind": "chore", "payload": {"n": 1}, "key": "k"}

    first = api.post("/teams/crew/queues/builds/todos", json=work)
    again = api.post("/teams/crew/queues/other/todos", json=work)

    body = first.get_json()
    assert (first.status_code, again.status_code) == (201, 200)
    assert body == {"id": body["id"], "team": "crew", "queue": "team:crew/builds",
                    "state": "pending", "created": True, "event_id": body["event_id"]}
    assert again.get_json() == body | {"created": False}
    assert make.rows("select id, team_id, endpoint_id from events") == [
        (body["event_id"], crew.id, None)]
    assert [each["id"] for each in api.get("/todos?team=crew").get_json()["todos"]] == [body["id"]]
    for wrong, field in (({"title": " "}, "title"), ({"title": "t", "queue": "builds"}, "queue")):
        answer = api.post("/teams/crew/queues/builds/todos", json=wrong)
        assert (*refusal(answer), answer.get_json()["field"]) == (400, "invalid_argument", field)


def test_members_read_and_work_team_todos_and_admins_discard(
    api: Caller, operator: Operator, make: Make, crew: Team, bea: Human
) -> None:
    queue = make.team_queue(crew, "builds")
    todo, dead = make.todo(queue=queue), make.todo(queue=queue, state="failed")
    member = operator(bea)

    read = member.get(f"/todos/{todo}").get_json()
    retried = member.post(f"/todos/{dead}/retry")
    refused = member.post(f"/todos/{todo}/discard")
    discarded = api.post(f"/todos/{todo}/discard")

    assert (read["team"], read["queue"]) == ("crew", "team:crew/builds")
    assert "endpoint_id" not in read
    assert (retried.status_code, retried.get_json()["state"]) == (200, "pending")
    assert refusal(refused) == (403, "role_required")
    assert (discarded.status_code, discarded.get_json()["dead_letter"]) == (200, True)


def test_a_rotated_webhook_names_the_team_by_its_slug_of_today(
    api: Caller, make: Make, ada: Human, crew: Team
) -> None:
    queue = make.team_queue(crew, "builds")
    hook = make.webhook(make.endpoint(ada), "generic", secret=None, trust_mode="token",
                        team_queue=queue)
    make.run("update teams set slug = 'band' where id = %s", crew.id)

    rotated = api.post(f"/webhooks/{hook.id}/rotate").get_json()
    listed = api.get("/webhooks").get_json()["webhooks"]

    assert rotated["target_queue"] == listed[0]["target_queue"] == "team:band/builds"
