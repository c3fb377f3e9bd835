"""Units charged beside attempts marked, from the database's own rows."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint
from app.domain.errors import NotFound
from app.reads import verifying
from app.transactions import claiming
from app.transactions.claims import Claimed, ClaimRequest
from tests.support.make import Make

pytestmark = pytest.mark.rule("R62: marked attempts are the units used")


def budgeted(make: Make, limit: int = 100) -> tuple[Endpoint, object]:
    endpoint = make.endpoint()
    policy = make.policy(make.queue_id(endpoint), max_claims_per_window=limit)
    return endpoint, policy


def claim(db: Database, endpoint: Endpoint, make: Make) -> str:
    make.todo(endpoint)
    found = claiming.claim_next(db, endpoint, None, ClaimRequest(), gone=lambda: False)
    assert isinstance(found, Claimed)
    return found.todo.id


def differences(db: Database) -> list[tuple[int, int, int]]:
    return [(one.used, one.marked, one.difference) for one in verifying.charges(db)]


def test_nothing_charged_is_nothing_to_compare(db: Database, make: Make) -> None:
    endpoint = make.endpoint()
    claim(db, endpoint, make)

    assert verifying.charges(db) == []
    assert verifying.pruned_through(db) is None


def test_each_window_is_named_by_owner_and_queue(db: Database, make: Make) -> None:
    endpoint, policy = budgeted(make)
    claim(db, endpoint, make)
    claim(db, endpoint, make)

    (one,) = verifying.charges(db)

    assert (one.scope, one.queue, one.policy_id) == (f"endpoint:{endpoint.slug}", "inbox", policy)
    assert (one.used, one.marked, one.difference) == (2, 2, 0)


def test_a_unit_without_its_attempt_and_an_attempt_without_its_unit_are_found(
    db: Database, make: Make
) -> None:
    first, _ = budgeted(make)
    second, policy = budgeted(make)
    gone = claim(db, first, make)
    claim(db, first, make)
    claim(db, second, make)

    make.run("delete from todo_attempts where todo_id = %s", gone)
    make.run("delete from admission_windows where policy_id = %s", policy)

    assert sorted(differences(db)) == [(0, 1, -1), (2, 1, 1)]


def test_one_queue_is_found_by_slug_id_and_team(db: Database, make: Make) -> None:
    endpoint, _ = budgeted(make)
    claim(db, endpoint, make)
    team = make.team("core")
    make.policy(make.team_queue(team, "a/b"), max_claims_per_window=1)

    assert len(verifying.charges(db, (endpoint.slug, "inbox"))) == 1
    assert len(verifying.charges(db, (str(endpoint.id), "inbox"))) == 1
    assert verifying.charges(db, ("team:core", "a/b")) == []
    for foreign in (("core", "a/b"), ("team:core", "inbox"), (endpoint.slug, "x"), ("\0", "\0"),
                    ("", ""), ("team:", "a/b")):
        with pytest.raises(NotFound):
            verifying.charges(db, foreign)


def test_a_cleared_policy_is_still_compared(db: Database, make: Make) -> None:
    endpoint, policy = budgeted(make)
    claim(db, endpoint, make)
    make.run("update admission_policies set deleted_at = clock() where id = %s", policy)

    assert differences(db) == [(1, 1, 0)]


@pytest.mark.parametrize(("days", "seen"), [(34, [(7, 0, 7)]), (36, [])])
def test_windows_past_35_days_are_left_out(
    days: int, seen: list[tuple[int, int, int]], db: Database, make: Make
) -> None:
    _, policy = budgeted(make)
    add_window(make, policy, make.now() - timedelta(days=days))

    assert differences(db) == seen


def test_windows_up_to_where_attempts_were_pruned_are_left_out(db: Database, make: Make) -> None:
    _, policy = budgeted(make)
    early, late = make.now() - timedelta(days=9), make.now() - timedelta(days=8)
    for at in (early, late):
        add_window(make, policy, at)
    make.run("insert into settings (key, value) values ('attempts_pruned_through', %s)"
              "", early.isoformat())

    assert [one.window_start for one in verifying.charges(db)] == [late]
    assert verifying.pruned_through(db) == early.isoformat()


def add_window(make: Make, policy: object, at: datetime) -> None:
    make.run("insert into admission_windows (policy_id, window_start, used, limit_at_last_charge)"
              " values (%s, %s, 7, 9)", policy, at)
