"""What must hold after every race over budgets, asked of the database in plain SQL.

Written for the tests alone and apart from `switchboard queue budget verify`, so that a fault of the
product's own verification cannot hide one of its claims.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from tests.support.make import Make
from tests.support.pg import HOME

# One statement each, so that each looks at one moment even while claims go on. Of windows whose
# attempts retention has deleted only this is known: no attempt was marked without its unit.
_CHARGES = """
select p.policy_id, p.window_start, coalesce(w.used, 0) as used, p.marked
  from (select policy_id, window_start, sum(marked)::int as marked
          from (select charged_policy_id as policy_id, charged_window_start as window_start,
                       1 as marked
                  from todo_attempts where charged_policy_id is not null
                 union all
                select policy_id, window_start, 0 from admission_windows) each
         group by 1, 2) p
  left join admission_windows w using (policy_id, window_start)
 where p.marked > coalesce(w.used, 0)
    or p.marked < w.used
       and p.window_start > coalesce((select value from settings
                                       where key = 'attempts_pruned_through'),
                                     '-infinity')::timestamptz
"""
_STRANDED = """
select coalesce(t.id, a.todo_id), t.state, a.seq
  from todos t
  full join (select todo_id, seq from todo_attempts where ended_at is null) a on a.todo_id = t.id
 where (coalesce(t.state, '') = 'claimed') is distinct from (a.seq is not null)
"""
_ATTEMPTS = """
select t.id, t.attempts_total, t.attempts_pruned, count(a.seq)
  from todos t left join todo_attempts a on a.todo_id = t.id
 group by t.id
having t.attempts_total <> t.attempts_pruned + count(a.seq)
"""
_FLAGS = """
select q.id, q.has_policy
  from queues q left join admission_policies p on p.queue_id = q.id and p.deleted_at is null
 where q.has_policy <> (p.id is not null)
"""
_IN_FLIGHT = """
select count(*)
  from todos t join admission_policies p on p.queue_id = t.queue_id
 where p.id = %s and t.state = 'claimed'
"""
_USED = "select coalesce(sum(used), 0)::int from admission_windows where policy_id = %s"
_INVARIANTS = {
    _CHARGES: "units used are not the attempts marked as charged",
    _STRANDED: "claimed todos are not the open attempts",
    _ATTEMPTS: "attempts are missing or too many",
    _FLAGS: "has_policy is not whether a live policy exists",
}


class Verify:
    """The invariants of one database, and what its Postgres has logged since this was made."""

    def __init__(self, make: Make) -> None:
        """Watches the fast cluster's log from now on."""
        self._make = make
        self._log = Path(os.environ[HOME]) / "postgres.log"
        self._since = self._log.stat().st_size

    def all_well(self, caps: Mapping[UUID, int] | None = None) -> None:
        """Fails unless every invariant holds; `caps` are caps (by policy) that stood all along."""
        for query, what in _INVARIANTS.items():
            found = self._make.rows(query)
            assert found == [], f"{what}: {found[:5]}"
        for policy, cap in (caps or {}).items():
            assert self.in_flight(policy) <= cap
        assert self.deadlocks() == 0

    def in_flight(self, policy: UUID) -> int:
        """How many todos of the policy's queue are claimed now."""
        return int(str(self._make.value(_IN_FLIGHT, policy)))

    def used(self, policy: UUID) -> int:
        """The units of all the policy's windows."""
        return int(str(self._make.value(_USED, policy)))

    def deadlocks(self) -> int:
        """How many deadlocks (40P01) Postgres has had to break since this was made."""
        with self._log.open("rb") as log:
            log.seek(self._since)
            return log.read().count(b"deadlock detected")


def away_from_boundaries(at: datetime) -> dict[str, str]:
    """A day window in UTC that neither begins nor ends within 11 hours of `at`."""
    return {"period": "day", "tz": "UTC", "start": f"{at + timedelta(hours=12):%H}:00"}
