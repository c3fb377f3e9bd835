"""Faults at every statement of a budgeted claim: refused or unknown, never admitted on a guess.

The product runs as a role of its own, so that it can lose privileges. After each fault nothing is
claimed that is not charged, nothing stays locked or open, other queues went on, and when the fault
is over the queue admits again by itself.
"""

from __future__ import annotations

import itertools

import pytest

from app.db.database import Database
from app.transactions import claiming
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from tests.race.ground import POINTS, VERBS, Ground
from tests.support.make import Make
from tests.support.pg import Fresh, opened
from tests.support.verify import Verify

pytestmark = [pytest.mark.race, pytest.mark.timeout(600)]

# What is taken away, and what a claim may then say. Everything else is left as it was.
ADMISSION_TABLES = [
    ("select", "admission_policies"), ("update", "admission_policies"),
    ("select", "admission_windows"), ("update", "admission_windows"),
    ("insert", "admission_windows"),
]
FUNCTIONS = [
    "look_under_lock(bigint, text, timestamptz)", "guard_window(timestamptz)",
    "charge_window(uuid, timestamptz, int, timestamptz, boolean, boolean)",
]


@pytest.mark.req("REQ-9", "A policy that cannot be evaluated")
@pytest.mark.parametrize(("privilege", "table"), ADMISSION_TABLES)
def test_an_admission_table_out_of_reach_refuses_and_heals(
    ground: Ground, privilege: str, table: str
) -> None:
    if (privilege, table) == ("update", "admission_windows"):
        assert ground.ask("claim_next") == "claimed"
    before = ground.verify.used(ground.make.value("select id from admission_policies"))
    ground.make.run(f"revoke {privilege} on {table} from {ground.role}")
    for verb in VERBS:
        assert ground.ask(verb) == "admission_unavailable"
        ground.free_goes_on()
    ground.is_clean(claims=before)
    assert ground.make.value("select kind from admission_faults") == "database"
    ground.make.run(f"grant {privilege} on {table} to {ground.role}")
    assert [ground.ask(verb) for verb in VERBS] == ["claimed"] * 3
    ground.is_clean(claims=before + 3)
    assert ground.make.value("select count(*) from admission_faults") == 0


@pytest.mark.rule("a todo table out of reach stops every claim, and lets none through")
@pytest.mark.parametrize(("privilege", "table"), [
    ("select", "todos"), ("update", "todos"), ("select", "todo_attempts"),
    ("insert", "todo_attempts"), ("select", "queues"),
])
def test_a_todo_table_out_of_reach_admits_nothing(
    ground: Ground, privilege: str, table: str
) -> None:
    ground.make.run(f"revoke {privilege} on {table} from {ground.role}")
    assert {ground.ask(verb) for verb in VERBS} <= {"admission_unavailable", "unavailable"}
    ground.is_clean(claims=0)
    ground.make.run(f"grant {privilege} on {table} to {ground.role}")
    assert [ground.ask(verb) for verb in VERBS] == ["claimed"] * 3
    ground.is_clean(claims=3)


@pytest.mark.req("REQ-9")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda text: text.split("(")[0])
def test_a_missing_function_refuses_and_heals(ground: Ground, function: str) -> None:
    name = function.split("(")[0]
    assert [ground.ask(verb) for verb in VERBS] == ["claimed"] * 3
    ground.make.run(f"alter function {function} rename to gone")
    for verb in VERBS:
        assert ground.ask(verb) == "admission_unavailable"
        ground.free_goes_on()
    ground.is_clean(claims=3)
    ground.make.run(f"alter function {function.replace(name, 'gone')} rename to {name}")
    assert [ground.ask(verb) for verb in VERBS] == ["claimed"] * 3
    ground.is_clean(claims=6)


@pytest.mark.rule("R64: a fault that cannot even be noted is still a refusal, counted")
def test_a_fault_that_cannot_be_noted_is_still_refused_and_counted(ground: Ground) -> None:
    ground.make.run(f"revoke all on admission_faults, admission_policies from {ground.role}")
    assert [ground.ask(verb) for verb in VERBS] == ["admission_unavailable"] * 3
    assert ground.db.counters.value("switchboard_admission_refusals_total", queue="budgeted",
                                    reason="admission_unavailable") == 3
    ground.free_goes_on()
    ground.is_clean(claims=0)


@pytest.mark.rule("R12: a claim whose note of an old fault cannot be deleted stands, charged")
def test_a_committed_claim_stands_when_what_follows_it_fails(ground: Ground) -> None:
    ground.make.run(f"revoke select on admission_windows from {ground.role}")
    assert ground.ask("claim") == "admission_unavailable"
    ground.make.run(f"grant select on admission_windows to {ground.role}")
    ground.make.run(f"revoke delete on admission_faults from {ground.role}")
    assert ground.ask("claim") == "unknown"
    ground.is_clean(claims=1)


CODES = ["57014", "55P03", "40P01", "40001", "53100", "53200", "XX000", "22003", "23514", "P0001"]


@pytest.mark.req("REQ-9")
@pytest.mark.parametrize("point", POINTS)
def test_an_error_at_any_write_rolls_the_claim_back(ground: Ground, point: str) -> None:
    claims = 0
    if point == "the window's update":
        assert ground.ask("claim") == "claimed"
        claims = 1
    for code, verb in itertools.product(CODES, VERBS):
        ground.make.run("create or replace function strike() returns trigger language plpgsql as"
                        f" $$ begin raise 'struck' using errcode = '{code}'; end $$")
        ground.make.run(f"create {POINTS[point].format('strike')}"
                        " execute function strike()")
        assert ground.ask(verb) == "admission_unavailable", (code, verb)
        ground.make.run("drop function strike cascade")
    ground.is_clean(claims=claims)
    ground.free_goes_on()
    assert [ground.ask(verb) for verb in VERBS] == ["claimed"] * 3
    ground.is_clean(claims=claims + 3)


@pytest.mark.req("REQ-9")
@pytest.mark.parametrize("function", ["look_under_lock", "guard_window"])
def test_an_error_at_any_look_rolls_the_claim_back(ground: Ground, function: str) -> None:
    definition = ground.make.value("select pg_get_functiondef(oid) from pg_proc where proname = %s",
                                   function)
    for code in CODES:
        broken = str(definition).replace(
            "\nbegin", f"\nbegin\n  raise 'struck' using errcode = '{code}';", 1)
        ground.make.run(broken.replace("%", "%%"))
        for verb in VERBS:
            assert ground.ask(verb) == "admission_unavailable", code
    ground.is_clean(claims=0)
    ground.free_goes_on()
    ground.make.run(str(definition).replace("%", "%%"))
    assert [ground.ask(verb) for verb in VERBS] == ["claimed"] * 3
    ground.is_clean(claims=3)


@pytest.mark.rule("a connection that once outlived its window does not refuse every later claim")
def test_windows_that_end_under_claims_leave_a_connection_that_still_claims(
    fresh_database: Fresh,
) -> None:
    make = Make(fresh_database.url)
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=1000)
    definition = str(make.value("select pg_get_functiondef('guard_window'::regproc)"))
    ended = definition.replace("clock() >= p_ends_at", "true")

    def take(db: Database) -> Claimed | NothingClaimed:
        make.todo(endpoint)
        return claiming.claim_next(db, endpoint, None, ClaimRequest(), gone=lambda: False)

    # A statement is prepared the sixth time: let that fall behind the failed guard, whenever.
    for before in range(7):
        with opened(fresh_database.url, size=1) as db:
            assert all(isinstance(take(db), Claimed) for _ in range(before))
            make.run(ended)
            assert str(take(db).deferred[0].reason) == "admission_unavailable"
            make.run(definition)
            assert all(isinstance(take(db), Claimed) for _ in range(3)), before
    Verify(make).all_well()
    make.close()
