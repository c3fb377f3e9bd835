"""By default an agent cannot raise its own ceiling, whatever it sends, wherever, as whomever."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.api import registry
from app.domain.callers import Endpoint
from app.domain.verbs import ADMISSION, GRANTABLE
from tests.audit import attacks, rows_api, stage
from tests.audit.conftest import Theatre
from tests.audit.rows import filled
from tests.audit.rows_verbs import ROWS
from tests.support.client import COOKIE
from tests.web.scene import TABLE

pytestmark = pytest.mark.req("REQ-10", "By default an agent cannot raise its own ceiling")

EVERYTHING_ELSE = tuple(verb for verb in GRANTABLE if verb not in ADMISSION)
# All that says what an agent may do and how much of it.
CEILING = """
select 'policies', jsonb_agg(to_jsonb(p) order by id)::text from admission_policies p
union all select 'audit', jsonb_agg(to_jsonb(a) order by id)::text from admission_policy_audit a
union all select 'scopes', jsonb_agg(jsonb_build_array(id, scope_verbs, scope_queues, agent_id,
  expires_at, vended_by_human_id) order by id)::text from endpoints
union all select 'grants', jsonb_agg(jsonb_build_array(grant_id, scope_verbs, human_id, endpoint_id)
  order by grant_id)::text from oauth_tokens where endpoint_id is not null
union all select 'humans'' tokens', count(*)::text from oauth_tokens where human_id is not null
union all select 'sessions', count(*)::text from sessions
union all select 'members', jsonb_agg(to_jsonb(m) order by team_id, human_id)::text
  from team_members m
union all select 'drains', jsonb_agg(to_jsonb(g) order by endpoint_id, queue_id)::text
  from endpoint_team_grants g
union all select 'queues', jsonb_agg(jsonb_build_array(id, name, has_policy) order by id)::text
  from queues
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """An agent under a ceiling of one todo at a time, which it has reached; and a second one."""

    theatre: Theatre
    lane: Endpoint
    names: Mapping[str, str]
    token: str

    @property
    def client(self) -> FlaskClient:
        """A client that holds nothing."""
        return self.theatre.app.test_client()

    def ceiling(self) -> list[tuple[object, ...]]:
        """All that says what agents may do."""
        return self.theatre.make.rows(CEILING)

    def post(self, verb: str, body: object) -> TestResponse:
        """A call with the agent's own credential."""
        return self.client.post(f"/agent/v1/{verb}", json=body,
                                headers={"Authorization": f"Bearer {self.token}"})  # fmt: skip


@pytest.fixture
def ground(theatre: Theatre) -> Iterator[Ground]:
    """Ann's agent with every verb but the two, its ceiling as it was at the end of each test."""
    make, ann = theatre.make, theatre.stage.humans["ann"]
    lane = make.endpoint(ann, queues=("inbox", "rest"), verbs=EVERYTHING_ELSE)
    inbox = make.queue_id(lane)
    make.policy(inbox, max_in_flight=1, human=ann)
    names = {
        "queue": "inbox", "team_queue": f"team:blue/{theatre.stage.team.names['team_queue']}",
        "held": str(make.todo(lane, state="claimed")), "todo": str(make.todo(lane)),
        "webhook": str(make.webhook(lane).id), "hook": str(make.notify_hook(lane)),
        "endpoint": str(lane.id), "human": str(ann.id), "queue_id": str(int(inbox)),
        "scope": f"endpoint:{lane.slug}", "queue_name": "inbox",
    }  # fmt: skip
    made = Ground(theatre=theatre, lane=lane, names=names, token=make.credential(lane))
    before = made.ceiling()
    yield made
    assert made.ceiling() == before
    theatre.keeper.put_back()


def is_still_bound(ground: Ground) -> bool:
    """Whether the next claim is refused for the ceiling, with one todo in flight."""
    answer = ground.post("claim_next", {"queue": "inbox"}).get_json()
    return answer == {"empty": True, "deferred": answer["deferred"]} and [
        (each["queue"], each["reason"]) for each in answer["deferred"]
    ] == [("inbox", "in_flight_full")]


def test_the_two_verbs_are_refused_however_they_are_spelled_and_asked(ground: Ground) -> None:
    body = {"queue": "inbox", "policy": {"max_in_flight": 1000}}
    passed = []

    for spelled in attacks.SPELLINGS:
        for method in attacks.METHODS:
            answer = ground.client.open(
                f"/agent/v1/{spelled}", method=method, json=body,
                headers={"Authorization": f"Bearer {ground.token}"})  # fmt: skip
            is_whoami = spelled.startswith("whoami?") and answer.status_code == 200
            is_status = spelled.startswith("admission_status?") and answer.status_code == 200
            if answer.status_code < 400 and not (is_whoami or is_status):
                passed.append((method, spelled, answer.status_code))

    assert passed == []
    offered = {verb["name"] for verb in ground.client.get(
        "/agent/v1/verbs", headers={"Authorization": f"Bearer {ground.token}"}).get_json()["verbs"]}
    assert offered == {verb for verb in registry.VERBS if verb not in ADMISSION}
    assert is_still_bound(ground)


def test_no_other_verb_takes_a_field_of_a_policy(ground: Ground) -> None:
    """What has no such argument refuses it and does nothing; `endpoint` and the like are no way."""
    fields = filled(attacks.ADMISSION_FIELDS, ground.names)
    taken = []

    for row in ROWS:
        own = filled(row.arguments, ground.names)
        for name, item in fields.items():
            if row.verb in ADMISSION or name in own:
                continue
            answer = ground.post(row.verb, {**own, name: item})
            if answer.status_code < 400:
                taken.append((row.verb, name))
        ground.post(row.verb, {**own, **fields})
        ground.post(f"{row.verb}?policy=1&max_in_flight=9&scope_verbs=set_admission_policy", own)
        ground.theatre.make.run("update todos set lease_expires_at = clock() + interval '1 hour'"
                                " where state = 'claimed'")  # fmt: skip

    assert taken == []


def test_a_hostile_body_is_never_a_policy(ground: Ground) -> None:
    policy = {"queue": "inbox", "policy": {"max_in_flight": 1000}}
    text = json.dumps(policy)
    headers = {"Authorization": f"Bearer {ground.token}"}
    bodies = (f"[{text}]", f'{{"jsonrpc":"2.0","method":"set_admission_policy","params":{text}}}',
              f'{{"verb":"set_admission_policy","arguments":{text}}}', f"{text}{text}",
              f'{{"batch":[{text}]}}')  # fmt: skip

    for verb in registry.VERBS:
        for body in bodies:
            for kind in ("application/json", "application/json-patch+json", "text/plain",
                         "application/x-www-form-urlencoded"):  # fmt: skip
                answer = ground.client.post(f"/agent/v1/{verb}", data=body, content_type=kind,
                                            headers=headers)  # fmt: skip
                assert answer.status_code >= 400, (verb, body, kind)


def admission_writes(ground: Ground) -> list[tuple[str, str, Mapping[str, object]]]:
    """Every request of a human's that would raise the agent's ceiling, or make one who may."""
    names, found = ground.names, []
    for row in rows_api.ROWS:
        if row.method != "GET" and ("{scope}" in row.path or row.path == "/api/v1/endpoints"):
            path, body = row.fill(names)
            found.append((row.method, path, body or {}))
    pages = ("queues.save_budget", "queues.clear_budget", "queues.resume_queue",
             "queues.pause_queue", "settings.mint_token", "settings.link_device", "vend.confirm",
             "consent.decide")  # fmt: skip
    own = {**ground.theatre.stage.own.names, "queue": names["queue_id"],
           "paused": names["queue_id"], "endpoint": names["endpoint"]}  # fmt: skip
    for page in pages:
        row = TABLE[f"POST {page}"]
        found.append(("POST", row.path.format(**own), dict(row.data or {})))
    return found


def test_its_credential_opens_nothing_of_a_humans_in_any_header(ground: Ground) -> None:
    opened = []
    for method, path, body in admission_writes(ground):
        for headers in attacks.credentials(ground.token):
            for more in ({"json": body}, {"data": {**body, "csrf_token": stage.csrf(ground.token),
                                                   "access_token": ground.token}}):
                answer = ground.client.open(path, method=method, headers=headers, **more)
                if answer.status_code not in (401, 403):
                    opened.append((method, path, headers, answer.status_code))
        asked = f"{path}?access_token={ground.token}&token={ground.token}&_method={method}"
        answer = ground.client.open(asked, method=method, json=body)
        if answer.status_code not in (401, 403):
            opened.append((method, asked, {}, answer.status_code))

    assert opened == []
    assert is_still_bound(ground)


def test_no_header_makes_one_request_another(ground: Ground) -> None:
    """Overridden methods, rewritten addresses, trusted proxies' words, somebody else's name."""
    target = f"/api/v1/admission/{ground.names['scope']}/inbox"
    own = {"Authorization": f"Bearer {ground.token}"}
    before = {path: ground.client.open(path, method=method, json={}, headers=own).status_code
              for method, path in _doors(target)}  # fmt: skip

    for headers in attacks.disguises(ground.names["human"], target):
        for method, path in _doors(target):
            answer = ground.client.open(
                path, method=method, json={"max_in_flight": 1000}, headers={**own, **headers})
            assert answer.status_code in (before[path], 400, 401, 403), (headers, method, path)
    assert is_still_bound(ground)


def test_what_it_knows_besides_its_credential_opens_nothing(ground: Ground) -> None:
    """Its webhook's address and secret, a hook's secret, a lease, ids, hashes: no credentials."""
    make = ground.theatre.make
    hook = make.webhook(ground.lane, "generic")
    known = [
        hook.token, str(hook.secret), "whsec_" + "A" * 43 + "=", ground.names["human"],
        ground.names["endpoint"], ground.names["held"], ground.lane.slug, f"op:{hook.id}",
        str(make.value("select credential_hash from endpoints where id = %s", ground.lane.id)),
        *(str(hash_) for (hash_,) in make.rows("select token_hash from oauth_tokens")),
        *(str(hash_) for (hash_,) in make.rows("select token_hash from sessions")),
    ]  # fmt: skip

    for word in known:
        for prefix in ("", "sbo_", "sbk_"):
            client = ground.client
            client.set_cookie(COOKIE, f"{prefix}{word}", domain="localhost")
            for method, path, body in admission_writes(ground)[:4]:
                answer = client.open(path, method=method, json=body,
                                     headers={"Authorization": f"Bearer {prefix}{word}"})
                assert answer.status_code in (401, 403), (word, method, path)
            answer = client.post("/agent/v1/set_admission_policy",
                                 json={"queue": "inbox", "policy": {"max_in_flight": 1000}},
                                 headers={"Authorization": f"Bearer {prefix}{word}"})
            assert answer.status_code in (401, 429), word


def test_a_delivery_to_its_own_webhook_is_work_and_never_an_order(ground: Ground) -> None:
    """It has the address and the secret, and so may send what it likes, well signed."""
    made = ground.post("create_webhook", {"source_type": "generic", "target_queue": "inbox"})
    address = made.get_json()["ingest_url"].removeprefix("http://localhost")
    fields = filled(attacks.ADMISSION_FIELDS, ground.names)
    todos = "select count(*) from todos where endpoint_id = %s"
    before = ground.theatre.make.value(todos, ground.lane.id)

    for number, payload in enumerate((
        fields, {**fields, "queue": "rest", "target_queue": "team:blue/busy"},
        {"set_admission_policy": fields}, {"action": "set_admission_policy", "arguments": fields},
        {"todo": {"state": "done", "admission": None, "attempt": -1, "max_attempts": 9999}},
        {"queues": [{"name": "inbox", "has_policy": False}], "verbs": list(ADMISSION)},
    )):  # fmt: skip
        answer = ground.client.post(
            address, json={**payload, "id": number}, headers={"X-Queue": "rest", "X-Policy": "9"})
        assert answer.status_code in (200, 201, 202), answer.text

    made_todos = ground.theatre.make.value(todos, ground.lane.id)
    assert isinstance(before, int)
    assert made_todos == before + 6
    assert ground.theatre.make.value(
        "select count(*) from todos t join queues q on q.id = t.queue_id"
        " where t.endpoint_id = %s"
        "   and (q.name <> 'inbox' or t.state not in ('pending', 'claimed'))",
        ground.lane.id) == 0  # fmt: skip
    assert is_still_bound(ground)


def test_its_hooks_call_no_door_of_this_server(ground: Ground) -> None:
    """A hook is a POST that we make: not to ourselves, in whatever way the address is written."""
    target = f"/api/v1/admission/{ground.names['scope']}/inbox"
    for host in ("localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::1]", "0.0.0.0",
                 "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1", "localhost.",
                 "user@localhost", "1.1.1.1@127.0.0.1"):  # fmt: skip
        for scheme in ("https", "http"):
            answer = ground.post("create_notify_hook", {"url": f"{scheme}://{host}:8080{target}"})
            assert answer.status_code == 400, (scheme, host)


def _doors(target: str) -> list[tuple[str, str]]:
    return [("GET", "/agent/v1/whoami"), ("POST", "/agent/v1/whoami"), ("GET", target),
            ("POST", "/agent/v1/admission_status"), ("GET", "/healthz"),
            ("POST", "/oauth/token"), ("GET", "/agent/v1/admission_status")]  # fmt: skip
