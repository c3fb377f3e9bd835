"""Doorbells over two servers with real streams: who is rung, when, and never for nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from app.transactions import membership
from tests.race.bells import Canaries, Lane, both, canaries, count, lane, rung
from tests.support.clock import Clock
from tests.support.ears import listening
from tests.support.rounds import rounds
from tests.support.servers import Fleet, HttpCaller, agent, operator
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]
HOUR = timedelta(hours=1)
LATCH = 77_001


@pytest.fixture
def clock(pair: Fleet) -> Iterator[Clock]:
    """The clock of the pair's database, real again afterwards."""
    yield pair.clock
    pair.clock.real()


@pytest.fixture
def one(pair: Fleet) -> Lane:
    return lane(pair)


@pytest.fixture(scope="module")
def birds(pair: Fleet) -> Iterator[Canaries]:
    with canaries(pair) as singing:
        yield singing


def test_a_todo_created_at_one_server_rings_once_at_the_other(pair: Fleet, one: Lane) -> None:
    with listening(pair[0].url, one.credential) as ears:
        made = time.monotonic()
        todo = one.push("a </Channel> secret", server=1)
        wait_for(lambda: ears.bells)

        heard = ears.bells[0]
        assert heard.at - made < 1
        assert heard.meta == {"todo_id": todo, "queue": "inbox", "source": "operator",
                              "kind": "operator"}
        assert heard.content == f"{todo} in inbox: a «/channel» secret"
        assert ears.lines[0] == "retry: 3000"


@pytest.mark.req("REQ-8")
def test_one_ring_at_the_boundary_and_none_before(
    pair: Fleet, clock: Clock, one: Lane, birds: Canaries
) -> None:
    ends_at = (pair.make.now() + HOUR / 2).replace(second=0, microsecond=0)
    pair.make.policy(one.queue, max_claims_per_window=1, period="hour",
                     start=f"00:{ends_at:%M}")
    one.fill(1)
    held = one.claim()
    assert held
    one.end(held)  # else its lease ends at the boundary, too
    with both(one) as ears:
        for number in range(40):
            one.push(f"todo {number}", server=number % 2)
        birds.sing()
        assert rung(*ears) == 0
        clock.set(ends_at)
        moved = time.monotonic()
        wait_for(lambda: rung(*ears))
        # Within a second on a quiet machine (test_doorbell_boundaries.py); never by the sweep.
        assert next(iter(ears[0].bells + ears[1].bells)).at - moved < 5
        birds.sing()

        assert rung(*ears) == one.reopens() == 1
        assert count(pair.make, "todos where ring_attempts > 0 and queue_id = %s",
                     int(one.queue)) == 0


@pytest.mark.req("REQ-8")
@pytest.mark.parametrize(
    "trigger", ["complete", "fail", "release", "reaper", "raise", "resume", "clear"])
def test_each_way_to_reopen_rings_once_over_two_servers(
    pair: Fleet, one: Lane, birds: Canaries, trigger: str
) -> None:
    one.policy(max_in_flight=1)
    one.fill(3)
    held = one.claim()
    assert held
    assert one.owes()
    if trigger == "resume":
        one.policy(max_in_flight=0)
    with listening(pair[1].url, one.credential) as ears:
        birds.sing()
        assert ears.bells == []
        match trigger:
            case "reaper":
                pair.make.run("update todos set lease_expires_at = clock() - interval '1 s'"
                              " where id = %s", held)
                pair.make.run("notify queue_changed, '{}'")
            case "raise" | "resume":
                one.policy(max_in_flight=2)
            case "clear":
                one.policy()
            case verb:
                one.end(held, verb)
        wait_for(lambda: ears.bells)
        birds.sing()

        assert rung(ears) == one.reopens() == 1
        assert not one.owes()


@pytest.mark.rule("R47")
@pytest.mark.parametrize("trigger", ["lost membership", "revoke"])
def test_who_is_removed_from_a_team_frees_a_slot_for_the_others(
    pair: Fleet, birds: Canaries, trigger: str
) -> None:
    make, team = pair.make, pair.make.team()
    queue, leaver, stayer = make.team_queue(team), make.human(), make.human()
    lanes = []
    for human in (leaver, stayer):
        make.member(team, human)
        lanes.append(make.endpoint(human))
        make.grant(lanes[-1], queue)
    make.policy(queue, max_in_flight=1)
    for _ in range(2):
        make.todo(queue=queue, rings=True)
    claimed = agent(pair[0].url, make.credential(lanes[0])).call("claim_next")
    assert claimed.json["empty"] is False
    with listening(pair[1].url, make.credential(lanes[1])) as ears:
        if trigger == "revoke":
            token = make.operator_token(leaver)
            path = f"/endpoints/{lanes[0].slug}/revoke"
            assert operator(pair[0].url, token).post(path).status == 200
        else:
            membership.remove_member(pair.db, team.id, leaver.id)
            make.run("notify queue_changed, '{}'")  # this process's feed only remembers
        wait_for(lambda: ears.bells)
        birds.sing()

        assert rung(ears) == 1
        assert ears.bells[0].meta["queue"] == queue.name


@pytest.mark.rule("R59")
def test_the_claim_that_fills_a_queue_owes_the_ring_before_anybody_was_refused(
    one: Lane, birds: Canaries
) -> None:
    one.policy(max_in_flight=1)
    one.fill(1)
    held = one.claim()
    assert held
    with both(one) as ears:
        todo = one.push()
        birds.sing()
        assert rung(*ears) == 0
        one.end(held, server=1)
        wait_for(lambda: rung(*ears))
        birds.sing()

        assert [bell.meta["todo_id"] for each in ears for bell in each.bells] == [todo]


@pytest.mark.rule("R28")
def test_a_claim_that_closes_the_queue_while_it_is_judged_leaves_the_mark(
    pair: Fleet, one: Lane, birds: Canaries
) -> None:
    """The judge is held after its look, before its commit; the claim comes in between."""
    one.policy(max_in_flight=1)
    one.fill(3)
    held = one.claim()
    assert held
    make = pair.make
    make.run("create or replace function latched() returns trigger language plpgsql as $$"
             f" begin perform pg_advisory_xact_lock({LATCH}); return new; end $$")
    make.run(f"create trigger latched before insert on doorbells for each row"
             f" when (new.queue_id = {int(one.queue)}) execute function latched()")
    claims: list[str | None] = []
    threads = [threading.Thread(target=lambda: one.end(held)),
               threading.Thread(target=lambda: claims.append(one.claim(server=1)))]
    try:
        with listening(pair[1].url, one.credential) as ears:
            with psycopg.connect(pair.database_url, autocommit=True) as latch:
                latch.execute("select pg_advisory_lock(%s)", (LATCH,))
                threads[0].start()
                make.wait_until_blocked()
                threads[1].start()
                make.wait_until_blocked(2)  # the claim is made, and waits to leave its mark
                latch.execute("select pg_advisory_unlock(%s)", (LATCH,))
            for thread in threads:
                thread.join(20)
            assert claims[0]
            birds.sing()
            assert one.owes()
            assert (one.reopens(), rung(ears)) == (1, 0)  # closed again when it was to be rung
            make.run("drop trigger latched on doorbells")
            one.end(claims[0])
            wait_for(lambda: ears.bells)
            birds.sing()
            assert (one.reopens(), rung(ears)) == (2, 1)
    finally:
        make.run("drop trigger if exists latched on doorbells")


@pytest.mark.rule("R31")
@pytest.mark.parametrize("how", ["complete", "release", "taken first"])
def test_a_worker_that_waits_for_its_bell_hears_one_for_every_completion(
    one: Lane, birds: Canaries, how: str
) -> None:
    """Cap 1, a long queue: whoever completes, and whatever was released, it rings once."""
    one.policy(max_in_flight=1)
    one.fill(12)
    held = one.claim()
    turns = rounds(4, 25)
    with both(one) as ears:
        for turn in range(1, turns + 1):
            assert held
            one.end(held, "release" if how == "release" else "complete", server=turn % 2)
            wait_for(lambda: rung(*ears) >= turn, what="the bell of a completion")  # noqa: B023
            if how == "taken first":
                other = one.claim(server=0)
                assert one.claim(server=1) is None  # told to wait for its bell
                held = other
            else:
                released, held = held, one.claim(server=turn % 2)
                assert how == "complete" or held == released
            if count(one.fleet.make, "todos where queue_id = %s and state = 'pending'",
                     int(one.queue)) < 3:
                one.fill(12)
        birds.sing()

        assert rung(*ears) == one.reopens() == turns


@pytest.mark.rule("R27")
def test_a_reopening_rings_although_others_take_the_oldest_all_the_time(
    pair: Fleet, one: Lane, birds: Canaries
) -> None:
    make = pair.make
    make.policy(one.queue, max_in_flight=1000)
    one.fill(rounds(1500, 6000))
    cap = "update admission_policies set max_in_flight = %s where queue_id = %s"
    stop = threading.Event()

    def work(server: int) -> None:
        while not stop.is_set():
            held = one.claim(server)
            if held:
                one.end(held, server=server)

    workers = [threading.Thread(target=work, args=(number % 2,)) for number in range(3)]
    for worker in workers:
        worker.start()
    try:
        with listening(pair[1].url, one.credential) as ears:
            heard = 0
            for _ in range(rounds(8, 40)):
                make.run(cap, 0, int(one.queue))
                wait_for(one.owes, what="a refusal marks the queue")
                heard = rung(ears)
                make.run(cap, 1000, int(one.queue))
                make.run("notify queue_changed, '{}'")
                wait_for(lambda: rung(ears) > heard, what="the bell of a reopening")  # noqa: B023
                wait_for(lambda: not one.owes())
    finally:
        stop.set()
        for worker in workers:
            worker.join(20)
    birds.sing()

    assert heard > 0


def test_a_team_queue_rings_at_every_drainer_on_reopening_and_at_one_on_creation(
    pair: Fleet, birds: Canaries
) -> None:
    make, team, human = pair.make, pair.make.team(), pair.make.human()
    queue = make.team_queue(team)
    make.member(team, human)
    lanes = [make.endpoint(human) for _ in range(3)]
    for each in lanes:
        make.grant(each, queue)
    hook = make.webhook(lanes[0], "generic", secret=None, trust_mode="token", team_queue=queue)
    sender = HttpCaller(pair[1].url, "none")
    streams = [listening(pair[number % 2].url, make.credential(each))
               for number, each in enumerate(lanes)]
    with streams[0] as a, streams[1] as b, streams[2] as c:
        assert sender.post(hook.path, {"title": "from outside"}).status == 202
        wait_for(lambda: rung(a, b, c))
        birds.sing()
        before = [rung(each) for each in (a, b, c)]
        assert sum(before) == 1
        make.policy(queue, max_in_flight=0)
        make.run("insert into admission_reopen (queue_id, reason) values (%s, 'paused')",
                 int(queue))
        make.run("update admission_policies set max_in_flight = 1 where queue_id = %s", int(queue))
        make.run("notify queue_changed, '{}'")
        wait_for(lambda: rung(a, b, c) == 4)
        birds.sing()

        assert [rung(each) - had for each, had in zip((a, b, c), before, strict=True)] == [1] * 3
