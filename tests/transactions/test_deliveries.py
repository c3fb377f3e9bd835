"""One delivery, one event, one todo per target, in one transaction; twice is once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from app.db.database import Database, Rollback
from app.domain.callers import Endpoint
from app.domain.deliveries import Arrival, Delivery, judge
from app.domain.errors import Unavailable
from app.transactions import creating, deliveries
from app.transactions.creating import NewEvent, NewTodo
from tests.support.make import Make, Webhook
from tests.support.race import all_returned, together


@pytest.fixture
def endpoint(make: Make) -> Endpoint:
    """An endpoint with one queue, `inbox`."""
    return make.endpoint()


@pytest.fixture
def hook(make: Make, endpoint: Endpoint) -> Webhook:
    """Its generic webhook."""
    return generic(make, endpoint)


def generic(make: Make, endpoint: Endpoint, target_queue: str = "inbox", **more: object) -> Webhook:
    """A webhook that believes whoever knows its URL."""
    return make.webhook(endpoint, "generic", target_queue, secret=None, trust_mode="token", **more)


def arrived(db: Database, hook: Webhook, key: str = "one", body: bytes = b'{"n":41}') -> Delivery:
    """A delivery as the door hands it over."""
    found = deliveries.find_webhook(db, hook.token)
    assert found is not None
    headers = {"X-Delivery-Id": key, "Authorization": "hush", "Content-Type": "application/json"}
    judged = judge(found, Arrival(headers=headers, body=body, source_ip="192.0.2.7"))
    assert isinstance(judged, Delivery)
    return judged


def created_count(db: Database, queue: str = "inbox") -> int:
    """What the counter of created todos says."""
    return db.counters.value("switchboard_todos_created_total", queue=queue, source="generic")


def test_a_delivery_becomes_an_event_and_a_pending_todo(
    db: Database, make: Make, endpoint: Endpoint, hook: Webhook
) -> None:
    done = deliveries.deliver(db, arrived(db, hook))

    (copy,) = done.todos
    assert done.own == copy
    assert (copy.endpoint_id, copy.queue, copy.created, copy.team) == (
        endpoint.id, "inbox", True, None)
    row = make.row(copy.id)
    assert (row["state"], row["title"], row["kind"], row["source"]) == (
        "pending", "generic delivery", "webhook", "generic")
    assert (row["payload"], row["idempotency_key"]) == ({"n": 41}, f"{hook.id}:one")
    assert make.rows(
        "select id, source, family, event_type, external_id, trust_mode, verified, content_type,"
        " payload, payload_size, host(source_ip), webhook_id, endpoint_id, team_id from events"
    ) == [(row["event_id"], "generic", "webhook", None, f"{hook.id}:one", "token", False,
           "application/json", b'{"n":41}', 8, "192.0.2.7", hook.id, endpoint.id, None)]
    assert make.value("select headers ->> 'Authorization' from events") == "«redacted»"
    assert set(db.feed.ids("ready")) == {make.queue_id(endpoint)}
    assert created_count(db) == 1


def test_a_redelivery_finds_the_todo_and_wakes_and_counts_nothing(
    db: Database, make: Make, hook: Webhook
) -> None:
    first = deliveries.deliver(db, arrived(db, hook))
    db.feed.told.clear()

    again = deliveries.deliver(db, arrived(db, hook))

    assert again.created == 0
    assert [todo.id for todo in again.todos] == [todo.id for todo in first.todos]
    assert make.value("select count(*) from events") == 1
    assert db.feed.told == []
    assert created_count(db) == 1


@pytest.mark.parametrize("state", ["pending", "claimed", "parked"])
def test_any_live_todo_keeps_its_key(
    db: Database, make: Make, hook: Webhook, state: str
) -> None:
    first = deliveries.deliver(db, arrived(db, hook)).todos[0]
    moved = {
        "pending": "set state = 'pending'",
        "claimed": "set state = 'claimed', lease_expires_at = clock() - interval '1 hour'",
        "parked": "set state = 'failed', next_retry_at = clock() + interval '1 hour'",
    }
    make.run(f"update todos {moved[state]}")

    again = deliveries.deliver(db, arrived(db, hook)).todos[0]

    assert (again.id, again.created) == (first.id, False)


@pytest.mark.parametrize("state", ["done", "failed"])
def test_a_terminal_todo_does_not_block_a_new_one_for_the_stored_event(
    db: Database, make: Make, hook: Webhook, state: str
) -> None:
    first = deliveries.deliver(db, arrived(db, hook)).todos[0]
    make.run("update todos set state = %s", state)

    again = deliveries.deliver(db, arrived(db, hook)).todos[0]

    assert again.created
    assert again.id != first.id
    assert make.row(again.id)["event_id"] == make.row(first.id)["event_id"]
    assert make.value("select count(*) from events") == 1


def test_a_redelivery_after_the_event_was_pruned_stores_it_again(
    db: Database, make: Make, hook: Webhook
) -> None:
    first = deliveries.deliver(db, arrived(db, hook)).todos[0]
    make.run("delete from events")

    again = deliveries.deliver(db, arrived(db, hook)).todos[0]

    assert (again.id, again.created) == (first.id, False)
    assert make.value("select count(*) from events") == 1


def test_twenty_parallel_deliveries_with_one_id_make_one_todo(
    db: Database, make: Make, hook: Webhook
) -> None:
    judged = arrived(db, hook)

    done = all_returned(together(20, lambda _: deliveries.deliver(db, judged)))

    assert len({delivered.todos[0].id for delivered in done}) == 1
    assert sum(delivered.created for delivered in done) == 1
    assert make.value("select count(*) from todos") == 1
    assert make.value("select count(*) from events") == 1
    assert created_count(db) == 1


def test_one_delivery_fans_out_to_two_owners_owner_first(
    db: Database, make: Make, endpoint: Endpoint, hook: Webhook
) -> None:
    friends = [make.endpoint(queues=("other",)), make.endpoint()]
    for friend in friends:
        make.route(hook, friend)

    done = deliveries.deliver(db, arrived(db, hook))

    assert [todo.endpoint_id for todo in done.todos] == [endpoint.id, *[f.id for f in friends]]
    assert {todo.queue for todo in done.todos} == {"inbox"}
    assert done.own == done.todos[0]
    assert done.created == 3
    assert make.value("select count(*) from events") == 1
    assert make.value("select count(distinct event_id) from todos") == 1
    # The friend had no queue of that name: its row is made on first use.
    made = make.queue_id(friends[0], "inbox")
    assert make.row(done.todos[1].id)["queue_id"] == made
    assert made in db.feed.ids("ready")


def test_each_copy_dedups_on_its_own_endpoint(
    db: Database, make: Make, endpoint: Endpoint, hook: Webhook
) -> None:
    friend = make.endpoint()
    deliveries.deliver(db, arrived(db, hook))
    make.route(hook, friend)

    again = deliveries.deliver(db, arrived(db, hook))

    assert [(todo.endpoint_id, todo.created) for todo in again.todos] == [
        (endpoint.id, False), (friend.id, True)]
    assert again.created == 1


def test_a_route_to_the_owner_itself_adds_nothing(
    db: Database, make: Make, endpoint: Endpoint, hook: Webhook
) -> None:
    make.route(hook, endpoint)

    assert len(deliveries.deliver(db, arrived(db, hook)).todos) == 1


def test_two_webhooks_with_one_delivery_id_make_two_todos(
    db: Database, make: Make, endpoint: Endpoint, hook: Webhook
) -> None:
    other = generic(make, endpoint)

    done = [deliveries.deliver(db, arrived(db, one)) for one in (hook, other)]

    assert done[0].todos[0].id != done[1].todos[0].id
    assert make.value("select count(*) from events") == 2


def test_revoked_and_expired_targets_get_nothing(
    db: Database, make: Make, endpoint: Endpoint, hook: Webhook
) -> None:
    revoked, live = make.endpoint(), make.endpoint()
    expired = make.endpoint(expires_at=make.now() - timedelta(seconds=1))
    for target in (revoked, expired, live):
        make.route(hook, target)
    make.run("update endpoints set state = 'revoked' where id = any(%s)",
             [revoked.id, endpoint.id])

    done = deliveries.deliver(db, arrived(db, hook))

    assert [todo.endpoint_id for todo in done.todos] == [live.id]
    assert done.own is None
    assert make.value("select endpoint_id from events") == endpoint.id


def test_without_a_target_nothing_is_stored(
    db: Database, make: Make, endpoint: Endpoint, hook: Webhook
) -> None:
    make.run("update endpoints set state = 'revoked' where id = %s", endpoint.id)

    with pytest.raises(Unavailable):
        deliveries.deliver(db, arrived(db, hook))

    assert make.value("select count(*) from events") == 0
    assert db.feed.told == []


def test_a_token_rotated_since_the_judgement_stores_nothing(
    db: Database, make: Make, hook: Webhook
) -> None:
    judged = arrived(db, hook)
    make.run("update endpoint_webhooks set ingest_token = 'another'")

    with pytest.raises(Unavailable):
        deliveries.deliver(db, judged)

    assert make.value("select count(*) from events") == 0


def test_a_failure_halfway_stores_nothing_at_all(
    db: Database, make: Make, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.route(hook, make.endpoint())
    real, calls = creating.create_todo, []

    def fail_second(conn: object, todo: NewTodo) -> object:
        calls.append(todo)
        if len(calls) == 2:
            raise Unavailable
        return real(conn, todo)

    monkeypatch.setattr(creating, "create_todo", fail_second)
    with pytest.raises(Unavailable):
        deliveries.deliver(db, arrived(db, hook))

    assert make.value("select count(*) from todos") == 0
    assert make.value("select count(*) from events") == 0
    assert created_count(db) == 0


def test_a_revoke_at_the_same_time_leaves_no_live_todo(
    db: Database, make: Make, endpoint: Endpoint, hook: Webhook
) -> None:
    judged = arrived(db, hook)

    def revoke_or_deliver(number: int) -> None:
        if number:
            deliveries.deliver(db, replace(judged, external_id=f"{hook.id}:{number}"))
            return
        with db.transaction() as conn:
            conn.execute("update endpoints set state = 'revoked' where id = %s", (endpoint.id,))
            conn.execute("update todos set state = 'failed' where endpoint_id = %s",
                         (endpoint.id,))

    for error in together(12, revoke_or_deliver):
        assert error is None or isinstance(error, Unavailable)

    assert make.value("select count(*) from todos where state = 'pending'") == 0


# --- team targets -------------------------------------------------------------------------------


def test_a_team_target_is_one_todo_in_the_team_queue(db: Database, make: Make) -> None:
    human, team = make.human(), make.team("dockers")
    make.member(team, human)
    endpoint = make.endpoint(human)
    queue = make.team_queue(team, "crates")
    hook = generic(make, endpoint, team_queue=queue)
    make.route(hook, make.endpoint())

    done = deliveries.deliver(db, arrived(db, hook))
    again = deliveries.deliver(db, arrived(db, hook))

    (copy,) = done.todos
    assert (copy.endpoint_id, copy.team, copy.queue) == (None, "dockers", "team:dockers/crates")
    assert done.own == copy
    row = make.row(copy.id)
    assert (row["queue_id"], row["team_id"], row["endpoint_id"]) == (int(queue), team.id, None)
    assert make.value("select team_id from events") == team.id
    assert (again.created, again.todos[0].id) == (0, copy.id)
    assert set(db.feed.ids("ready")) == {int(queue)}
    assert created_count(db, "crates") == 1


def test_a_team_owned_endpoint_reaches_its_own_teams_queue(db: Database, make: Make) -> None:
    team = make.team()
    hook = generic(make, make.endpoint(team=team), team_queue=make.team_queue(team))

    assert deliveries.deliver(db, arrived(db, hook)).created == 1


@pytest.mark.parametrize("loss", ["membership", "queue", "suspended", "revoked"])
def test_a_team_target_gets_nothing_once_it_is_gone_or_out_of_reach(
    db: Database, make: Make, loss: str
) -> None:
    human, team = make.human(), make.team()
    make.member(team, human)
    endpoint = make.endpoint(human)
    queue = make.team_queue(team)
    hook = generic(make, endpoint, team_queue=queue)
    match loss:
        case "membership":
            make.remove_member(team, human)
        case "queue":
            make.run("delete from queues where id = %s", int(queue))
        case "suspended":
            make.run("update teams set suspended_at = clock()")
        case "revoked":
            make.run("update endpoints set state = 'revoked'")

    with pytest.raises(Unavailable):
        deliveries.deliver(db, arrived(db, hook))

    assert make.value("select count(*) from events") == 0
    assert make.value("select count(*) from todos") == 0


# --- the parts others use ------------------------------------------------------------------------


def an_event(endpoint: Endpoint, external_id: str | None = None) -> NewEvent:
    """An operator's event."""
    return NewEvent(
        source="operator", family="operator", event_type=None, external_id=external_id,
        trust_mode="operator", verified=True, verify_detail=None, content_type=None, headers={},
        payload=None, source_ip=None, webhook_id=None, endpoint_id=endpoint.id, team_id=None,
    )


def a_todo(endpoint: Endpoint, queue_id: int, key: str | None) -> NewTodo:
    """An operator's todo."""
    return NewTodo(
        queue_id=queue_id, endpoint_id=endpoint.id, team_id=None, source="operator",
        kind="operator", title="by hand", payload=None, has_payload=False, event_id=None,
        idempotency_key=key,
    )


@pytest.mark.parametrize("key", [None, ""])
def test_a_null_or_empty_key_never_dedups(
    db: Database, make: Make, endpoint: Endpoint, key: str | None
) -> None:
    queue_id = int(make.queue_id(endpoint))

    with db.transaction() as conn:
        made = [creating.create_todo(conn, a_todo(endpoint, queue_id, key)) for _ in range(2)]

    assert [todo.created for todo in made] == [True, True]
    assert made[0].id != made[1].id


def test_events_without_an_external_id_are_each_stored(
    db: Database, make: Make, endpoint: Endpoint
) -> None:
    with db.transaction() as conn:
        ids = [creating.insert_event(conn, an_event(endpoint)) for _ in range(2)]
        same = [creating.insert_event(conn, an_event(endpoint, "x")) for _ in range(2)]

    assert ids[0] != ids[1]
    assert same[0] == same[1]


def test_a_caller_may_roll_back_the_event_of_a_todo_that_was_there(
    db: Database, make: Make, endpoint: Endpoint
) -> None:
    key_holder = make.todo(endpoint, key="k")
    queue_id = int(make.queue_id(endpoint))

    with db.transaction() as conn:
        creating.insert_event(conn, an_event(endpoint))
        found = creating.create_todo(conn, a_todo(endpoint, queue_id, "k"))
        if not found.created:
            raise Rollback

    assert (found.id, found.created, found.queue_name) == (key_holder.id, False, "inbox")
    assert make.value("select count(*) from events") == 0


def test_an_unknown_token_finds_no_webhook(db: Database) -> None:
    assert deliveries.find_webhook(db, uuid4().hex) is None
    assert deliveries.find_webhook(db, "nul\x00") is None


def test_a_secret_sealed_for_another_row_counts_as_not_held(
    db: Database, make: Make, endpoint: Endpoint
) -> None:
    signed, other = make.webhook(endpoint), make.webhook(endpoint)
    make.run("update endpoint_webhooks set secret = (select secret from endpoint_webhooks"
             " where id = %s) where id = %s", other.id, signed.id)

    found = deliveries.find_webhook(db, signed.token)

    assert found is not None
    assert found.secret is None
