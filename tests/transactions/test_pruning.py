"""Retention: what goes, what stays, and that a live todo never loses anything."""

from __future__ import annotations

from datetime import datetime, timedelta

import psycopg
import pytest

from app.db.database import Database
from app.transactions import pruning
from app.transactions.pruning import Pruned, Retention
from tests.support.clock import Clock
from tests.support.make import Make, TodoId
from tests.support.oauth import an_app, fault
from tests.support.race import all_returned, together
from tests.support.wait import wait_for

CAPS = Retention()


def event(make: Make, owner: TodoId, *, days: float = 0.0) -> int:
    """An event of the todo's owner, received `days` ago, and referenced by the todo."""
    number = make.value(
        "insert into events (source, family, trust_mode, verified, received_at, endpoint_id) "
        "select 'github', 'webhook', 'signed', true, clock() - %s * interval '1 day', endpoint_id "
        "from todos where id = %s returning id",
        days, owner,
    )
    make.run("update todos set event_id = %s where id = %s", number, owner)
    return int(str(number))


def events(make: Make) -> list[object]:
    return [number for (number,) in make.rows("select id from events order by id")]


def todos(make: Make) -> list[object]:
    return [number for (number,) in make.rows("select id from todos order by id")]


def ago(make: Make, days: float) -> datetime:
    return make.now() - timedelta(days=days)


def test_terminal_todos_older_than_the_age_go_with_their_attempts(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint()
    old = ago(make, 31)
    make.todo(endpoint, state="done", updated_at=old)
    make.todo(endpoint, state="failed", updated_at=old)
    kept = make.todo(endpoint, state="done", updated_at=ago(make, 29))

    assert pruning.prune(db, CAPS).todos == 2
    assert todos(make) == [kept]
    assert make.value("select count(*) from todo_attempts") == 1


def test_live_todos_stay_however_old_with_the_events_they_came_from(
    db: Database, make: Make
) -> None:
    endpoint = make.endpoint()
    old = ago(make, 400)
    live = [
        make.todo(endpoint, updated_at=old),
        make.todo(endpoint, state="claimed", updated_at=old),
        make.todo(endpoint, state="failed", next_retry_at=make.now(), updated_at=old),
    ]
    kept = [event(make, todo, days=400) for todo in live]

    assert pruning.prune(db, Retention(events_per_owner=1, todos_per_owner=1)) == Pruned(
        events=0, todos=0, credentials=0
    )
    assert events(make) == kept
    assert todos(make) == sorted(live)


def test_old_events_of_terminal_todos_go_and_the_todo_stays(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    todo = make.todo(endpoint, state="done")
    event(make, todo, days=31)
    young = event(make, make.todo(endpoint, state="done"), days=29)

    assert pruning.prune(db, CAPS).events == 1
    assert events(make) == [young]
    assert make.row(todo)["event_id"] is None


def test_the_newest_rows_are_kept_up_to_the_setting(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    make.run("update settings set value = '3' where key = 'retention_max_rows'")
    made = [
        make.todo(endpoint, state="done", updated_at=ago(make, 10 - number))
        for number in range(5)
    ]
    numbers = [event(make, todo, days=10 - place) for place, todo in enumerate(made)]

    pruned = pruning.prune(db, CAPS)

    assert (pruned.todos, pruned.events) == (2, 2)
    assert todos(make) == made[2:]
    assert events(make) == numbers[2:]


def test_each_owner_keeps_its_own_newest(db: Database, make: Make) -> None:
    busy, calm = make.endpoint(), make.endpoint()
    many = [
        make.todo(busy, state="done", updated_at=ago(make, 10 - number)) for number in range(5)
    ]
    numbers = [event(make, todo, days=10 - place) for place, todo in enumerate(many)]
    few = make.todo(calm, state="done", updated_at=ago(make, 20))
    other = event(make, few, days=20)

    pruned = pruning.prune(db, Retention(events_per_owner=3, todos_per_owner=2))

    assert (pruned.todos, pruned.events) == (3, 2)
    assert todos(make) == sorted([*many[3:], few])
    assert events(make) == [*numbers[2:], other]


def test_an_owners_live_events_do_not_use_up_its_cap(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    live = [event(make, make.todo(endpoint), days=5) for _ in range(3)]
    terminal = [
        event(make, make.todo(endpoint, state="done"), days=9 - number) for number in range(3)
    ]

    pruning.prune(db, Retention(events_per_owner=2))

    assert events(make) == sorted([*live, *terminal[1:]])


def test_a_teams_rows_count_for_the_team(db: Database, make: Make) -> None:
    queue = make.team_queue(make.team())
    made = [
        make.todo(queue=queue, state="done", updated_at=ago(make, 5 - number))
        for number in range(3)
    ]

    assert pruning.prune(db, Retention(todos_per_owner=1)).todos == 2
    assert todos(make) == made[2:]


def test_a_todo_that_comes_back_to_life_meanwhile_keeps_its_event(
    db: Database, db_url: str, make: Make
) -> None:
    todo = make.todo(make.endpoint(), state="failed")
    kept = event(make, todo, days=40)
    with psycopg.connect(db_url) as conn:
        conn.execute("update todos set state = 'pending' where id = %s", (todo,))

        def prune_or_commit(number: int) -> int:
            if number == 0:
                return pruning.prune(db, CAPS).events
            wait_for(lambda: _waits_for_a_lock(make), what="the pruner waits for the todo")
            conn.commit()
            return 0

        assert all_returned(together(2, prune_or_commit)) == [0, 0]

    assert events(make) == [kept]
    assert make.row(todo)["event_id"] == kept


def _waits_for_a_lock(make: Make) -> bool:
    return bool(make.value(
        "select count(*) from pg_stat_activity "
        "where datname = current_database() and wait_event_type = 'Lock'"
    ))


def test_batches_go_on_until_nothing_is_left(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    for _ in range(7):
        event(make, make.todo(endpoint, state="done", updated_at=ago(make, 40)), days=40)

    assert pruning.prune(db, CAPS, batch=3) == Pruned(events=7, todos=7, credentials=0)


def test_spent_credentials_go_and_live_ones_stay(db: Database, make: Make) -> None:
    human = make.human()
    make.login_link(human)
    make.login_link(human, seconds=-1)
    make.login_link(human)
    make.run("update login_links set used_at = clock() where token_hash = "
             "(select token_hash from login_links where expires_at > clock() limit 1)")
    make.session(human)
    make.session(human, seconds=-1)
    make.operator_token(human)
    make.operator_token(human, name="revoked")
    make.operator_token(human, name="expired")
    make.run("update oauth_tokens set revoked_at = clock() where name = 'revoked'")
    make.run("update oauth_tokens set expires_at = clock() where name = 'expired'")
    make.run("update login_links set created_at = created_at - interval '30 days'")
    make.run("update oauth_tokens set created_at = created_at - interval '30 days'")

    assert pruning.prune(db, CAPS).credentials == 5
    assert make.value("select count(*) from login_links") == 1
    assert make.value("select count(*) from sessions") == 1
    assert make.value("select count(*) from oauth_tokens") == 1


def test_grants_codes_and_apps_go_when_nothing_can_come_of_them_any_more(
    db: Database, make: Make, clock: Clock
) -> None:
    human = make.human()
    used, unused, wanted = (an_app(db, make) for _ in range(3))
    kept = used.tokens(human)
    wanted.allowed(human)
    code = used.allowed(human)

    def left() -> tuple[object, ...]:
        pruning.prune(db, CAPS)
        tables = ("oauth_tokens", "oauth_codes", "oauth_clients")
        return tuple(make.value(f"select count(*) from {table}") for table in tables)

    assert left() == (1, 3, 3)
    clock.advance(2 * 3600)  # the codes ran out, the access token too, and the refresh lives
    assert left() == (1, 1, 3)
    assert fault(used.redeem(code)) == "invalid_grant"
    clock.advance(86400)
    assert left() == (1, 1, 2)
    assert fault(unused.refresh(kept.refresh_token)) == "invalid_client"
    clock.advance(30 * 86400)
    assert left() == (0, 0, 2)
    clock.advance(60 * 86400)
    assert left() == (0, 0, 0)


def test_a_flood_of_apps_that_nobody_let_in_is_cut_to_the_newest(
    db: Database, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "UNUSED_CLIENTS", 2)
    first = an_app(db, make)
    first.allowed(make.human())
    apps = [an_app(db, make) for _ in range(5)]

    pruning.prune(db, CAPS, batch=2)

    left = {row[0] for row in make.rows("select client_id from oauth_clients")}
    assert left == {first.client_id, apps[3].client_id, apps[4].client_id}


def test_doorbells_go_after_ten_minutes_taken_or_void(db: Database, make: Make) -> None:
    lane = make.endpoint()
    for seconds, taken in ((599, False), (599, True), (601, False), (601, True)):
        make.run("insert into doorbells (endpoint_id, kind, created_at, taken_at)"
                 " values (%s, 'digest', clock() - %s * interval '1 s',"
                 " case when %s then clock() end)", lane.id, seconds, taken)

    assert pruning.prune(db, CAPS, batch=1).doorbells == 2
    assert make.value("select count(*) from doorbells where created_at > clock() - interval"
                      " '10 min'") == 2


@pytest.mark.parametrize("text", ["", "many", "-1", "0", "3.5", "\u0663", "9" * 30])
def test_a_setting_that_is_no_number_falls_back_to_the_default(
    db: Database, make: Make, text: str
) -> None:
    endpoint = make.endpoint()
    make.run("update settings set value = %s where key like 'retention%%'", text)
    make.todo(endpoint, state="done", updated_at=ago(make, 31))
    kept = make.todo(endpoint, state="done", updated_at=ago(make, 29))

    pruning.prune(db, CAPS)

    assert todos(make) == [kept]


def test_a_setting_that_is_absent_or_huge_is_no_error(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    kept = make.todo(endpoint, state="done", updated_at=ago(make, 31))
    make.run("update settings set value = %s where key = 'retention_max_age_days'", "9" * 18)
    make.run("delete from settings where key = 'retention_max_rows'")

    pruning.prune(db, CAPS)

    assert todos(make) == [kept]
