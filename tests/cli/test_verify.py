"""`queue budget verify`: equal after a storm, and an attempt that was taken away is noticed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.errors import DomainError
from app.domain.queues import address_of
from app.transactions import claiming, policies, settling
from app.transactions.claims import Claimed, ClaimRequest
from tests.cli.conftest import Cli, Ran
from tests.support.make import Make
from tests.support.race import all_returned, together

pytestmark = pytest.mark.rule("R62: per policy and window, marked attempts are the units used")

Verify = Callable[..., Ran]
QUEUES = ("a", "b/c")
ROUNDS = 25
WINDOWS = (
    {"period": "day", "tz": "UTC", "start": "00:00"},
    {"period": "hour", "tz": "Asia/Kathmandu", "start": "00:30"},
    {"period": "week", "tz": "America/Los_Angeles", "start": "09:00", "weekday": "Mon"},
)


@pytest.fixture
def verify(cli: Cli, db: Database) -> Verify:
    """Run `queue budget verify ...` on the test's database, with nobody logged in."""
    return lambda *words: cli("queue", "budget", "verify", *words,
                              open_database=lambda: nullcontext(db))


def storm(db: Database, make: Make, owner: Human, endpoint: Endpoint) -> None:
    """Six workers claim and settle, take over and retry while two editors set and clear."""
    for number in range(120):
        make.todo(endpoint, QUEUES[number % 2])

    def act(number: int) -> int:
        dice, claimed = random.Random(number), 0
        for _ in range(ROUNDS):
            try:
                if number < 2:
                    edit(db, owner, endpoint, dice)
                else:
                    claimed += work(db, endpoint, dice)
            except DomainError:
                pass
        return claimed

    assert sum(all_returned(together(8, act))) > ROUNDS


def edit(db: Database, owner: Human, endpoint: Endpoint, dice: random.Random) -> None:
    where = address_of(endpoint.id, dice.choice(QUEUES))
    if dice.random() < 0.3:
        policies.clear(db, owner, where)
        return
    policies.save(db, owner, where, {
        "max_in_flight": dice.choice((None, 3, 50)),
        "max_claims_per_window": dice.choice((5, 40, 1000)), "window": dice.choice(WINDOWS),
    })  # fmt: skip


def work(db: Database, endpoint: Endpoint, dice: random.Random) -> int:
    found = claiming.claim_next(db, endpoint, None, ClaimRequest(), gone=lambda: False)
    if not isinstance(found, Claimed):
        return 0
    settle = dice.choice((settling.complete, settling.fail, settling.release, None))
    if settle is not None:
        settle(db, endpoint, found.todo.id, settling.Settlement())
    return 1


def test_after_a_storm_every_window_is_equal_until_an_attempt_is_taken_away(
    verify: Verify, db: Database, make: Make
) -> None:
    owner = make.human()
    endpoint = make.endpoint(owner, queues=QUEUES)
    storm(db, make, owner, endpoint)

    equal = verify()
    lines = equal.out.splitlines()
    assert equal.code == 0, equal.out
    assert lines[0].split() == ["SCOPE", "QUEUE", "WINDOW", "USED", "MARKED", "VERDICT"]
    assert len(lines) > 2
    assert all(line.endswith("  equal") for line in lines[1:])

    make.run("delete from todo_attempts where ctid = (select min(ctid) from todo_attempts"
             " where charged_policy_id is not null)")
    unequal = verify()
    assert unequal.code == 1
    assert unequal.out.count("  used exceeds marked by 1\n") == 1


def test_one_queue_alone_is_verified(verify: Verify, db: Database, make: Make) -> None:
    endpoint = make.endpoint(queues=QUEUES)
    for queue in QUEUES:
        make.policy(make.queue_id(endpoint, queue), max_claims_per_window=9)
        make.todo(endpoint, queue)
        claiming.claim_next(db, endpoint, queue, ClaimRequest(), gone=lambda: False)
    make.run("delete from todo_attempts where todo_id in (select id from todos"
             " where queue_id = %s)", make.queue_id(endpoint, "b/c"))

    good, bad = verify(endpoint.slug, "a"), verify(str(endpoint.id), "b/c", "--json")

    assert (good.code, good.out.count("equal")) == (0, 1)
    told = json.loads(bad.out)
    assert bad.code == 1
    assert told["equal"] is False
    (window,) = told["windows"]
    assert (window["scope"], window["queue"]) == (f"endpoint:{endpoint.slug}", "b/c")
    assert (window["used"], window["marked"], window["difference"]) == (1, 0, 1)


def test_nothing_to_compare_is_a_hint_and_0(verify: Verify, make: Make) -> None:
    make.policy(make.queue_id(make.endpoint()), max_claims_per_window=9)

    ran = verify()

    assert (ran.code, ran.out) == (0, "Nothing was charged, so there is nothing to compare.\n")


def test_an_unknown_queue_exits_1_and_an_endpoint_alone_exits_2(
    verify: Verify, make: Make
) -> None:
    endpoint = make.endpoint()

    unknown, alone = verify(endpoint.slug, "nowhere"), verify(endpoint.slug)

    assert (unknown.code, unknown.out) == (1, "")
    assert alone.code == 2
    assert "Usage: switchboard queue budget verify" in alone.err
