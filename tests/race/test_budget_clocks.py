"""Budgets and time over two servers: boundaries, restarts, kills, and hosts whose clocks differ."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
import urllib3

from app.domain.callers import Endpoint
from tests.support.clock import Clock
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.servers import Answer, Fleet, HttpCaller, agent
from tests.support.verify import Verify
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(600)]
LATCH = 77
HOUR = timedelta(hours=1)


@pytest.fixture
def clock(pair: Fleet) -> Iterator[Clock]:
    """The clock of the pair's database, real again afterwards."""
    yield pair.clock
    pair.clock.real()


def hourly(pair: Fleet, endpoint: Endpoint, limit: int) -> tuple[UUID, datetime]:
    """An hourly budget that began half an hour ago, and when it ends."""
    ends_at = (pair.make.now() + HOUR / 2).replace(second=0, microsecond=0)
    policy = pair.make.policy(pair.make.queue_id(endpoint), max_claims_per_window=limit,
                              period="hour", start=f"00:{ends_at:%M}")
    return policy, ends_at


@contextmanager
def latched(url: str, trigger: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Stop every claim at a trigger until the holder of the latch lets go."""
    with psycopg.connect(url, autocommit=True) as holder:
        holder.execute(f"""
            create or replace function latch() returns trigger language plpgsql as $$
            begin perform pg_advisory_xact_lock_shared({LATCH}); return new; end $$""".encode())
        holder.execute(f"create trigger latch {trigger} for each row"
                       " execute function latch()".encode())
        holder.execute("select pg_advisory_lock(%s)", (LATCH,))
        try:
            yield holder
        finally:
            holder.execute("select pg_advisory_unlock_all()")
            holder.execute("drop function latch cascade")


@pytest.mark.req("REQ-3")
@pytest.mark.rule("R1: held between its first statement and COMMIT, a claim charges the new window")
@pytest.mark.parametrize("trigger", [
    "before update on todos", "before insert on todo_attempts",
    "before insert on admission_windows", "after insert on admission_windows",
])
@pytest.mark.parametrize("verb", ["claim", "claim_next"])
def test_a_claim_held_across_a_boundary_is_charged_to_the_window_of_its_commit(
    pair: Fleet, clock: Clock, verb: str, trigger: str
) -> None:
    make, verify = pair.make, Verify(pair.make)
    endpoint = make.endpoint()
    policy, ends_at = hourly(pair, endpoint, 5)
    todo = str(make.todo(endpoint))
    arguments = {"id": todo} if verb == "claim" else {}
    worker = agent(pair[0].url, make.credential(endpoint))
    clock.set(ends_at - timedelta(seconds=1))
    with latched(pair.database_url, trigger) as holder:

        def act(number: int) -> Answer | None:
            if number == 0:
                return worker.call(verb, **arguments)
            make.wait_until_blocked()
            clock.set(ends_at + timedelta(seconds=1))
            holder.execute("select pg_advisory_unlock(%s)", (LATCH,))
            return None

        claimed, _ = all_returned(together(2, act))

    assert claimed is not None
    assert claimed.status == 200
    assert claimed.json["admission"]["used"] == 1
    other = agent(pair[1].url, make.credential(endpoint)).call("get_todo", id=todo)
    assert other.json["state"] == "claimed"
    assert make.rows("select window_start, used from admission_windows where policy_id = %s",
                     policy) == [(ends_at, 1)]
    assert make.rows("select charged_window_start, claimed_at from todo_attempts"
                     " where charged_policy_id = %s", policy) == [
                         (ends_at, ends_at + timedelta(seconds=1))]
    verify.all_well()


@pytest.mark.rule("R1: a second boundary under the same claim refuses it, and charges nothing")
def test_a_claim_that_outlives_two_windows_is_refused_as_unavailable(
    pair: Fleet, clock: Clock
) -> None:
    make, verify = pair.make, Verify(pair.make)
    endpoint = make.endpoint()
    policy, ends_at = hourly(pair, endpoint, 5)
    todo = str(make.todo(endpoint))
    worker = agent(pair[0].url, make.credential(endpoint))
    clock.set(ends_at - timedelta(seconds=1))
    with latched(pair.database_url, "before insert on admission_windows") as holder:

        def act(number: int) -> Answer | None:
            if number == 0:
                return worker.call("claim", id=todo)
            for turn in (0, 1):
                make.wait_until_blocked()
                clock.set(ends_at + turn * HOUR)
                holder.execute("select pg_advisory_unlock(%s)", (LATCH,))
                if turn == 0:  # queues behind the claim that waits, so that only its retry stops
                    holder.execute("select pg_advisory_lock(%s)", (LATCH,))
            return None

        refused, _ = all_returned(together(2, act))

    assert refused is not None
    assert (refused.status, refused.json["reason"]) == (409, "admission_unavailable")
    assert refused.json["next_eligible_at"] is None
    assert verify.used(policy) == 0
    assert make.row(todo)["state"] == "pending"
    verify.all_well()


@pytest.mark.rule("C1: claims hammering across moved boundaries: per window exactly the budget")
def test_claims_across_boundaries_spend_exactly_the_budget_of_each_window(
    pair: Fleet, clock: Clock
) -> None:
    make, verify = pair.make, Verify(pair.make)
    endpoint = make.endpoint()
    policy, first_end = hourly(pair, endpoint, 7)
    turns = rounds(5, 100)
    for _ in range((turns + 1) * 7 + 20):
        make.todo(endpoint)
    stop, answers = threading.Event(), []
    token = make.credential(endpoint)

    def hammer(worker: HttpCaller) -> None:
        while not stop.is_set():
            answers.append(worker.call("claim_next"))

    threads = [threading.Thread(target=hammer, args=(agent(pair[n % 2].url, token),), daemon=True)
               for n in range(12)]
    for thread in threads:
        thread.start()
    for turn in range(turns + 1):
        wait_for(lambda n=turn: verify.used(policy) == 7 * (n + 1))
        so_far = len(answers)
        wait_for(lambda n=so_far: len(answers) > n + 12)  # and nobody gets an eighth
        if turn < turns:
            clock.advance(3600)
    stop.set()
    for thread in threads:
        thread.join(30)

    starts = [first_end + (turn - 1) * HOUR for turn in range(turns + 1)]
    assert make.rows("select window_start, used from admission_windows where policy_id = %s"
                     " order by 1", policy) == [(start, 7) for start in starts]
    assert make.value(
        "select count(*) from todo_attempts where charged_policy_id = %s and not (claimed_at >="
        " charged_window_start and claimed_at < charged_window_start + interval '1 hour')",
        policy) == 0
    assert {answer.status for answer in answers} == {200}
    assert {bool(answer.json.get("deferred")) for answer in answers if answer.json["empty"]} == {
        True}
    verify.all_well()


@pytest.mark.req("REQ-5", "A restart does not refill the budget")
@pytest.mark.rule("B1: kill -9 among refused claims: nothing in flight, and the next window opens")
def test_a_restart_and_a_kill_keep_the_count_and_hold_no_slot(servers: Fleet) -> None:
    make, verify = servers.make, Verify(servers.make)
    endpoint = make.endpoint()
    ends_at = (make.now() + HOUR / 2).replace(second=0, microsecond=0)
    policy = make.policy(make.queue_id(endpoint), max_in_flight=3, max_claims_per_window=6,
                         period="hour", start=f"00:{ends_at:%M}")
    for _ in range(20):
        make.todo(endpoint)
    token = make.credential(endpoint)
    first, second = (agent(each.url, token) for each in servers)
    for worker in (first, second, first, second):
        _finish_one(worker)
    servers[0].restart()
    assert _finish_one(first).json["admission"]["used"] == 5
    assert _finish_one(first).json["admission"]["used"] == 6
    stop, refused = threading.Event(), []

    def poll(worker: HttpCaller) -> None:
        while not stop.is_set():
            try:
                refused.append(worker.call("claim_next", timeout=5).json["deferred"][0]["reason"])
            except urllib3.exceptions.HTTPError:
                return

    threads = [threading.Thread(target=poll, args=(worker,), daemon=True)
               for worker in (first, second) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(refused) > rounds(60, 1000), 60)
    servers[0].kill()
    so_far = len(refused)
    wait_for(lambda: len(refused) > so_far + 20)
    stop.set()
    for thread in threads:
        thread.join(30)

    assert set(refused) == {"window_exhausted"}
    assert (verify.in_flight(policy), verify.used(policy)) == (0, 6)
    servers.clock.set(ends_at)
    opened = second.call("claim_next")
    assert opened.json["admission"]["used"] == 1
    assert make.value("select count(*) from pg_locks where relation ="
                      " 'admission_policies'::regclass and mode like '%Exclusive%'") == 0
    verify.all_well()


@pytest.mark.rule("REQ-3, C12: hosts 90 s and 2 h off, in three zones: one budget, one boundary")
def test_hosts_whose_clocks_differ_share_one_budget_and_its_boundaries(
    fleet: Fleet, tmp_path: Path
) -> None:
    make, verify = fleet.make, Verify(fleet.make)
    make.run("do $$ begin execute format('alter database %I set timezone to ''Pacific/Chatham''',"
             " current_database()); end $$")
    for shift, zone in (("+0", "America/Los_Angeles"), ("+90", "Asia/Kathmandu"),
                        ("+2h", "Pacific/Auckland")):
        fleet.add(TZ=zone, **_shifted(shift, tmp_path))
    endpoint = make.endpoint()
    at = make.now()
    ends_at = (at + HOUR / 2).replace(second=0, microsecond=0)
    policy = make.policy(make.queue_id(endpoint), max_claims_per_window=20, period="hour",
                         tz="America/New_York", start=f"00:{ends_at:%M}")
    for _ in range(60):
        make.todo(endpoint)
    workers = [agent(each.url, make.credential(endpoint)) for each in fleet]
    dates = [parsedate_to_datetime(worker.call("queue_stats").headers["Date"])
             for worker in workers]
    assert [round((date - dates[0]).total_seconds() / 90) for date in dates] == [0, 1, 80]

    answers = all_returned(together(45, lambda n: workers[n % 3].call("claim_next")))

    claimed = [answer.json for answer in answers if not answer.json["empty"]]
    refused = [answer.json["deferred"][0] for answer in answers if answer.json["empty"]]
    boundary = f"{ends_at:%Y-%m-%dT%H:%M:%SZ}"
    assert (len(claimed), len(refused)) == (20, 25)
    assert {each["admission"]["window_resets_at"] for each in claimed} == {boundary}
    assert {(each["reason"], each["next_eligible_at"]) for each in refused} == {
        ("window_exhausted", boundary)}
    for each in claimed:
        lease = datetime.fromisoformat(each["todo"]["lease_expires_at"])
        assert abs(lease - at - timedelta(seconds=300)) < timedelta(seconds=30)
    assert make.rows("select window_start, used from admission_windows where policy_id = %s",
                     policy) == [(ends_at - HOUR, 20)]
    fleet.clock.set(ends_at.astimezone(UTC))
    opened = [worker.call("claim_next").json["admission"]["used"] for worker in workers]
    assert opened == [1, 2, 3]
    verify.all_well()


def _finish_one(worker: HttpCaller) -> Answer:
    claimed = worker.call("claim_next")
    assert worker.call("complete", id=claimed.json["todo"]["id"]).status == 200
    return claimed


def _shifted(shift: str, folder: Path) -> dict[str, str]:
    """The environment in which a process believes in another wall clock, but waits as ever."""
    said = subprocess.run(["faketime", "-f", shift, "env"], check=True, capture_output=True,
                          text=True).stdout
    environment = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    # libfaketime mistakes the absolute monotonic time that time.sleep waits for; poll it leaves.
    (folder / "sitecustomize.py").write_text(
        "import select, time\n"
        "time.sleep = lambda seconds: select.select([], [], [], seconds) and None\n")
    return {
        "LD_PRELOAD": environment["LD_PRELOAD"], "FAKETIME": environment["FAKETIME"],
        "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
        "PYTHONPATH": str(folder),
    }
