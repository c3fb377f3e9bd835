"""Grouped commit: shared flushes lose nothing that was acknowledged, and doubt is a failure."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field

import psycopg
import pytest
import urllib3

from app.db.database import Database
from app.domain.errors import OutcomeUnknown
from app.embedded import Cluster
from app.transactions import barrier, claiming
from app.transactions.claims import Claimed, ClaimRequest
from tests.support.make import Make
from tests.support.pg import Fresh, database_over
from tests.support.race import all_returned, together
from tests.support.rounds import LONG, rounds
from tests.support.servers import Fleet, HttpCaller, agent
from tests.support.wait import wait_for

pytestmark = pytest.mark.crash
CLAIMERS = 16


def grouped(fresh: Fresh) -> Database:
    """A Database with the option on, over the pool of a fresh one."""
    made = database_over(fresh.db.pool)
    return Database(pool=made.pool, feed=made.feed, sealer=made.sealer, counters=made.counters,
                    has_grouped_commit=True)


@dataclass
class Ledger:
    """What one claimer was told, and the key of the call it has no answer to yet."""

    claimed: set[tuple[str, int]] = field(default_factory=set)
    statuses: set[int] = field(default_factory=set)
    turn: int = 0


@pytest.mark.timeout(0 if LONG else 300)
@pytest.mark.rule("claim.md 7: no acknowledged claim is lost in a crash, replays included")
def test_a_crash_under_grouped_claims_loses_nothing_acknowledged(
    durable_fleet: Fleet, durable_cluster: Cluster
) -> None:
    server = durable_fleet.add(SWITCHBOARD_GROUPED_COMMIT="1")
    make = durable_fleet.make
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=1_000_000)
    crashes = rounds(5, 200)
    _fill(make, endpoint, 4_000 * (crashes // 5 + 1))
    caller = agent(server.url, make.credential(endpoint))
    make.close()
    ledgers = [Ledger() for _ in range(CLAIMERS)]
    stop = threading.Event()
    threads = [threading.Thread(target=_claim, args=(n, caller, ledgers[n], stop), daemon=True)
               for n in range(CLAIMERS)]
    for thread in threads:
        thread.start()
    dice = random.Random(7)

    for _ in range(crashes):
        before = sum(len(ledger.claimed) for ledger in ledgers)
        wanted = before + dice.randrange(20, 120)
        wait_for(lambda n=wanted: sum(len(each.claimed) for each in ledgers) >= n, 60)
        durable_cluster.stop("immediate")
        durable_cluster.start()
        wait_for(server.is_ready, 30)
    stop.set()
    for thread in threads:
        thread.join(30)

    with psycopg.connect(durable_fleet.database_url) as conn:
        attempts = set(conn.execute("select todo_id, seq from todo_attempts").fetchall())
        charged = conn.execute("select count(*) from todo_attempts"
                               " where charged_policy_id is not null").fetchone()
        used = conn.execute("select sum(used) from admission_windows").fetchone()
    assert set().union(*(ledger.claimed for ledger in ledgers)) <= attempts
    assert charged == used
    assert set().union(*(ledger.statuses for ledger in ledgers)) <= {200, 500, 503}


def _fill(make: Make, endpoint, number: int) -> None:
    make.run("insert into todos (id, queue_id, endpoint_id, title)"
             " select 'td_' || lpad(to_hex(n), 32, '0'), %s, %s, 'filler'"
             " from generate_series(1, %s) n",
             int(make.queue_id(endpoint)), endpoint.id, number)


def _claim(number: int, caller: HttpCaller, ledger: Ledger, stop: threading.Event) -> None:
    """Claim on and on; a call without an answer is made again with its key, as a worker does."""
    while not stop.is_set():
        try:
            answer = caller.call("claim_next", key=f"{number}-{ledger.turn}", timeout=10)
        except (urllib3.exceptions.HTTPError, OSError):
            continue
        ledger.statuses.add(answer.status)
        if answer.status == 200 and not answer.json["empty"]:
            ledger.claimed.add((answer.json["todo"]["id"], answer.json["attempt_seq"]))
            ledger.turn += 1


@pytest.mark.rule("claim.md 7: a barrier cancelled while a standby is missing is a failure")
def test_a_cancelled_barrier_is_not_a_success(
    durable_database: Fresh, durable_cluster: Cluster
) -> None:
    with (
        psycopg.connect(durable_cluster.dsn(), autocommit=True) as admin,
        psycopg.connect(durable_database.url, autocommit=True) as conn,
    ):
        admin.execute("alter system set synchronous_standby_names = 'missing'")
        admin.execute("select pg_reload_conf()")
        wait_for(lambda: conn.execute("show synchronous_standby_names").fetchone() == ("missing",))
        try:
            def act(number: int) -> None:
                if number == 0:
                    return barrier.flush(conn)
                pid = conn.info.backend_pid
                wait_for(lambda: admin.execute(
                    "select wait_event from pg_stat_activity where pid = %s", (pid,)
                ).fetchone() == ("SyncRep",))
                admin.execute("select pg_cancel_backend(%s)", (pid,))
                return None

            outcome, _ = together(2, act)
        finally:
            admin.execute("alter system reset synchronous_standby_names")
            admin.execute("select pg_reload_conf()")

    assert isinstance(outcome, OutcomeUnknown)


@pytest.mark.rule("claim.md 7: a failed barrier is `internal`, yet the claim is counted")
def test_a_failed_barrier_still_counts_its_claim(
    durable_database: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, make = grouped(durable_database), Make(durable_database.url)
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=100)
    _fill(make, endpoint, 40)
    monkeypatch.setitem(barrier.SQL, "write_barrier", psycopg.sql.SQL("select 1/0"))

    outcomes = together(8, lambda _: claiming.claim_next(
        db, endpoint, None, ClaimRequest(), gone=lambda: False))

    doubtful = [each for each in outcomes if isinstance(each, OutcomeUnknown)]
    assert doubtful
    assert all(isinstance(each, OutcomeUnknown | Claimed) for each in outcomes)
    claimed = make.value("select count(*) from todos where state = 'claimed'")
    assert claimed == len(outcomes)
    assert db.counters.value("switchboard_admission_charged_total", queue="inbox") == claimed
    make.close()


@pytest.mark.rule("claim.md 7: with the option off nothing of it runs")
def test_with_the_option_off_no_barrier_runs(
    durable_database: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, make = durable_database.db, Make(durable_database.url)
    endpoint = make.endpoint()
    make.policy(make.queue_id(endpoint), max_claims_per_window=100)
    _fill(make, endpoint, 40)
    for name in barrier.SQL:
        monkeypatch.setitem(barrier.SQL, name, psycopg.sql.SQL("select 1/0"))

    answers = all_returned(together(8, lambda _: claiming.claim_next(
        db, endpoint, None, ClaimRequest(claim_key="k", args_hash=b"a" * 32),
        gone=lambda: False)))

    assert all(isinstance(answer, Claimed) for answer in answers)
    make.close()
