"""Callers that do one thing over and over, in two processes as a server has, and how long it took.

The same driver, pool and number of callers measure every kind of call, so that ratios between
kinds say something where absolute rates of one machine do not.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context

import urllib3
from psycopg import sql

from app.db.database import Database, one, open_pool
from app.db.gates import Deadline
from app.domain.callers import Endpoint
from app.domain.todos import Todo
from app.parts import POOL_SIZE
from app.transactions import claiming, looks, picking
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed, of_endpoint
from app.transactions.picking import Kind
from tests.support.pg import database_over

PROCESSES = 2
LEASE_SECONDS = 86_400
START_IN_SECONDS = 0.5  # callers connect and prepare meanwhile
BOUND = "bound"
APART = "apart"
MODULE = "module"
HTTP = "http"
BARE = "bare"  # the one statement of a claim without a policy, and nothing around it
DRAINED = "drained"  # a claim whose queue is full for moments: asked again until it is had
REFUSED = "refused"
LOOK = "look"  # a budgeted claim's section under its locks, up to the decision; rolled back
_ONE_ROW = sql.SQL("update bench_rows set n = n + 1 where id = %(id)s")

Call = Callable[[], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the callers do, where: `kind` is one of the words above.

    Calls start at `starts_at` on the machine's monotonic clock and go on for `seconds`. With
    `beside`, each process has one more caller, who claims for that endpoint, and only it counts.
    """

    kind: str
    callers: int
    first: int
    starts_at: float
    seconds: float
    database_url: str
    endpoint: Endpoint
    server_url: str
    token: str
    queue_id: int = 0
    is_grouped: bool = False
    beside: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """What came of it: calls per second, latencies in ms (sorted), and the todos claimed."""

    rate: float
    latencies: list[float]
    claimed: list[str]

    def percentile(self, share: float) -> float:
        """The latency that `share` of the calls did not exceed."""
        place = math.ceil(share * len(self.latencies)) - 1
        return self.latencies[max(place, 0)]


class Crowd:
    """The processes the callers live in; they keep their pools from one sample to the next."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        """Use crowd() instead."""
        self._pool = pool

    def sample(self, kind: str, callers: int, seconds: float, **where: object) -> Sample:
        """Lets so many callers make calls of one kind, all from one moment on."""
        shares = [callers // PROCESSES + (n < callers % PROCESSES) for n in range(PROCESSES)]
        starts_at = time.monotonic() + START_IN_SECONDS
        first, futures = 0, []
        for share in shares:
            if share or where.get("beside"):
                task = Task(kind=kind, callers=share, first=first, starts_at=starts_at,
                            seconds=seconds, **where)
                futures.append(self._pool.submit(_work, task))
                first += share
        calls = [call for future in futures for call in future.result()]
        latencies = sorted(latency for latency, _, _ in calls)
        took = max(ended_at for _, ended_at, _ in calls) - starts_at
        return Sample(len(calls) / took, latencies,
                      [todo for _, _, todo in calls if todo is not None])


@contextmanager
def crowd() -> Iterator[Crowd]:
    """The callers' processes, ended at the end."""
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        for woken in [pool.submit(time.sleep, 1.0) for _ in range(PROCESSES)]:
            woken.result()
        yield Crowd(pool)


def _work(task: Task) -> list[tuple[float, float, str | None]]:
    """Runs one process's share of the callers: (milliseconds, ended at, todo) of every call."""
    callers = task.callers + (task.beside is not None)
    done: list[list[tuple[float, float, str | None]]] = [[] for _ in range(callers)]
    failed: list[BaseException] = []

    def repeat(number: int) -> None:
        try:
            call = _call(task, task.first + number)
            call()  # connects and prepares, outside the measured time
            time.sleep(max(0.0, task.starts_at - time.monotonic()))
            ended_at, until = 0.0, task.starts_at + task.seconds
            while ended_at < until:
                began_at = time.monotonic()
                todo = call()
                ended_at = time.monotonic()
                done[number].append(((ended_at - began_at) * 1000, ended_at, todo))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=repeat, args=(n,)) for n in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return [call for calls in done[task.callers if task.beside else 0:] for call in calls]


def _call(task: Task, number: int) -> Call:
    if task.kind == HTTP:
        return _http_claim(task)
    database = _database(task.database_url, is_grouped=task.is_grouped)
    beside = task.beside
    if beside is not None and number == task.first + task.callers:
        return lambda: _module_claim(database, beside)
    made: dict[str, Call] = {
        MODULE: lambda: _module_claim(database, task.endpoint),
        DRAINED: lambda: _drained_claim(database, task.endpoint),
        BARE: lambda: _bare_claim(database, task.endpoint, task.queue_id),
        REFUSED: lambda: _refused_claim(database, task.endpoint),
        LOOK: lambda: _look(database, task.endpoint, task.queue_id),
    }
    if task.kind in made:
        return made[task.kind]
    row = number + 2 if task.kind == APART else 1
    return lambda: _update(database, row)


def _update(database: Database, row: int) -> None:
    with database.reading() as conn:
        conn.execute(_ONE_ROW, {"id": row})


def _module_claim(database: Database, endpoint: Endpoint) -> str:
    request = ClaimRequest(lease_ttl_seconds=LEASE_SECONDS)
    claimed = claiming.claim_next(database, endpoint, None, request, gone=lambda: False)
    assert isinstance(claimed, Claimed), "the queue ran dry: the sample says nothing"
    return claimed.todo.id


def _bare_claim(database: Database, endpoint: Endpoint, queue_id: int) -> str:
    claimer = of_endpoint(endpoint, ClaimRequest(lease_ttl_seconds=LEASE_SECONDS))
    with database.reading() as conn:
        todo = one(conn, picking.SQL["claim_pending"], claimer.params(queue_id=queue_id), Todo)
    assert todo is not None, "the queue ran dry: the sample says nothing"
    return todo.id


def _drained_claim(database: Database, endpoint: Endpoint) -> str:
    until = time.monotonic() + 10.0
    while time.monotonic() < until:
        request = ClaimRequest(lease_ttl_seconds=LEASE_SECONDS)
        claimed = claiming.claim_next(database, endpoint, None, request, gone=lambda: False)
        if isinstance(claimed, Claimed):
            return claimed.todo.id
    raise AssertionError("nobody drains the queue")


def _refused_claim(database: Database, endpoint: Endpoint) -> None:
    request = ClaimRequest(lease_ttl_seconds=LEASE_SECONDS)
    answer = claiming.claim_next(database, endpoint, None, request, gone=lambda: False)
    assert isinstance(answer, NothingClaimed), "claimed what no policy admits"
    assert answer.deferred


def _look(database: Database, endpoint: Endpoint, queue_id: int) -> None:
    claimer = of_endpoint(endpoint, ClaimRequest(lease_ttl_seconds=LEASE_SECONDS))
    with database.section() as conn:
        seen = looks.look_next(database, conn, claimer, Deadline(), queue_id, Kind.PENDING)
        assert seen is not None, "the queue ran dry: the sample says nothing"
        looks.judge(database, conn, queue_id, seen)


def _http_claim(task: Task) -> Call:
    http = _http()
    headers = {"Authorization": f"Bearer {task.token}", "Content-Type": "application/json"}
    body = b'{"lease_ttl_seconds":%d}' % LEASE_SECONDS

    def claim() -> str:
        answer = http.request("POST", f"{task.server_url}/agent/v1/claim_next", body=body,
                              headers=headers)
        said = answer.json()
        assert answer.status == 200, said
        assert not said["empty"], "the queue ran dry: the sample says nothing"
        return str(said["todo"]["id"])

    return claim


@lru_cache(maxsize=16)
def _database(url: str, *, is_grouped: bool) -> Database:
    database = database_over(open_pool(url, size=POOL_SIZE, prepare=True))
    return replace(database, has_grouped_commit=is_grouped)


@lru_cache(maxsize=1)
def _http() -> urllib3.PoolManager:
    return urllib3.PoolManager(maxsize=64, block=False, retries=False, timeout=60)
