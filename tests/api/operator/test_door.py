"""What opens /api/v1, and what every route refuses the same way."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.domain.callers import Endpoint, Human
from tests.support.client import BASE_URL, Caller
from tests.support.make import Make

SOME_ID = str(uuid.UUID(int=7))
SOME_TODO = "td_" + "0" * 32

READS = [
    "/me",
    "/endpoints",
    "/agents",
    "/webhooks",
    f"/endpoints/{SOME_ID}/webhooks",
    f"/endpoints/{SOME_ID}/presence",
    f"/endpoints/{SOME_ID}/team-queues",
    "/teams",
    f"/teams/{SOME_ID}",
    f"/teams/{SOME_ID}/members",
    f"/teams/{SOME_ID}/invites",
    f"/teams/{SOME_ID}/group-links",
    f"/teams/{SOME_ID}/queues",
    f"/webhooks/{SOME_ID}/routes",
    "/events",
    "/events/1",
    "/todos",
    f"/todos/{SOME_TODO}",
    "/admission",
    f"/admission/endpoint:{SOME_ID}/inbox",
]
WRITES = [
    ("POST", "/endpoints", {"name": "m"}),
    ("POST", "/teams", {"slug": "blue"}),
    ("PATCH", f"/endpoints/{SOME_ID}", {"default_lease_ttl_seconds": 60}),
    ("POST", f"/endpoints/{SOME_ID}/revoke", {}),
    ("DELETE", f"/endpoints/{SOME_ID}", {}),
    ("POST", f"/endpoints/{SOME_ID}/todos", {"title": "t"}),
    (
        "POST",
        f"/endpoints/{SOME_ID}/webhooks",
        {"source_type": "github", "target_queue": "inbox"},
    ),
    ("PUT", f"/endpoints/{SOME_ID}/presence", {"presence": "out"}),
    ("DELETE", f"/endpoints/{SOME_ID}/presence", {}),
    ("PUT", f"/endpoints/{SOME_ID}/shift", {"shift": None}),
    ("POST", f"/webhooks/{SOME_ID}/rotate", {}),
    ("DELETE", f"/webhooks/{SOME_ID}", {}),
    ("POST", f"/webhooks/{SOME_ID}/routes", {"endpoint": SOME_ID}),
    ("DELETE", f"/webhooks/{SOME_ID}/routes/{SOME_ID}", {}),
    ("PATCH", f"/teams/{SOME_ID}", {"display_name": "Blue"}),
    ("DELETE", f"/teams/{SOME_ID}", {}),
    ("POST", f"/teams/{SOME_ID}/leave", {}),
    ("POST", f"/teams/{SOME_ID}/transfer", {"human_id": SOME_ID}),
    ("PATCH", f"/teams/{SOME_ID}/members/{SOME_ID}", {"role": "admin"}),
    ("DELETE", f"/teams/{SOME_ID}/members/{SOME_ID}", {}),
    ("POST", f"/teams/{SOME_ID}/invites", {"email": "bob@example.org"}),
    ("DELETE", f"/teams/{SOME_ID}/invites/{SOME_ID}", {}),
    ("POST", "/invites/accept", {"token": "nonsense"}),
    ("POST", f"/teams/{SOME_ID}/group-links", {"group": "blue", "role": "member"}),
    ("DELETE", f"/teams/{SOME_ID}/group-links/{SOME_ID}", {}),
    ("POST", f"/teams/{SOME_ID}/queues", {"name": "q"}),
    ("DELETE", f"/teams/{SOME_ID}/queues/a/b", {}),
    ("POST", f"/teams/{SOME_ID}/queues/a/b/todos", {"title": "t"}),
    ("PUT", f"/endpoints/{SOME_ID}/team-queues/{SOME_ID}/a/b", {}),
    ("DELETE", f"/endpoints/{SOME_ID}/team-queues/{SOME_ID}/a/b", {}),
    *(
        ("POST", f"/todos/{SOME_TODO}/{act}", {})
        for act in ("retry", "discard", "release", "complete", "fail")
    ),
]
CREATING = 2  # the first so many name nothing that could be unknown
# These ask who may manage the queue before they judge the body (R57).
ADMISSION_WRITES = [
    ("PUT", f"/admission/endpoint:{SOME_ID}/inbox", {"max_in_flight": 1}),
    ("DELETE", f"/admission/endpoint:{SOME_ID}/inbox", {}),
]
# Revoking one's own token comes last in a caller's life, so it has tests of its own.
ALL_WRITES = [*WRITES, *ADMISSION_WRITES, ("DELETE", "/token", {})]
NOT_FOUND = b'{"error":"Not found.","code":"not_found"}'


def test_every_route_stands_in_these_lists(app: Flask) -> None:
    ours = [rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith("operator.")]
    methods = [
        (method, rule.rule)
        for rule in ours
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    ]

    assert len(methods) == len(READS) + len(ALL_WRITES)


@pytest.mark.parametrize("token", [None, "", "nonsense", "sbo_unknown", "revoked", "agent"])
def test_a_wrong_token_opens_no_route(
    client: FlaskClient, make: Make, ada: Human, lane: Endpoint, token: str | None
) -> None:
    if token == "revoked":
        token = make.operator_token(ada)
        make.run("update oauth_tokens set revoked_at = clock()")
    elif token == "agent":
        token = make.credential(lane)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    answers = [client.get(f"/api/v1{path}", headers=headers) for path in READS]
    answers += [
        client.open(f"/api/v1{path}", method=method, json=body, headers=headers)
        for method, path, body in ALL_WRITES
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.data for answer in answers}) == 1
    realms = {answer.headers["WWW-Authenticate"] for answer in answers}
    metadata = f"{BASE_URL}/.well-known/oauth-protected-resource/api"
    assert realms == {f'Bearer realm="switchboard-api", resource_metadata="{metadata}"'}


def test_a_session_cookie_opens_nothing(client: FlaskClient, make: Make, ada: Human) -> None:
    client.set_cookie("sb_session", make.session(ada), domain="localhost")

    assert client.get("/api/v1/me").status_code == 401


def test_an_operator_token_opens_no_agent_verb(
    client: FlaskClient, make: Make, ada: Human
) -> None:
    headers = {"Authorization": f"Bearer {make.operator_token(ada)}"}

    assert client.post("/agent/v1/whoami", json={}, headers=headers).status_code == 401


@pytest.mark.parametrize("path", ["/nothing", "/todos/", "//todos", "/endpoints/a/b/c", ""])
def test_an_unknown_route_is_json_not_found(api: Caller, path: str) -> None:
    answer = api.get(path)

    assert (answer.status_code, answer.data) == (404, NOT_FOUND)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/me", {"GET", "HEAD"}), ("/token", {"DELETE"}), ("/endpoints", {"GET", "HEAD", "POST"})],
)
@pytest.mark.parametrize("method", ["PUT", "OPTIONS"])
def test_a_wrong_method_says_which_are_right(
    api: Caller, method: str, path: str, allowed: set[str]
) -> None:
    answer = api.open(method, path)

    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == allowed
    assert answer.get_json()["code"] == "invalid_argument"


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_every_write_bounds_types_and_judges_its_body(
    api: Caller, method: str, path: str, body: dict[str, object]
) -> None:
    json_type = {"Content-Type": "application/json"}

    large = api.open(method, path, data=b" " * (64 * 1024 + 1), headers=json_type)
    typed = api.open(method, path, data=b"{}", headers={"Content-Type": "text/plain"})
    broken = api.open(method, path, data=b"{", headers=json_type)
    listed = api.open(method, path, json=[])
    unknown = api.open(method, path, json={**body, "surprise": 1})

    found = [
        (answer.status_code, answer.get_json()["code"])
        for answer in (large, typed, broken, listed, unknown)
    ]
    assert found == [(status, "invalid_argument") for status in (413, 415, 400, 400, 400)]
    assert unknown.get_json()["field"] == "surprise"


@pytest.mark.parametrize(("method", "path", "body"), [*WRITES[CREATING:], *ADMISSION_WRITES])
@pytest.mark.parametrize("malformed", [False, True])
def test_every_write_to_something_unknown_is_the_same_not_found(
    api: Caller, method: str, path: str, body: dict[str, object], *, malformed: bool
) -> None:
    if malformed:
        path = path.replace(SOME_ID, "no%00thing%ff").replace(SOME_TODO, "no%00thing%ff")

    answer = api.open(method, path, json=body)

    assert (answer.status_code, answer.data) == (404, NOT_FOUND)


def test_answers_carry_the_headers(api: Caller) -> None:
    headers = api.get("/me").headers

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("method", "path", "other"), [("GET", "/me", "/todos/x/retry"), ("POST", "/todos/x/retry", "")]
)
def test_reads_and_writes_have_a_bucket_each_per_human(
    app: Flask, api: Caller, ada: Human, method: str, path: str, other: str
) -> None:
    limits = app.extensions["switchboard"].limits
    bucket = limits.operator_reads if method == "GET" else limits.operator_writes

    def ask_with_an_empty_bucket() -> TestResponse:
        while bucket.take(str(ada.id)):
            pass
        return api.open(method, path)

    # A slow machine may refill a token between the two; it cannot every time.
    answers = [ask_with_an_empty_bucket() for _ in range(20)]
    limited = [answer for answer in answers if answer.status_code == 429]

    assert limited
    assert limited[0].headers["Retry-After"] == "1"
    assert limited[0].get_json()["code"] == "rate_limited"
    assert (api.post(other) if other else api.get("/me")).status_code in (200, 404)


def test_one_humans_bucket_is_not_anothers(
    app: Flask, ada: Human, operator: Callable[[Human], Caller], make: Make
) -> None:
    bucket = app.extensions["switchboard"].limits.operator_writes
    taken = [bucket.take(str(ada.id)) for _ in range(100)]

    assert all(taken)
    assert operator(make.human()).post("/todos/x/retry").status_code == 404


def test_me_names_the_human_and_the_token(api: Caller, ada: Human) -> None:
    me = api.get("/me").get_json()

    assert me["human_id"] == str(ada.id)
    assert (me["display_name"], me["email"]) == ("Ada", "ada@example.org")
    assert (me["token"]["name"], me["token"]["kind"]) == ("tests", "operator")
    assert me["token"]["created_at"].endswith("Z")
    assert set(me["token"]) == {"name", "kind", "created_at", "last_used_at"}


def test_a_token_ends_itself_and_no_other(
    api: Caller, operator: Callable[[Human], Caller], ada: Human
) -> None:
    other = operator(ada)

    answer = api.delete("/token")

    assert (answer.status_code, answer.get_json()) == (200, {"revoked": True})
    assert api.get("/me").status_code == 401
    assert other.get("/me").status_code == 200
