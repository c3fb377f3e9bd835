"""A product that runs as a role of its own, so that it can lose privileges, and what it answers."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg.conninfo import make_conninfo

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.errors import Deferred, OutcomeUnknown, Unavailable
from app.transactions import claiming
from app.transactions.claims import Claimed, ClaimRequest
from tests.support.make import Make
from tests.support.pg import Fresh, opened
from tests.support.verify import Verify, away_from_boundaries
from tests.support.wait import wait_for

VERBS = ("claim_next", "claim", "board_claim")
_roles = itertools.count(1)

# Where in a claim an error strikes, as the trigger that raises it.
POINTS = {
    "the todo's update": "trigger {} before update on todos for each row",
    "the attempt's insert": "trigger {} before insert on todo_attempts for each row",
    "the window's insert": "trigger {} before insert on admission_windows for each row",
    "the window's update": "trigger {} before update on admission_windows for each row",
    "COMMIT": "constraint trigger {} after insert on todo_attempts deferrable initially deferred"
              " for each row",
}


@dataclass
class Ground:
    """A product without superpowers on a database of its own, and one queue of each kind."""

    db: Database
    make: Make
    verify: Verify
    human: Human
    endpoint: Endpoint
    role: str
    url: str

    def ask(self, verb: str, todo: str | None = None) -> str:
        """One claim on the budgeted queue, and what it came to in a word."""
        todo = todo or str(self.make.todo(self.endpoint, "budgeted"))
        call: Callable[[], object] = {
            "claim_next": lambda: claiming.claim_next(
                self.db, self.endpoint, "budgeted", ClaimRequest(), gone=lambda: False),
            "claim": lambda: claiming.claim(
                self.db, self.endpoint, todo, ClaimRequest(), gone=lambda: False),
            "board_claim": lambda: claiming.board_claim(
                self.db, self.human, todo, gone=lambda: False),
        }[verb]
        try:
            answer = call()
        except Deferred as refused:
            return str(refused.extras["reason"])
        except Unavailable:
            return "unavailable"
        except OutcomeUnknown:
            return "unknown"
        if isinstance(answer, Claimed):
            return "claimed"
        return ", ".join(str(each.reason) for each in answer.deferred) or "bare empty"

    def free_goes_on(self) -> None:
        """The queue without a policy is claimed from, whatever is wrong with the others."""
        self.make.todo(self.endpoint, "free")
        claimed = claiming.claim_next(self.db, self.endpoint, "free", ClaimRequest(),
                                      gone=lambda: False)
        assert isinstance(claimed, Claimed)

    def is_clean(self, *, claims: int) -> None:
        """So many were claimed and charged; nothing is locked, open or on loan."""
        assert self.make.value(
            "select count(*) from todo_attempts where charged_policy_id is not null") == claims
        assert self.make.value("select count(*) from todos t join queues q on q.id = t.queue_id"
                               " where t.state = 'claimed' and q.name = 'budgeted'") == claims
        self.verify.all_well()
        assert self.db.memory.gates._lines == {}
        wait_for(lambda: self.make.value(
            "select count(*) from pg_stat_activity where usename = %s and state <> 'idle'",
            self.role) == 0)
        wait_for(lambda: self.make.value(
            "select count(*) from pg_locks l join pg_stat_activity a using (pid)"
            " where a.usename = %s", self.role) == 0)
        wait_for(lambda: (stats := self.db.pool.get_stats())["pool_available"]
                 == stats["pool_size"] > 0)


@contextmanager
def grounded(fresh_database: Fresh) -> Iterator[Ground]:
    """A role that owns nothing, and an endpoint with a budgeted and a free queue."""
    make = Make(fresh_database.url)
    role = f"product_{next(_roles)}_{os.getpid()}"
    make.run(f"create role {role} login")
    make.run(f"grant all on all tables in schema public to {role}")
    make.run(f"grant all on all sequences in schema public to {role}")
    human = make.human()
    endpoint = make.endpoint(human, queues=("budgeted", "free"))
    make.policy(make.queue_id(endpoint, "budgeted"), max_in_flight=500, max_claims_per_window=500,
                **away_from_boundaries(make.now()))
    with opened(make_conninfo(fresh_database.url, user=role), size=6) as db:
        yield Ground(db, make, Verify(make), human, endpoint, role, fresh_database.url)
    make.run(f"drop owned by {role}")
    make.run(f"drop role {role}")
    make.close()
