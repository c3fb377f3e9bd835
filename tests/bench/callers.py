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
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context

import urllib3
from psycopg import sql

from app.db.database import Database, open_pool
from app.domain.callers import Endpoint
from app.parts import POOL_SIZE
from app.transactions import claiming
from app.transactions.claims import Claimed, ClaimRequest
from tests.support.pg import database_over

PROCESSES = 2
LEASE_SECONDS = 86_400
START_IN_SECONDS = 0.5  # callers connect and prepare meanwhile
BOUND = "bound"
APART = "apart"
MODULE = "module"
HTTP = "http"
_ONE_ROW = sql.SQL("update bench_rows set n = n + 1 where id = %(id)s")

Call = Callable[[], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the callers do, where: `kind` is one of the four words above.

    Calls start at `starts_at` on the machine's monotonic clock and go on for `seconds`.
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
            if share:
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
    done: list[list[tuple[float, float, str | None]]] = [[] for _ in range(task.callers)]
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

    threads = [threading.Thread(target=repeat, args=(n,)) for n in range(task.callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return [call for calls in done for call in calls]


def _call(task: Task, number: int) -> Call:
    if task.kind == HTTP:
        return _http_claim(task)
    database = _database(task.database_url)
    if task.kind == MODULE:
        return lambda: _module_claim(database, task.endpoint)
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


@lru_cache(maxsize=8)
def _database(url: str) -> Database:
    return database_over(open_pool(url, size=POOL_SIZE, prepare=True))


@lru_cache(maxsize=1)
def _http() -> urllib3.PoolManager:
    return urllib3.PoolManager(maxsize=64, block=False, retries=False, timeout=60)
