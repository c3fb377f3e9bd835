"""Who a request is from is settled before any view runs, and every wrong secret looks alike."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flask import Blueprint, Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.db.database import Database
from app.domain.tokens import hash_token
from app.edge import deps
from app.edge.identify import identify_endpoint, identify_operator, identify_session
from app.edge.limits import TokenBuckets
from tests.support.client import BASE_URL
from tests.support.clock import Clock
from tests.support.limits import stop_refill
from tests.support.make import Make


@pytest.fixture
def door(app: Flask) -> FlaskClient:
    """Three doors that only say who came in."""
    agents = Blueprint("agents_probe", __name__, url_prefix="/agent/probe")
    agents.before_request(identify_endpoint)
    agents.add_url_rule("/who", view_func=lambda: {"who": deps.endpoint().slug})
    humans = Blueprint("humans_probe", __name__, url_prefix="/api/probe")
    humans.before_request(identify_operator)
    humans.add_url_rule("/who", methods=["GET", "POST"], view_func=lambda: {
        "who": deps.human().display_name, "token": deps.operator_token().name})
    pages = Blueprint("pages_probe", __name__, url_prefix="/probe")
    pages.before_request(identify_session)
    pages.add_url_rule("/who", view_func=lambda: {"who": deps.human().display_name})
    for blueprint in (agents, humans, pages):
        app.register_blueprint(blueprint)
    return app.test_client()


def bearer(door: FlaskClient, path: str, token: str, method: str = "GET") -> TestResponse:
    return door.open(path, method=method, headers={"Authorization": f"Bearer {token}"})


def test_a_credential_opens_the_agent_surface(door: FlaskClient, make: Make) -> None:
    lane = make.endpoint()

    assert bearer(door, "/agent/probe/who", make.credential(lane)).get_json()["who"] == lane.slug


def test_missing_unknown_revoked_and_expired_are_one_answer(door: FlaskClient, make: Make) -> None:
    revoked = make.endpoint()
    make.run("update endpoints set state = 'revoked' where id = %s", revoked.id)
    expired = make.endpoint(expires_at=make.now() - timedelta(seconds=1))
    tokens = [make.credential(revoked), make.credential(expired), "sbk_unknown", "x", "",
              make.operator_token(make.human())]

    answers = [door.get("/agent/probe/who")]
    answers += [bearer(door, "/agent/probe/who", token) for token in tokens]
    answers.append(door.get("/agent/probe/who", headers={"Authorization": "Basic eDp5"}))

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.data for answer in answers}) == 1
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {
        'Bearer realm="switchboard",'
        f' resource_metadata="{BASE_URL}/.well-known/oauth-protected-resource/agent/v1"'}
    assert answers[0].get_json()["code"] == "unauthenticated"


def test_every_wrong_operator_token_is_one_answer_in_its_own_realm(
    door: FlaskClient, make: Make
) -> None:
    revoked = make.operator_token(make.human())
    make.run("update oauth_tokens set revoked_at = clock()")
    lane = make.endpoint()
    make.run("insert into oauth_tokens (token_hash, endpoint_id, granted_by_human_id)"
             " values (%s, %s, %s)", hash_token("agent-grant"), lane.id, lane.owner_human_id)
    tokens = [revoked, "sbo_unknown", make.credential(lane), "agent-grant"]

    answers = [door.get("/api/probe/who")]
    answers += [bearer(door, "/api/probe/who", token) for token in tokens]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.data for answer in answers}) == 1
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {
        'Bearer realm="switchboard-api",'
        f' resource_metadata="{BASE_URL}/.well-known/oauth-protected-resource/api"'}


def test_a_session_cookie_opens_no_json_surface(door: FlaskClient, make: Make) -> None:
    door.set_cookie("sb_session", make.session(make.human()), domain="localhost")

    assert door.get("/agent/probe/who").status_code == 401
    assert door.get("/api/probe/who").status_code == 401
    assert door.get("/probe/who").status_code == 200


def test_a_bearer_token_opens_no_page(door: FlaskClient, make: Make) -> None:
    answer = bearer(door, "/probe/who", make.operator_token(make.human()))

    assert (answer.status_code, answer.headers["Location"]) == (302, "/login")


def test_an_operator_token_names_the_human_and_the_token(door: FlaskClient, make: Make) -> None:
    answer = bearer(door, "/api/probe/who", make.operator_token(make.human("Ana"), name="laptop"))

    assert answer.get_json() == {"who": "Ana", "token": "laptop"}


def test_the_endpoint_of_a_suspended_human_is_refused_by_name(
    door: FlaskClient, make: Make
) -> None:
    lane = make.endpoint()
    make.run("update humans set suspended_at = clock()")

    answer = bearer(door, "/agent/probe/who", make.credential(lane))

    assert answer.status_code == 403
    assert answer.get_json()["code"] == "endpoint_suspended"


def test_last_seen_is_stamped_at_most_once_a_minute(
    door: FlaskClient, make: Make, clock: Clock
) -> None:
    token = make.credential(make.endpoint())
    stamps: list[object] = []

    for seconds in (0, 59, 2):
        clock.advance(seconds)
        bearer(door, "/agent/probe/who", token)
        stamps.append(make.value("select last_seen_at from endpoints"))

    assert stamps[0] is not None
    assert stamps[1] == stamps[0]
    assert stamps[2] != stamps[0]


def test_a_tokens_last_use_is_stamped_too(door: FlaskClient, make: Make) -> None:
    bearer(door, "/api/probe/who", make.operator_token(make.human()))

    assert make.value("select last_used_at from oauth_tokens") is not None


def test_an_agent_grant_stamps_itself_and_its_endpoint(door: FlaskClient, make: Make) -> None:
    lane = make.endpoint()
    make.run("insert into oauth_tokens (token_hash, endpoint_id, granted_by_human_id)"
             " values (%s, %s, %s)", hash_token("agent-grant"), lane.id, lane.owner_human_id)

    assert bearer(door, "/agent/probe/who", "agent-grant").status_code == 200
    assert make.value("select last_used_at from oauth_tokens") is not None
    assert make.value("select last_seen_at from endpoints") is not None


def test_a_stamp_nobody_could_write_does_not_fail_the_request(
    door: FlaskClient, make: Make, db: Database
) -> None:
    token = make.credential(make.endpoint())
    make.run("create function refuse() returns trigger language plpgsql as "
             "$$ begin raise exception using errcode = '57014'; end $$")
    make.run("create trigger refuse before update on endpoints execute function refuse()")
    try:
        assert bearer(door, "/agent/probe/who", token).status_code == 200
    finally:
        make.run("drop trigger refuse on endpoints")
        make.run("drop function refuse()")


def test_a_session_slides_with_its_requests_but_at_most_once_a_minute(
    door: FlaskClient, make: Make, clock: Clock
) -> None:
    door.set_cookie("sb_session", make.session(make.human()), domain="localhost")
    ends: list[object] = []

    for seconds in (0, 30, 61):
        clock.advance(seconds)
        door.get("/probe/who")
        ends.append(make.value("select expires_at from sessions"))

    assert ends[0] == ends[1]
    assert str(ends[2]) > str(ends[1])


def test_a_session_never_slides_past_thirty_days(
    door: FlaskClient, make: Make, clock: Clock
) -> None:
    door.set_cookie("sb_session", make.session(make.human(), seconds=30 * 86400 - 60),
                    domain="localhost")
    clock.advance(30 * 86400 - 120)

    assert door.get("/probe/who").status_code == 200
    assert make.value("select expires_at <= created_at + interval '30 days' from sessions")


def test_failed_authentications_are_limited_by_address_and_good_ones_are_not(
    app: Flask, door: FlaskClient, make: Make
) -> None:
    stop_refill(app)
    token = make.credential(make.endpoint())

    answers = [bearer(door, "/agent/probe/who", "sbk_wrong") for _ in range(52)]

    assert [answer.status_code for answer in answers] == [401] * 50 + [429] * 2
    limited = answers[-1]
    assert limited.headers["Retry-After"] == "1"
    assert limited.get_json()["code"] == "rate_limited"
    assert bearer(door, "/agent/probe/who", token).status_code == 200


def test_calls_are_limited_by_endpoint(app: Flask, make: Make, door: FlaskClient) -> None:
    busy, other = make.endpoint(), make.endpoint()
    _empty(stop_refill(app).agent, busy.id)

    assert bearer(door, "/agent/probe/who", make.credential(busy)).status_code == 429
    assert bearer(door, "/agent/probe/who", make.credential(other)).status_code == 200


def test_reads_and_writes_of_a_human_are_limited_apart(
    app: Flask, make: Make, door: FlaskClient
) -> None:
    ana = make.human()
    token = make.operator_token(ana)
    _empty(stop_refill(app).operator_writes, ana.id)

    assert bearer(door, "/api/probe/who", token, "POST").status_code == 429
    assert bearer(door, "/api/probe/who", token).status_code == 200


def _empty(bucket: TokenBuckets, owner: object) -> None:
    while bucket.take(str(owner)):
        pass
