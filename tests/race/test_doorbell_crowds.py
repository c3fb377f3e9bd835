"""Many queues, many todos, many streams: what a bell costs, and whom it never holds up."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import click
import pytest
import urllib3

from tests.race.bells import Canaries, Lane, canaries, count, lane, rung
from tests.support.ears import Ears, host_of, listening
from tests.support.make import Make
from tests.support.rounds import rounds
from tests.support.servers import Fleet, Server
from tests.support.wait import wait_for

pytestmark = [pytest.mark.race, pytest.mark.timeout(900)]
HOUR = timedelta(hours=1)
QUEUES = rounds(60, 500)
WAITING = rounds(200, 1000)
BACKLOG = rounds(3_000, 100_000)
SECRET = "the shared secret"
_senders = urllib3.PoolManager(maxsize=8, retries=False)


@pytest.fixture(scope="module")
def birds(pair: Fleet) -> Iterator[Canaries]:
    with canaries(pair) as singing:
        yield singing


def opened(url: str, credential: str) -> Ears:
    """A stream; asked for again when the process that was met is full."""
    for _ in range(50):
        with contextlib.suppress(AssertionError):
            return Ears(url, credential)
        time.sleep(0.1)
    raise AssertionError("no process takes one more stream")


class Busy:
    """Somebody who claims and completes all the time; how long each claim took."""

    def __init__(self, one: Lane, todos: int) -> None:
        self._one = one
        self._stop = threading.Event()
        self.took: list[float] = []
        one.fill(todos)
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Busy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()

    def _work(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            held = self._one.claim()
            self.took.append(time.monotonic() - began)
            if held is None:
                return
            self._one.end(held)


def test_all_queues_open_at_one_instant_each_rings_once_and_claims_go_on(
    pair: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    make, human = pair.make, pair.make.human()
    lanes = [make.endpoint(human) for _ in range(QUEUES)]
    ends_at = (make.now() + HOUR / 2).replace(second=0, microsecond=0)
    queues = [make.queue_id(each) for each in lanes]
    policies = []
    for each, queue in zip(lanes, queues, strict=True):
        policy = make.policy(queue, max_claims_per_window=1, period="hour",
                             start=f"00:{ends_at:%M}", human=human)
        policies.append(policy)
        make.window(policy, ends_at - HOUR, 1, limit=1)
        make.todo(each, queue, rings=True)
    make.run("insert into admission_reopen (queue_id, reason)"
             " select unnest(%s::bigint[]), 'window_exhausted'", [int(each) for each in queues])
    with ThreadPoolExecutor(8) as threads:
        ears = list(threads.map(lambda n: opened(pair[n % 2].url, make.credential(lanes[n])),
                                range(QUEUES)))
    assert rung(*ears) == 0
    try:
        with Busy(lane(pair), 5000) as busy:
            wait_for(lambda: busy.took)
            pair.clock.set(ends_at)
            moved, claims = time.monotonic(), len(busy.took)
            wait_for(lambda: rung(*ears) >= QUEUES, 60, what="a bell for every queue")
            meanwhile = busy.took[claims:]
        delays = sorted(each.bells[0].at - moved for each in ears)

        assert [len(each.bells) for each in ears] == [1] * QUEUES
        assert count(make, "doorbells where kind = 'reopen' and queue_id = any (%s)",
                     [int(each) for each in queues]) == QUEUES
        assert len(meanwhile) > 3
        assert max(meanwhile) < 5
        with capsys.disabled():
            click.echo(f"\n{QUEUES} queues at one instant: first bell after {delays[0]:.2f} s,"
                       f" half {delays[QUEUES // 2]:.2f} s, last {delays[-1]:.2f} s; meanwhile"
                       f" {len(meanwhile)} claims, the slowest {max(meanwhile) * 1000:.0f} ms")
    finally:
        pair.clock.real()
        for each in ears:
            each.close()
        # Nobody spent these units, and later tests of this pair count who did.
        make.run("delete from admission_windows where policy_id = any (%s)", policies)


@pytest.mark.req("REQ-8")
def test_todos_in_an_exhausted_queue_cost_twenty_idle_workers_nothing(fleet: Fleet) -> None:
    """No bell, no claim, and no row written for a todo that waits but itself."""
    fleet.add_together(2)
    one, make = lane(fleet), fleet.make
    make.policy(one.queue, max_claims_per_window=1)
    one.fill(1)
    held = one.claim()
    assert held
    one.end(held)
    wait_for(one.owes)
    hooks = [make.webhook(one.endpoint, "github", secret=SECRET) for _ in range(8)]
    with contextlib.ExitStack() as stack:
        ears = [stack.enter_context(contextlib.closing(opened(fleet[n % 2].url, one.credential)))
                for n in range(20)]
        birds = stack.enter_context(canaries(fleet))
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda n: deliver(fleet[n % 2], hooks[n % 8].path, n),
                             range(WAITING)))
        birds.sing()
        assert rung(*ears) == 0
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(Server.stop, fleet))  # so every connection has told what it wrote

    assert count(make, "todos where queue_id = %s and state = 'pending'",
                 int(one.queue)) == WAITING
    # Beside them: one todo that was claimed and completed, and the stamps of two canaries.
    assert written(make, "todos") == (WAITING + 3, 2 + 2)
    assert written(make, "events") == (WAITING + 3, 0)
    assert written(make, "doorbells") == (2, 2)
    assert written(make, "admission_reopen") == (1, 0)
    assert written(make, "admission_windows") == (1, 0)
    assert written(make, "todo_attempts") == (1, 1)


def written(make: Make, table: str) -> tuple[int, int]:
    """How many rows of a table were inserted and updated since the database was made."""
    ((inserted, updated),) = make.rows(
        "select n_tup_ins, n_tup_upd from pg_stat_user_tables where relname = %s", table)
    return int(str(inserted)), int(str(updated))


def deliver(server: Server, path: str, number: int) -> None:
    """One signed event of an issue."""
    body = json.dumps({"action": "opened", "issue": {"number": number, "title": "t"}}).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    answer = _senders.request("POST", server.url + path, body=body, headers={
        "Content-Type": "application/json", "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": f"0d1b0c0e-0000-4000-8000-{number:012d}",
        "X-Hub-Signature-256": f"sha256={signature}"})  # fmt: skip
    assert answer.status == 202, answer.data


@pytest.mark.rule("R63")
def test_a_reopening_writes_as_many_rows_for_a_long_backlog_as_for_a_short_one(
    pair: Fleet, birds: Canaries, capsys: pytest.CaptureFixture[str]
) -> None:
    make = pair.make
    make.run("create table if not exists written (about text, queue_id bigint)")
    make.run("create or replace function note_written() returns trigger language plpgsql as $$"
             " begin insert into written values (tg_table_name, case tg_table_name"
             " when 'queues' then (to_jsonb(coalesce(new, old)) ->> 'id')::bigint"
             " else (to_jsonb(coalesce(new, old)) ->> 'queue_id')::bigint end);"
             " return null; end $$")
    for table, when in (
        ("doorbells", ""), ("admission_reopen", ""), ("queues", ""),
        ("todos", "when (new.last_ringed_at is distinct from old.last_ringed_at"
                  " or new.ring_attempts <> old.ring_attempts)")):
        events = "update" if when else "insert or update or delete"
        make.run(f"create trigger note_written after {events} on {table}"
                 f" for each row {when} execute function note_written()")
    try:
        rows = {}
        for backlog in (10, BACKLOG):
            rows[backlog], took = _reopening(pair, birds, backlog)
            with capsys.disabled():
                click.echo(f"\nreopening with {backlog} pending: {rows[backlog]} rows written,"
                           f" claims on the queue took {max(took) * 1000:.0f} ms at most")
    finally:
        for table in ("doorbells", "admission_reopen", "queues", "todos"):
            make.run(f"drop trigger note_written on {table}")

    assert rows[10] == rows[BACKLOG]
    assert rows[10].get("todos", 0) == 0


def _reopening(pair: Fleet, birds: Canaries, backlog: int) -> tuple[dict[str, int], list[float]]:
    """Resumes a paused queue while it is claimed from; rows written, and how long claims took."""
    make, one = pair.make, lane(pair)
    one.policy(max_in_flight=0)
    event = make.event(one.endpoint.id)
    make.run("insert into todos (id, queue_id, endpoint_id, source, title, event_id)"
             " select 'td_' || replace(gen_random_uuid()::text, '-', ''), %s, %s, 'github', 't',"
             " %s from generate_series(1, %s)", int(one.queue), one.endpoint.id, event, backlog)
    make.run("analyze todos")
    with listening(pair[1].url, one.credential) as ears:
        birds.sing()
        make.run("delete from written")
        took: list[float] = []
        one.policy(max_in_flight=500)
        for _ in range(5):
            began = time.monotonic()
            assert one.claim() is not None
            took.append(time.monotonic() - began)
        wait_for(lambda: ears.bells)
        birds.sing()
        assert rung(ears) == 1
    assert max(took) < 3
    found = make.rows("select about, count(*) from written where queue_id = %s group by 1",
                      int(one.queue))
    return {str(about): int(str(number)) for about, number in found}, took


def test_slow_dead_and_stopped_clients_hold_up_nobody_and_give_everything_back(
    pair: Fleet, birds: Canaries
) -> None:
    for _ in range(rounds(1, 5)):
        _cycle(pair, birds)
    threads, memory = _threads(pair[0]), _memory(pair[0])
    for _ in range(rounds(2, 30)):
        _cycle(pair, birds)

    # The server's pool keeps what it once needed; a cycle that lost its streams would add eight.
    assert _threads(pair[0]) <= threads + rounds(12, 32)
    assert _memory(pair[0]) < memory + 24 * 2**20


def _cycle(pair: Fleet, birds: Canaries) -> None:
    """Bells for an endpoint whose streams are dead, gone or unread, beside one that listens."""
    one = lane(pair)
    with contextlib.ExitStack() as stack:  # a failure leaves no socket to the tests after it
        streams = [stack.enter_context(_raw(pair[0], one.credential)) for _ in range(7)]
        ports = {each.getsockname()[1] for each in streams}
        ears = stack.enter_context(contextlib.closing(opened(pair[0].url, one.credential)))
        for number, each in enumerate(streams[:4]):
            _drop(each, rudely=number % 2 == 0)
        began = time.monotonic()
        for number in range(16):
            one.push(server=number % 2)
        birds.sing()  # behind 16 bells, most of them for streams that nobody reads
        assert time.monotonic() - began < 5
        _ring_until_heard(one, ears)
        ears.close()
        for each in streams:
            _drop(each, rudely=True)
    wait_for(lambda: not ports & _far_ports(pair[0]), 30, what="connections are given back")
    again = [opened(pair[0].url, one.credential) for _ in range(8)]  # so all places were
    for stream in again:
        stream.close()


def _ring_until_heard(one: Lane, ears: Ears) -> None:
    """Whoever listens is rung before long, though a bell goes to one stream alone, and the streams
    that nobody reads, which another process of the server may hold, get their share of them.
    """
    for _ in range(30):
        with contextlib.suppress(AssertionError):
            wait_for(lambda: ears.bells, 2)
            return
        one.push()
    raise AssertionError("the one who listens hears nothing")


def _raw(server: Server, credential: str) -> socket.socket:
    """A stream that was asked for, and that nobody will ever read."""
    made = socket.create_connection(host_of(server.url))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    made.sendall(f"GET /agent/v1/stream HTTP/1.1\r\nHost: {server.url[7:]}\r\n"
                 f"Authorization: Bearer {credential}\r\n\r\n".encode())
    return made


def _drop(stream: socket.socket, *, rudely: bool) -> None:
    if stream.fileno() >= 0 and rudely:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()


def _far_ports(server: Server) -> set[int]:
    """The clients' ports of the server's open connections."""
    return {each.raddr.port for process in server.processes()
            for each in process.net_connections("tcp")
            if each.raddr and each.laddr.port == server.port}


def _threads(server: Server) -> int:
    return sum(process.num_threads() for process in server.processes())


def _memory(server: Server) -> int:
    return sum(int(process.memory_info().rss) for process in server.processes())
