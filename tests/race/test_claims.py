"""Two servers, many callers: each todo goes to one of them, and none is lost or stranded."""

from __future__ import annotations

import contextlib
import socket
import threading

import psycopg
import pytest

from tests.support.make import Make
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.servers import Fleet, agent, operator
from tests.support.wait import wait_for

pytestmark = pytest.mark.race
CALLERS = 50


@pytest.mark.timeout(600)
@pytest.mark.rule("issue A: two servers, 50 claimers, 50 todos: 50 distinct claims each round")
def test_fifty_callers_of_two_servers_claim_fifty_distinct_todos(servers: Fleet) -> None:
    make = servers.make
    endpoint = make.endpoint()
    token = make.credential(endpoint)
    callers = [agent(servers[n % 2].url, token) for n in range(CALLERS)]

    for _ in range(rounds(5, 100)):
        todos = {str(make.todo(endpoint)) for _ in range(CALLERS)}
        answers = all_returned(together(CALLERS, lambda n: callers[n].call("claim_next")))

        assert [answer.status for answer in answers] == [200] * CALLERS
        assert {answer.json["todo"]["id"] for answer in answers} == todos
        assert _agrees(make)
        make.run("truncate todos, events cascade")


@pytest.mark.rule("issue A: 20 parallel deliveries with one id: one todo, twenty 202s")
def test_twenty_deliveries_with_one_id_make_one_todo(servers: Fleet) -> None:
    make = servers.make
    endpoint = make.endpoint()
    for turn in range(rounds(5, 100)):
        if turn % 5 == 0:  # a webhook takes 200 at once, and then 50 a second
            hook = make.webhook(endpoint, "generic", secret=None, trust_mode="token")
        headers = {"X-Delivery-Id": f"delivery {turn}"}
        senders = [agent(servers[n % 2].url, "none") for n in range(20)]

        answers = all_returned(together(
            20, lambda n, h=headers, s=senders, path=hook.path: s[n].request(
                "POST", f"/../..{path}", {"n": 1}, headers=h)))

        assert [answer.status for answer in answers] == [202] * 20
        assert sum(answer.json["created"] for answer in answers) == 1
        assert make.value("select count(*) from todos") == turn + 1
        assert make.value("select count(*) from events") == turn + 1


@pytest.mark.rule("R61: a response lost after the commit is found again by its key, once")
def test_a_claim_whose_response_was_lost_is_found_again_by_its_key(servers: Fleet) -> None:
    make = servers.make
    endpoint = make.endpoint()
    token = make.credential(endpoint)
    for turn in range(rounds(10, 100)):
        make.todo(endpoint)
        key = f"key-{turn}"
        body = b'{"require_fence":true}'
        with socket.create_connection(("127.0.0.1", servers[0].port)) as raw:
            raw.sendall(_request("claim_next", token, body, key))
            wait_for(lambda: make.value("select count(*) from todos where state = 'claimed'") == 1)
        again = agent(servers[1].url, token).call("claim_next", key=key, require_fence=True)

        assert again.status == 200
        assert make.value("select count(*) from todo_attempts where ended_at is null") == 1
        done = agent(servers[1].url, token).call(
            "complete", id=again.json["todo"]["id"], lease_token=again.json["lease_token"])
        assert done.status == 200


@pytest.mark.rule("R12: a client that vanishes while claim waits for its todo leaves no trace")
def test_a_client_that_vanishes_while_its_claim_waits_leaves_no_trace(servers: Fleet) -> None:
    make = servers.make
    endpoint = make.endpoint()
    todo = str(make.todo(endpoint))
    for _ in range(rounds(5, 50)):
        with psycopg.connect(servers.database_url) as holder:
            holder.execute("select 1 from todos where id = %s for update", (todo,))
            body = f'{{"id":"{todo}"}}'.encode()
            with socket.create_connection(("127.0.0.1", servers[0].port)) as raw:
                raw.sendall(_request("claim", make.credential(endpoint), body))
                make.wait_until_blocked()
            holder.rollback()
        wait_for(lambda: make.value(
            "select count(*) from pg_stat_activity where datname = current_database()"
            " and state <> 'idle' and pid <> pg_backend_pid()") == 0)

        assert make.value("select state from todos") == "pending"
        assert make.value("select count(*) from todo_attempts") == 0


@pytest.mark.rule("R67: idle waiters never stop the site")
def test_idle_long_polls_leave_the_site_answering_within_a_second(servers: Fleet) -> None:
    make = servers.make
    ada = make.human("ada")
    endpoints = [make.endpoint(ada) for _ in range(10)]
    waiting = [agent(servers[0].url, make.credential(e)) for e in endpoints]
    site = operator(servers[0].url, make.operator_token(ada))
    polls = [threading.Thread(target=_poll, args=(waiting[n % 10],), daemon=True)
             for n in range(300)]
    for poll in polls:
        poll.start()

    def probe(path: str) -> bool:
        return site.request("GET", path, timeout=1.0).status == 200

    # The first look may meet 300 new connections at once; from then on each answer has 1 s.
    wait_for(lambda: make.value(
        "select count(*) from endpoints where last_seen_at is not null") == 10, 30)
    wait_for(lambda: _answers(probe, "/../../healthz"), 20)
    for _ in range(5):
        assert probe("/../../healthz")
        assert probe("/../../login")
        assert probe("/me")
    todos = {str(make.todo(endpoint)) for endpoint in endpoints}
    make.run("notify queue_changed, '{\"ready\":[1,2,3,4,5,6,7,8,9,10]}'")
    wait_for(lambda: make.value("select count(*) from todos where state = 'claimed'") == 10, 10)
    assert len(todos) == 10


def _poll(caller) -> None:
    with contextlib.suppress(Exception):
        caller.call("claim_next", wait_seconds=30)


def _answers(probe, path: str) -> bool:
    try:
        return probe(path)
    except Exception:
        return False


def _request(verb: str, token: str, body: bytes, key: str | None = None) -> bytes:
    lines = [f"POST /agent/v1/{verb} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json",
             f"Authorization: Bearer {token}", f"Content-Length: {len(body)}"]
    if key:
        lines.append(f"Idempotency-Key: {key}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _agrees(make: Make) -> bool:
    """One committed claim is one open attempt: the claimed todos and the open attempts agree."""
    return make.value("select count(*) from todos t full join todo_attempts a"
                      " on a.todo_id = t.id and a.ended_at is null"
                      " where (t.state = 'claimed') is distinct from (a.seq is not null)") == 0
