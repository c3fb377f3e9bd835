"""What the bench of claims stands on: queues with and without policies, filled and put back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from app.domain.callers import Endpoint
from tests.bench.ground import Place
from tests.support.make import Make

MANY_CLAIMS = 1_000_000
CAP = 100
_DRAIN_EVERY_SECONDS = 0.004
_FREE = ("owner = null, lease_expires_at = null, attempt = 0, attempts_total = 0, "
         "claimed_at = null, completed_at = null, claimed_by_endpoint_id = null")


@dataclass(frozen=True, slots=True)
class Spot:
    """One endpoint and its queues, oldest todos in the first."""

    endpoint: Endpoint
    queue_ids: list[int]
    token: str


class Field:
    """Endpoints on one database; what samples claimed is put back between them."""

    def __init__(self, place: Place) -> None:
        """Builds on a migrated, empty place."""
        self.place = place
        self._make = Make(place.url)

    def spot(self, queues: int = 1) -> Spot:
        """An endpoint with so many empty queues and no policy."""
        names = [f"q{number}" for number in range(queues)]
        endpoint = self._make.endpoint(queues=names)
        ids = [int(self._make.queue_id(endpoint, name)) for name in names]
        return Spot(endpoint, ids, self._make.credential(endpoint))

    def budget(self, queue_ids: Sequence[int], *, cap: int | None = None) -> None:
        """Gives each queue a window limit nobody reaches, and a cap."""
        for queue_id in queue_ids:
            self._make.policy(queue_id, max_claims_per_window=MANY_CLAIMS, max_in_flight=cap)

    def cap(self, queue_id: int) -> None:
        """Gives a queue a cap alone."""
        self._make.policy(queue_id, max_in_flight=CAP)

    def exhaust(self, queue_id: int) -> None:
        """Gives a queue a window limit that is spent, today and tomorrow."""
        policy = self._make.policy(queue_id, max_claims_per_window=1)
        for days in (0, 1):
            at = self._make.value(
                "select date_trunc('day', clock() at time zone 'UTC') at time zone 'UTC' "
                "+ %s * interval '1 day'", days)
            self._make.run(
                "insert into admission_windows (policy_id, window_start, used, "
                "limit_at_last_charge) values (%s, %s, 1, 1)", policy, at)

    def fill(self, queue_ids: Sequence[int], number: int, state: str = "pending", *,
             age_days: int = 1) -> None:
        """Adds todos, dealt out to the queues in turn."""
        self.place.conn.execute(
            "insert into todos (id, queue_id, endpoint_id, source, title, state, created_at, "
            "updated_at, claimed_at, lease_expires_at, attempt, attempts_total) "
            "select 'td_' || replace(gen_random_uuid()::text, '-', ''), q.id, q.endpoint_id, "
            "'operator', 'todo ' || n, %(state)s, at, at, "
            "case when %(state)s = 'claimed' then at end, "
            "case when %(state)s = 'claimed' then at + interval '9 days' end, "
            "(%(state)s = 'claimed')::int, (%(state)s = 'claimed')::int "
            "from (select n, (%(queues)s::bigint[])[1 + n %% cardinality(%(queues)s::bigint[])] "
            "as queue_id, clock() - %(days)s * interval '1 day' + n * interval '1 millisecond' "
            "as at from generate_series(0, %(number)s - 1) n) rows "
            "join queues q on q.id = rows.queue_id",
            {"queues": list(queue_ids), "number": number, "state": state, "days": age_days})

    def settle(self) -> None:
        """Vacuums and analyses, as autovacuum would have by the time it matters."""
        self.place.conn.execute("vacuum (analyze)")
        self.place.conn.execute("checkpoint")

    def reset(self) -> None:
        """Puts back what was claimed: the next sample finds what this one found."""
        self.place.conn.execute("truncate todo_attempts")
        self.place.conn.execute(
            f"update todos set state = 'pending', {_FREE} where state <> 'pending'")
        self.place.conn.execute("vacuum todos, bench_rows, admission_windows")

    def admission_reads(self) -> int:
        """How often the admission tables were read or written so far."""
        time.sleep(0.1)
        return int(str(self._make.value(
            "select coalesce(sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0) + n_tup_ins "
            "+ n_tup_upd + n_tup_del), 0) from pg_stat_user_tables "
            "where relname like 'admission%%'")))

    @contextmanager
    def drained(self, queue_id: int) -> Iterator[None]:
        """Completes what is claimed of a queue every few milliseconds, without a flush."""
        stop = threading.Event()

        def drain() -> None:
            with psycopg.connect(self.place.url, autocommit=True) as conn:
                conn.execute("set synchronous_commit = off")
                while not stop.wait(_DRAIN_EVERY_SECONDS):
                    conn.execute(
                        "update todos set state = 'done', owner = null, "
                        "lease_expires_at = null, completed_at = clock() where id in ("
                        "select id from todos where queue_id = %s and state = 'claimed' "
                        "order by id for update skip locked)", (queue_id,))

        thread = threading.Thread(target=drain)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
