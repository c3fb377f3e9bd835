"""What a scrape says, who gets one, and what is left out when something cannot be read."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from flask import Flask
from flask.testing import FlaskClient
from psycopg_pool import ConnectionPool

from app import create_app
from app.db.database import Connection, Database
from app.db.listener import Listener
from app.domain.admission import Reason
from app.domain.callers import Endpoint, Human
from app.edge.deps import EdgeConfig
from app.edge.metric_labels import OTHER
from app.edge.metrics import Metrics
from app.transactions import claiming, settling, sweeps
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from app.transactions.settling import Settlement
from tests.support.client import Browser, Caller
from tests.support.make import Make
from tests.support.pg import Fresh, database_over
from tests.support.scraping import (
    CHARGED,
    CLAIMED,
    METRICS_TOKEN,
    Scrape,
    never_fell,
    parsed,
    promtool_finds,
)
from tests.support.wait import wait_for

ERRORS = "switchboard_metrics_collection_errors_total"
TODOS = "switchboard_queue_todos"
POLICIES = "switchboard_admission_policies"
DEFERRED = "switchboard_admission_deferred_todos"
OLDEST = "switchboard_queue_oldest_pending_seconds"
_WAITING = ("select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
            " and datname = current_database()")
STATUSES = ("admitted", *Reason)


@pytest.fixture
def edge_config() -> EdgeConfig:
    return EdgeConfig(base_url="http://localhost", metrics_token=METRICS_TOKEN)


def counted(config: EdgeConfig, db: Database, listener: Listener) -> Flask:
    """An application that counts what goes through `db`, as a real process does."""
    metrics = Metrics()
    db.counters.attach(metrics)
    return create_app(config, db, listener, metrics)


@pytest.fixture
def app(edge_config: EdgeConfig, db: Database, listener: Listener) -> Flask:
    return counted(edge_config, db, listener)


@pytest.fixture
def scrape(client: FlaskClient) -> Callable[[], Scrape]:
    """Scrapes the application over `db`."""
    return lambda: scraped(client)


def scraped(client: FlaskClient) -> Scrape:
    began_at = time.monotonic()
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"})
    assert answer.status_code == 200
    return parsed(answer.text, time.monotonic() - began_at)


def claim(db: Database, endpoint: Endpoint, queue: str) -> Claimed | NothingClaimed:
    return claiming.claim_next(db, endpoint, queue, ClaimRequest(), gone=lambda: False)


# --- who gets one --------------------------------------------------------------------------------


def test_every_other_credential_gets_401_and_no_name(
    client: FlaskClient, make: Make
) -> None:
    endpoint, human = make.endpoint(), make.human()
    session = make.session(human)
    client.set_cookie("sb_session", session, domain="localhost")
    refused = ["", "Bearer", "Bearer ", f"Basic {METRICS_TOKEN}", METRICS_TOKEN,
               f"Bearer {METRICS_TOKEN[:-1]}", f"Bearer {METRICS_TOKEN}x",
               f"Bearer {METRICS_TOKEN.upper()}", f"Bearer {make.credential(endpoint)}",
               f"Bearer {make.operator_token(human)}", f"Bearer {session}", "Bearer \xe9\xff"]

    for words in refused:
        answer = client.get("/metrics", headers={"Authorization": words} if words else {})
        assert answer.status_code == 401, words
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="switchboard-metrics"'
        assert answer.json == {"error": "A valid credential is required.",
                               "code": "unauthenticated"}
    assert client.get(f"/metrics?token={METRICS_TOKEN}").status_code == 401
    assert client.post("/metrics").status_code == 401


def test_a_wrong_method_is_told_only_to_whoever_has_the_token(client: FlaskClient) -> None:
    words = {"Authorization": f"Bearer {METRICS_TOKEN}"}
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"):
        refused, told = (client.open("/metrics", method=method, headers=headers)
                         for headers in ({}, words))  # fmt: skip
        assert (refused.status_code, told.status_code) == (401, 405), method
        assert refused.headers["WWW-Authenticate"] == 'Bearer realm="switchboard-metrics"'
        assert "Allow" not in refused.headers


def test_the_scheme_may_be_spelled_in_any_case(client: FlaskClient) -> None:
    answer = client.get("/metrics", headers={"Authorization": f"bearer {METRICS_TOKEN}"})

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("words", ["Bearer", "Bearer None", "Bearer null", f"Bearer {'x' * 32}"])
def test_without_a_configured_token_nobody_gets_one(
    db: Database, listener: Listener, words: str
) -> None:
    client = counted(EdgeConfig(base_url="http://localhost"), db, listener).test_client()

    assert client.get("/metrics", headers={"Authorization": words}).status_code == 401
    assert client.get("/metrics").status_code == 401


def test_its_token_opens_nothing_else(client: FlaskClient) -> None:
    words = {"Authorization": f"Bearer {METRICS_TOKEN}"}

    assert client.get("/api/v1/me", headers=words).status_code == 401
    assert client.post("/agent/v1/claim_next", headers=words, json={}).status_code == 401


# --- what it says --------------------------------------------------------------------------------


@pytest.mark.req("REQ-12", "A budget shows up in Grafana")
def test_an_exhausted_budget_and_what_waits_behind_it(
    db: Database, make: Make, scrape: Callable[[], Scrape]
) -> None:
    endpoint = make.endpoint(queues=("lane-m", "free"))
    make.policy(make.queue_id(endpoint, "lane-m"), max_claims_per_window=2)
    for _ in range(32):
        make.todo(endpoint, "lane-m")
    claims = [claim(db, endpoint, "lane-m") for _ in range(3)]

    seen = scrape()

    assert [isinstance(each, Claimed) for each in claims] == [True, True, False]
    shown = {status: seen.value(POLICIES, queue="lane-m", status=status) for status in STATUSES}
    assert shown == dict.fromkeys(STATUSES, 0) | {"window_exhausted": 1}
    waiting = {each: seen.value(DEFERRED, queue="lane-m", reason=each) for each in Reason}
    assert waiting == dict.fromkeys(Reason, 0) | {Reason.WINDOW_EXHAUSTED: 30}
    assert seen.value(CHARGED, queue="lane-m") == seen.value(CLAIMED, queue="lane-m") == 2
    refused = "switchboard_admission_refusals_total"
    assert seen.value(refused, queue="lane-m", reason="window_exhausted") == 1
    with pytest.raises(KeyError):
        seen.value(POLICIES, queue="free", status="admitted")


def test_every_kind_of_policy_is_told_apart_without_any_traffic(
    make: Make, scrape: Callable[[], Scrape]
) -> None:
    endpoint = make.endpoint(queues=("open", "full", "paused", "spent", "broken", "free"))
    make.policy(make.queue_id(endpoint, "open"), max_in_flight=5)
    make.policy(make.queue_id(endpoint, "full"), max_in_flight=1)
    make.todo(endpoint, "full", state="claimed")
    make.policy(make.queue_id(endpoint, "paused"), max_in_flight=0)
    midnight = make.now().replace(hour=0, minute=0, second=0, microsecond=0)
    spent = make.policy(make.queue_id(endpoint, "spent"), max_claims_per_window=1)
    make.window(spent, midnight, used=1, limit=1)
    make.policy(make.queue_id(endpoint, "broken"), max_claims_per_window=1, tz="Nowhere/At_All")
    for queue in endpoint.queues:
        make.todo(endpoint, queue)

    seen = scrape()

    expected = {"open": "admitted", "full": "in_flight_full", "paused": "paused",
                "spent": "window_exhausted", "broken": "admission_unavailable"}
    for queue, status in expected.items():
        shown = {each: seen.value(POLICIES, queue=queue, status=each) for each in STATUSES}
        assert shown == dict.fromkeys(STATUSES, 0) | {status: 1}, queue
        waiting = {each: seen.value(DEFERRED, queue=queue, reason=each) for each in Reason}
        deferred = {} if status == "admitted" else {status: 1}
        assert waiting == dict.fromkeys(Reason, 0) | deferred, queue


def test_a_life_of_todos_moves_every_counter_once(
    db: Database, make: Make, scrape: Callable[[], Scrape], operator: Callable[[Human], Caller]
) -> None:
    human = make.human()
    endpoint = make.endpoint(human, queues=("lane-m",))
    push = operator(human).post
    for number in range(3):
        push(f"/endpoints/{endpoint.slug}/todos", json={"title": f"{number}", "queue": "lane-m"})
    first, second, third = (claim(db, endpoint, "lane-m") for _ in range(3))
    assert isinstance(first, Claimed)
    assert isinstance(second, Claimed)
    assert isinstance(third, Claimed)
    settling.complete(db, endpoint, first.todo.id, Settlement())
    settling.fail(db, endpoint, second.todo.id, Settlement())
    make.run("update todos set lease_expires_at = clock() - interval '1 second' where id = %s",
             third.todo.id)
    sweeps.reap(db)

    seen = scrape()

    label = {"queue": "lane-m"}
    assert seen.value("switchboard_todos_created_total", **label, source="operator") == 3
    assert seen.value(CLAIMED, **label) == 3
    ended = "switchboard_todos_completed_total"
    assert seen.value(ended, **label, outcome="complete") == 1
    assert seen.value(ended, **label, outcome="fail") == 1
    assert seen.value("switchboard_todo_leases_expired_total", **label) == 1
    assert seen.value("switchboard_todo_attempts_total", **label, attempt_bucket="1") == 3
    closed = "switchboard_todo_attempts_closed_total"
    assert {outcome: seen.value(closed, **label, outcome=outcome)
            for outcome in ("completed", "failed", "reaped")} == {
                "completed": 1, "failed": 1, "reaped": 1}
    states = {state: seen.value(TODOS, **label, state=state)
              for state in ("pending", "claimed", "done", "failed")}
    assert states == {"pending": 1, "claimed": 0, "done": 1, "failed": 1}


def test_a_known_queue_without_todos_is_all_zero_and_an_unknown_one_is_not_there(
    make: Make, scrape: Callable[[], Scrape]
) -> None:
    endpoint = make.endpoint(queues=("in-scope",))
    make.queue(endpoint, "out-of-scope")
    make.todo(endpoint, make.queue(endpoint, "has-a-todo"), state="done")

    seen = scrape()

    for state in ("pending", "claimed", "done", "failed"):
        assert seen.value(TODOS, queue="in-scope", state=state) == 0
    assert seen.value(OLDEST, queue="in-scope") == 0
    assert seen.value(TODOS, queue="has-a-todo", state="done") == 1
    assert seen.labels("queue") == {"in-scope", "has-a-todo"}


def test_queues_of_one_name_share_a_label_and_add_up(
    make: Make, scrape: Callable[[], Scrape]
) -> None:
    one, other = make.endpoint(queues=("lane",)), make.endpoint(queues=("lane",))
    team = make.team_queue(make.team(), "lane")
    hour_ago = make.value("select clock() - interval '1 hour'")
    make.todo(one, "lane", created_at=hour_ago)
    make.todo(other, "lane")
    make.todo(queue=team)
    for endpoint in (one, other):
        make.policy(make.queue_id(endpoint, "lane"), max_in_flight=0)

    seen = scrape()

    assert seen.value(TODOS, queue="lane", state="pending") == 3
    assert 3600 <= seen.value(OLDEST, queue="lane") < 3700
    assert seen.value(POLICIES, queue="lane", status="paused") == 2
    assert seen.value(DEFERRED, queue="lane", reason="paused") == 2
    assert seen.labels("queue") == {"lane"}


def test_pending_is_one_number_everywhere(
    make: Make,
    scrape: Callable[[], Scrape],
    agent: Callable[[Endpoint], Caller],
    browser: Callable[[Human], Browser],
) -> None:
    human = make.human()
    endpoint = make.endpoint(human, queues=("lane-m",))
    make.policy(make.queue_id(endpoint, "lane-m"), max_claims_per_window=0, period="day")
    for state in ("pending", "pending", "pending", "done", "claimed"):
        make.todo(endpoint, "lane-m", state=state)

    status = agent(endpoint).call("admission_status")
    page = browser(human).get("/").text
    counted_rows = make.value("select count(*) from todos where state = 'pending'")
    seen = scrape()

    assert counted_rows == 3
    assert seen.value(TODOS, queue="lane-m", state="pending") == 3
    assert seen.value(DEFERRED, queue="lane-m", reason="paused") == 3
    assert status.json["queues"][0]["pending"] == 3
    assert "3 pending" in page


def test_a_policy_deleted_made_again_and_an_endpoint_vended_anew(
    db: Database, make: Make, scrape: Callable[[], Scrape], operator: Callable[[Human], Caller]
) -> None:
    human = make.human()
    endpoint = make.endpoint(human, queues=("lane-m",))
    budget, api = f"/admission/endpoint:{endpoint.slug}/lane-m", operator(human)
    window = {"period": "day", "tz": "UTC", "start": "00:00"}
    daily = {"max_claims_per_window": 5, "window": window}

    def claimed() -> Scrape:
        make.todo(endpoint, "lane-m")
        assert isinstance(claim(db, endpoint, "lane-m"), Claimed)
        return scrape()

    assert api.put(budget, json=daily).status_code == 200
    seen = [claimed()]
    assert api.delete(budget).status_code == 200
    seen.append(scrape())
    assert api.put(budget, json=daily).status_code == 200
    seen.append(claimed())
    assert api.post(f"/endpoints/{endpoint.slug}/revoke").status_code == 200
    make.run("delete from todos")  # as retention does, in time
    make.endpoint(human, queues=("lane-n",))
    seen.append(scrape())

    assert [each.has(POLICIES) for each in seen] == [True, False, True, False]
    assert [each.value(CHARGED, queue="lane-m") for each in seen] == [1, 1, 2, 2]
    for earlier, later in itertools.pairwise(seen):
        never_fell(earlier, later)
    gauges = {dict(labels)["queue"] for name, labels in seen[-1].samples if name == TODOS}
    assert gauges == {"lane-n"}


def test_process_and_python_are_in_it_and_requests_by_route(
    client: FlaskClient, scrape: Callable[[], Scrape]
) -> None:
    client.get("/healthz")
    client.get("/webhooks/w/a-secret-token-in-an-address")
    client.get("/nowhere/at/all")
    client.get("/metrics")
    for number in range(20):
        client.open("/agent/v1/claim_next", method=f"X{number}")

    seen = scrape()

    assert seen.value("process_cpu_seconds_total", process="self") > 0
    assert seen.has("python_info")
    assert seen.has("python_gc_collections_total")
    times = "switchboard_http_request_duration_seconds_count"
    assert seen.value(times, method="GET", url_rule="/healthz", status="200") == 1
    assert seen.labels("method") == {"GET", "OTHER"}
    assert "a-secret-token" not in seen.text
    assert "/nowhere" not in seen.text
    assert "/metrics" not in seen.labels("url_rule")


def test_no_label_says_whose_anything_is(
    db: Database, make: Make, client: FlaskClient, scrape: Callable[[], Scrape]
) -> None:
    human, team = make.human("Quentin"), make.team("sternwarte")
    endpoint = make.endpoint(human, name="pulsar")
    policy = make.policy(make.queue_id(endpoint), max_claims_per_window=5, human=human)
    make.grant(endpoint, make.team_queue(team, "shared"))
    todo = make.todo(endpoint)
    claim(db, endpoint, "inbox")
    headers = {"Authorization": f"Bearer {make.credential(endpoint)}"}
    client.get("/agent/v1/my_todos", headers=headers)
    client.get(f"/todos/{todo}")

    text = scrape().text

    for secret in (human.id, "Quentin", team.id, "sternwarte", endpoint.id, endpoint.slug,
                   "pulsar", endpoint.agent_id, policy, todo, make.credential(endpoint)):
        assert str(secret) not in text, secret


def test_promtool_finds_nothing(
    db: Database, make: Make, scrape: Callable[[], Scrape]
) -> None:
    endpoint = make.endpoint(queues=("lane \"m\" \\ with\nan end",))
    queue = endpoint.queues[0]
    make.policy(make.queue_id(endpoint, queue), max_in_flight=5)
    make.todo(endpoint, queue)
    claim(db, endpoint, queue)

    assert promtool_finds(without_created(scrape().text)) == ""
    assert promtool_finds("seconds_of_x 1\nseconds_of_x 1\n") != ""


def without_created(text: str) -> str:
    """An exposition without the `_created` times, which only a single process gives."""
    return "\n".join(line for line in text.split("\n") if "_created" not in line)


# --- few labels ----------------------------------------------------------------------------------


def test_five_thousand_hostile_queue_names_are_capped_and_add_up(
    db: Database, make: Make, scrape: Callable[[], Scrape]
) -> None:
    endpoint = make.endpoint(queues=())
    names = [_hostile(number) for number in range(5_000)]
    make.run(
        "with made as (insert into queues (endpoint_id, name)"
        " select %s, unnest(%s::text[]) returning id)"
        " insert into todos (id, queue_id, endpoint_id, source, title, state)"
        " select 'td_' || md5(id::text), id, %s, 'operator', 'x', 'pending' from made",
        endpoint.id, names, endpoint.id)
    for name in (*names, "\ud800", "", OTHER, "x" * 129):
        db.counters.add(CLAIMED, queue=name)

    seen = scrape()
    again = scrape()

    assert len(seen.labels("queue")) == 51
    assert OTHER in seen.labels("queue")
    assert seen.total(TODOS, state="pending") == 5_000
    assert seen.total(CLAIMED) == 5_004
    assert again.labels("queue") == seen.labels("queue")
    assert promtool_finds(without_created(seen.text)) == ""
    assert again.seconds < 2


def _hostile(number: int) -> str:
    shapes = ('a "quoted" {}', "a\nnew line {}", "back\\slash {}", "}} 1\nswitchboard_fake {}",
              "é{}\u2028", "team:{}", "x" * 10_000 + "{}", "\x01\x7f{}", " {} ", "{{{}}}")
    return shapes[number % len(shapes)].format(number)


# --- what cannot be read -------------------------------------------------------------------------


@pytest.fixture
def breakable(
    fresh_database: Fresh, edge_config: EdgeConfig, listener: Listener
) -> Iterator[tuple[FlaskClient, Make]]:
    """An application on a database whose tables a test may rename."""
    make = Make(fresh_database.url)
    yield counted(edge_config, fresh_database.db, listener).test_client(), make
    make.close()


def test_a_broken_collector_is_left_out_and_counted_and_the_others_are_there(
    breakable: tuple[FlaskClient, Make]
) -> None:
    client, make = breakable
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_in_flight=0)
    make.todo(endpoint)
    whole = scraped(client)

    make.run("alter table admission_policies rename to admission_policies_away")
    broken = scraped(client)
    make.run("alter table admission_policies_away rename to admission_policies")
    make.run("alter view endpoint_queues rename to endpoint_queues_away")
    other = scraped(client)
    make.run("alter view endpoint_queues_away rename to endpoint_queues")
    again = scraped(client)

    def errors(seen: Scrape) -> tuple[float, float]:
        return (seen.value(ERRORS, collector="admission"), seen.value(ERRORS, collector="queues"))

    assert [errors(each) for each in (whole, broken, other, again)] == [
        (0, 0), (1, 0), (1, 1), (1, 1)]
    assert not broken.has(POLICIES)
    assert not broken.has(DEFERRED)
    assert broken.value(TODOS, queue="inbox", state="pending") == 1
    assert not other.has(TODOS)
    assert not other.has(OLDEST)
    assert other.value(POLICIES, queue="inbox", status="paused") == 1
    assert again.has(TODOS)
    assert again.has(POLICIES)


def is_left_out(seen: Scrape) -> bool:
    """Whether nothing is said of the database, soon enough, and both failures are counted."""
    assert not any(seen.has(name) for name in (TODOS, OLDEST, POLICIES, DEFERRED))
    assert f"{TODOS}" not in seen.text
    assert seen.seconds < 3
    return seen.total(ERRORS) == 2


def test_a_database_that_is_away_leaves_its_families_out(
    edge_config: EdgeConfig, listener: Listener
) -> None:
    pool: ConnectionPool[Connection] = ConnectionPool(open=False)
    client = counted(edge_config, database_over(pool), listener).test_client()

    assert is_left_out(scraped(client))


def test_a_database_that_hangs_is_not_waited_for(breakable: tuple[FlaskClient, Make]) -> None:
    client, make = breakable
    make.run("begin")
    make.run("lock table todos in access exclusive mode")

    hanging = scraped(client)
    # Nor does it keep a connection: its statements end while the tables still hang.
    wait_for(lambda: make.value(_WAITING) == 0, 20)
    make.run("rollback")

    assert is_left_out(hanging)
    assert scraped(client).value(ERRORS, collector="queues") == 1


@contextmanager
def exhausted(db: Database) -> Iterator[None]:
    """Every connection of the pool is out."""
    held = [db.pool.getconn(timeout=5) for _ in range(db.pool.max_size)]
    try:
        yield
    finally:
        for conn in held:
            db.pool.putconn(conn)


@pytest.mark.rule("cli.md: ready only while the pool has not been exhausted for 5 s")
def test_an_exhausted_pool_is_not_ready_but_alive_and_recovers_alone(
    db: Database, make: Make, client: FlaskClient
) -> None:
    make.endpoint()
    with exhausted(db):
        began_at = time.monotonic()
        assert client.get("/readyz").status_code == 503
        assert time.monotonic() - began_at < 5
        assert client.get("/healthz").status_code == 200
        assert is_left_out(scraped(client))

    assert client.get("/readyz").status_code == 200
    assert scraped(client).has(TODOS)
