"""Backends ended, and locks not had in time, at every point of a budgeted claim."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest

from app.domain.errors import Deferred, Unavailable
from app.transactions import claiming
from app.transactions.claims import ClaimRequest
from tests.race.ground import POINTS, VERBS, Ground
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.verify import away_from_boundaries

pytestmark = [pytest.mark.race, pytest.mark.timeout(600)]
LATCH = 78
HELD = {
    "the policy's lock": ("select 1 from admission_policies for update", "unavailable"),
    "the todo's lock": ("lock todos in exclusive mode", "unavailable"),
    "the window's row": ("select 1 from admission_windows for update", "unknown"),
}


@pytest.mark.rule("R8: a backend ended in a wait: unavailable, or unknown once COMMIT was sent")
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("verb", ["claim", "board_claim"])
def test_a_backend_terminated_while_it_waits_leaves_nothing(
    ground: Ground, held: str, verb: str
) -> None:
    assert ground.ask("claim") == "claimed"
    statement, expected = HELD[held]
    for _ in range(rounds(3, 30)):
        assert _terminated(ground, verb, lambda holder, s=statement: holder.execute(s)) == expected
        ground.is_clean(claims=1)
    ground.free_goes_on()
    assert ground.ask(verb) == "claimed"


@pytest.mark.rule("R8: a backend ended at any write or in COMMIT: unknown, and nothing happened")
@pytest.mark.parametrize("point", POINTS)
def test_a_backend_terminated_at_any_write_is_an_unknown_outcome(
    ground: Ground, point: str
) -> None:
    assert ground.ask("claim") == "claimed"
    if point == "the window's insert":
        ground.make.run("update admission_policies set window_start ="
                        " to_char(clock() - interval '1 hour', 'HH24:MI')")
    ground.make.run("create function strike() returns trigger language plpgsql as"
                    f" $$ begin perform pg_advisory_xact_lock_shared({LATCH}); return new; end $$")
    ground.make.run(f"create {POINTS[point].format('strike')} execute function strike()")
    for verb in VERBS:
        assert _terminated(ground, verb, lambda holder: holder.execute(
            f"select pg_advisory_xact_lock({LATCH})")) == "unknown"
        ground.is_clean(claims=1)
    ground.make.run("drop function strike cascade")
    ground.free_goes_on()
    assert [ground.ask(verb) for verb in VERBS] == ["claimed"] * 3
    ground.is_clean(claims=4)


@pytest.mark.rule("R8: 5 s for all locks: the todo's is unavailable, every later one a refusal")
def test_lock_timeouts_are_told_apart_and_leave_nothing(ground: Ground) -> None:
    locks = [("queue-todo", "todos", "unavailable"),
             ("queue-policy", "admission_policies", "admission_unavailable"),
             ("queue-window", "admission_windows", "admission_unavailable")]
    grounds, holders = [], []
    for name, table, _ in locks:
        queue = ground.make.queue(ground.endpoint, name)
        ground.make.run("update endpoints set scope_queues = scope_queues || %s", [name])
        policy = ground.make.policy(queue, max_claims_per_window=9,
                                    **away_from_boundaries(ground.make.now()))
        todo = str(ground.make.todo(ground.endpoint, name))
        if table == "admission_windows":
            ground.make.todo(ground.endpoint, name,
                             created_at=ground.make.now() - timedelta(hours=1))
            assert claiming.claim_next(ground.db, ground.endpoint, name, ClaimRequest(),
                                       gone=lambda: False).admission.used == 1
        which = {"todos": f"id = '{todo}'", "admission_policies": f"id = '{policy}'",
                 "admission_windows": f"policy_id = '{policy}'"}[table]
        holder = psycopg.connect(ground.url)
        holder.execute(f"select 1 from {table} where {which} for update".encode())
        holders.append(holder)
        grounds.append(todo)

    def ask(number: int) -> str:
        try:
            claiming.claim(ground.db, ground.endpoint, grounds[number], ClaimRequest(),
                           gone=lambda: False)
        except Deferred as refused:
            return str(refused.extras["reason"])
        except Unavailable:
            return "unavailable"
        return "claimed"

    answers = all_returned(together(3, ask))
    for holder in holders:
        holder.close()
    assert answers == [expected for *_, expected in locks]
    assert ground.make.rows("select q.name, f.kind from admission_faults f join queues q on"
                            " q.id = f.queue_id order by 1") == [
        ("queue-policy", "lock_timeout"), ("queue-window", "lock_timeout")]
    assert [ask(number) for number in range(3)] == ["claimed"] * 3
    ground.verify.all_well()


def _terminated(
    ground: Ground, verb: str, hold: Callable[[psycopg.Connection[tuple[object, ...]]], object]
) -> str:
    """What a claim answers whose backend is ended while it waits for what `hold` holds."""
    todo = str(ground.make.todo(ground.endpoint, "budgeted"))
    with psycopg.connect(ground.url) as holder:
        hold(holder)

        def act(number: int) -> str:
            if number == 0:
                return ground.ask(verb, todo)
            ground.make.wait_until_blocked()
            ground.make.run("select pg_terminate_backend(pid) from pg_stat_activity where usename"
                            " = %s and wait_event_type = 'Lock'", ground.role)
            return ""

        answer, _ = all_returned(together(2, act))
        holder.rollback()
    return answer
