"""Clients that hang up while their claims wait for locks, by the hundreds, beside other callers."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import psycopg
import pytest

from app.db.pools import GET_CONNECTION_SECONDS
from app.domain.callers import Endpoint
from tests.support.make import Make, TodoId
from tests.support.race import all_returned, together
from tests.support.rounds import rounds
from tests.support.servers import Answer, Fleet, HttpCaller, agent
from tests.support.wait import wait_for

pytestmark = pytest.mark.race

PLAIN = ("a", "b", "c")  # claimed by id, blocked on the todo
BUDGETED = ("x", "y", "z")  # claimed as the next one, blocked on the policy
AT_ONCE = len(PLAIN) + len(BUDGETED)  # fewer than the 8 connections of one worker
# A cancel comes at once. Who waited this long for a connection was refused by a machine that stood
# still (app/db/pools.py), and asks again.
STALL = GET_CONNECTION_SECONDS
PATIENT = 12  # with those who hang up, more than the 16 connections of both workers
DISCONNECTS = rounds(500, 10_000)


def _patiently(ask: Callable[[], Answer]) -> Answer:
    """Asks once more for each refusal that only a machine at a standstill gives."""
    for _ in range(5):
        began = time.monotonic()
        answer = ask()
        if answer.status != 503 or time.monotonic() - began < STALL:
            break
    return answer


@dataclass
class Neighbours:
    """Other callers of the same server, who must never notice."""

    callers: Sequence[HttpCaller]
    wrong: list[str] = field(default_factory=list)
    turns: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        for caller in self.callers:
            thread = threading.Thread(target=self._work, args=(caller,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def finish(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive()

    def _work(self, caller: HttpCaller) -> None:
        while not self.stop.is_set() and not self.wrong:
            claimed = _patiently(lambda: caller.call("claim_next"))
            todo = claimed.json.get("todo")
            if claimed.status != 200 or not isinstance(todo, dict):
                self.wrong.append(f"claim_next: {claimed.status} {claimed.body!r}")
                return
            released = _patiently(lambda todo=todo: caller.call("release", id=todo["id"]))
            if released.status != 200:
                self.wrong.append(f"release: {released.status} {released.body!r}")
            self.turns += 1


@dataclass
class Scene:
    """A server, an endpoint whose callers hang up, and neighbours at work."""

    fleet: Fleet
    make: Make
    endpoint: Endpoint
    token: str
    patient: Endpoint
    neighbours: Neighbours

    def todos(self) -> list[TodoId]:
        return [self.make.todo(self.endpoint, queue) for queue in (*PLAIN, *BUDGETED)]

    def ask(self, todos: Sequence[TodoId]) -> list[socket.socket]:
        """Claims of each kind, sent and not waited for."""
        asked = [("claim", {"id": str(todo)}) for todo in todos[:len(PLAIN)]]
        asked += [("claim_next", {"queue": queue}) for queue in BUDGETED]
        return [self._send(verb, body) for verb, body in asked]

    def blocked_by(self, holder: psycopg.Connection) -> int:
        return int(str(self.make.value(
            "select count(*) from pg_stat_activity where %s = any(pg_blocking_pids(pid))",
            holder.info.backend_pid)))

    def activity(self) -> list[tuple[object, ...]]:
        """Who does what in the database now, and behind whom, for the message of a failure."""
        return self.make.rows(
            "select pid, state, wait_event, pg_blocking_pids(pid), now() - state_change,"
            " left(query, 120) from pg_stat_activity where datname = current_database()"
            " order by state, pid")

    @contextlib.contextmanager
    def holding(self, todos: Sequence[TodoId]) -> Iterator[psycopg.Connection]:
        """A connection that holds what claims of `todos` wait for."""
        with psycopg.connect(self.fleet.database_url) as holder:
            self.lock(holder, todos)
            yield holder
            holder.rollback()

    def lock(self, holder: psycopg.Connection, todos: Sequence[TodoId]) -> None:
        holder.execute("select 1 from todos where id = any(%s) order by id for update",
                       ([str(todo) for todo in todos[:len(PLAIN)]],))
        holder.execute(
            "select 1 from admission_policies p join queues q on q.id = p.queue_id"
            " where q.endpoint_id = %s order by q.id for update of p", (self.endpoint.id,))

    def _send(self, verb: str, body: dict[str, str]) -> socket.socket:
        text = json.dumps(body)
        raw = socket.create_connection(("127.0.0.1", self.fleet[0].port))
        raw.sendall((
            f"POST /agent/v1/{verb} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Content-Type: application/json\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
        return raw


class Patient:
    """Claims that wait for other todos on whatever connections come free, and must get them.

    With those who hang up they are more than the connections of a worker, so a connection goes
    from hand to hand without rest: a cancel that came late would hit one of these.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._todos = [scene.make.todo(scene.patient) for _ in range(PATIENT)]
        self._caller = agent(scene.fleet[0].url, scene.make.credential(scene.patient))
        self._keeper = psycopg.connect(scene.fleet.database_url)
        self._answers: list[Future[Answer]] = []

    def __enter__(self) -> Patient:
        self._keeper.execute("select 1 from todos where id = any(%s) order by id for update",
                             ([str(todo) for todo in self._todos],))
        return self

    def __exit__(self, *_: object) -> None:
        self._keeper.close()

    def ask(self, threads: ThreadPoolExecutor) -> None:
        self._answers = [threads.submit(
            _patiently, lambda todo=todo: self._caller.call("claim", id=str(todo)))
            for todo in self._todos]

    def refused(self) -> list[bytes]:
        """Lets them have their todos, once as many wait as one worker has connections.

        The answers of those who got none.
        """
        try:
            wait_for(lambda: self._scene.blocked_by(self._keeper) >= 8 or any(
                answer.done() for answer in self._answers), 30)
        except AssertionError as late:
            raise AssertionError(self._scene.activity()) from late
        self._keeper.rollback()
        answers = [answer.result(60) for answer in self._answers]
        return [answer.body for answer in answers if answer.status != 200]


@pytest.fixture
def scene(fleet: Fleet) -> Iterator[Scene]:
    """One server; three neighbours, of a queue with a budget and of one without."""
    server, make = fleet.add(), fleet.make
    endpoint = make.endpoint(queues=(*PLAIN, *BUDGETED))
    budgeted, plain = make.endpoint(), make.endpoint()
    for queue in BUDGETED:
        policy(make, make.queue_id(endpoint, queue))
    policy(make, make.queue_id(budgeted))
    for neighbour in (budgeted, plain):
        for _ in range(6):
            make.todo(neighbour)
    callers = [agent(server.url, make.credential(each)) for each in (budgeted, budgeted, plain)]
    neighbours = Neighbours(callers)
    neighbours.start()
    yield Scene(fleet, make, endpoint, make.credential(endpoint), make.endpoint(), neighbours)
    neighbours.finish()


def policy(make: Make, queue_id: int) -> None:
    make.run(
        "insert into admission_policies (id, queue_id, max_in_flight, max_claims_per_window,"
        " window_period, window_tz, window_start, created_by_human_id, updated_by_human_id)"
        " values (%s, %s, 10000, 1000000, 'day', 'UTC', '00:00', %s, %s)",
        uuid.uuid4(), int(queue_id), uuid.uuid4(), uuid.uuid4())


@pytest.mark.timeout(900)
@pytest.mark.req("REQ-13", "A cancelled claim charges nothing")
@pytest.mark.rule("R12: a client that disconnects between lock and commit changes nothing")
def test_who_hangs_up_while_waiting_claims_nothing_and_disturbs_nobody(scene: Scene) -> None:
    todos = scene.todos()
    before = [scene.make.row(todo) for todo in todos]
    with scene.holding(todos) as holder:
        for _ in range(DISCONNECTS // AT_ONCE):
            clients = scene.ask(todos)
            wait_for(lambda: scene.blocked_by(holder) == AT_ONCE, 10, what="all claims wait")
            for client in clients:
                client.close()
            # Well before the 5 s of the lock timeout: it was the hang-up that ended them.
            wait_for(lambda: scene.blocked_by(holder) == 0, 3, what="no claim waits any longer")

    scene.neighbours.finish()
    assert scene.neighbours.wrong == []
    assert scene.neighbours.turns > 20
    assert [scene.make.row(todo) for todo in todos] == before
    assert all(scene.make.attempts(todo) == [] for todo in todos)
    assert scene.make.value("select count(*) from admission_faults") == 0
    assert scene.make.value(
        "select count(*) from admission_windows w join admission_policies p on p.id = w.policy_id"
        " join queues q on q.id = p.queue_id where q.endpoint_id = %s", scene.endpoint.id) == 0
    _all_connections_are_back(scene)


@pytest.mark.timeout(900)
@pytest.mark.req("REQ-13")
@pytest.mark.rule("R12: no cancel reaches the next user of a connection")
def test_hanging_up_at_any_moment_cancels_nobody_else(scene: Scene) -> None:
    dice = random.Random(13)
    with ThreadPoolExecutor(PATIENT) as threads:
        for turn in range(DISCONNECTS // AT_ONCE):
            todos = scene.todos()
            with scene.holding(todos) as holder, Patient(scene) as patient:
                clients = scene.ask(todos)
                dice.shuffle(clients)
                if turn % 2:
                    wait_for(lambda h=holder: scene.blocked_by(h) == AT_ONCE, 60)
                patient.ask(threads)
                first = dice.randrange(1, AT_ONCE + 1)
                for client in clients[:first]:
                    client.close()
                holder.rollback()  # the locks are free while some cancels are under way
                assert patient.refused() == [], scene.fleet[0].words()[-4000:]
            for client in clients[first:]:
                client.close()

    scene.neighbours.finish()
    _all_connections_are_back(scene)
    assert scene.neighbours.wrong == []
    assert scene.neighbours.turns > 20
    # What was committed before its client's end was noticed stands, whole: todo, attempt, charge.
    make = scene.make
    assert make.value("select count(*) from todo_attempts where claimer_endpoint_id = %s",
                      scene.endpoint.id), "every client was noticed before its commit"
    assert make.value(
        "select count(*) from todos t"
        " full join (select todo_id, seq from todo_attempts where ended_at is null) a"
        " on a.todo_id = t.id"
        " where (t.state = 'claimed') is distinct from (a.seq is not null)") == 0
    assert make.value(
        "select count(*) from (select charged_policy_id, charged_window_start, count(*) as marked"
        " from todo_attempts where charged_policy_id is not null group by 1, 2) a"
        " full join admission_windows w on w.policy_id = a.charged_policy_id"
        " and w.window_start = a.charged_window_start where w.used is distinct from a.marked") == 0
    assert make.value("select count(*) from admission_faults") == 0


def _all_connections_are_back(scene: Scene) -> None:
    """Nothing runs, nothing is open, and more callers than connections are served at once."""
    wait_for(lambda: scene.make.value(
        "select count(*) from pg_stat_activity where datname = current_database()"
        " and state <> 'idle' and pid <> pg_backend_pid()") == 0, 20)
    caller = agent(scene.fleet[0].url, scene.token)
    answers = all_returned(together(24, lambda _: caller.call("list_todos", limit=1).status))
    assert answers == [200] * 24
