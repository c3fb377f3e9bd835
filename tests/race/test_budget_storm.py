"""A storm of every operation on two servers: no deadlock, no unplanned answer, every unit kept."""

from __future__ import annotations

import pytest

from app.transactions import pruning
from tests.race.storm import BUDGET, CAP, Storm
from tests.support.rounds import rounds
from tests.support.servers import Fleet
from tests.support.verify import Verify

pytestmark = [pytest.mark.race, pytest.mark.timeout(900)]

PLANNED = {200, 201, 401, 404, 409, 429, 503}
WANTED = [
    "claim_next", "replay", "claim", "board claim", "complete", "fail", "release", "heartbeat",
    "retry", "discard", "edit", "revoke", "prune", "clock", "list",
]


@pytest.mark.req("REQ-3")
@pytest.mark.req("REQ-4")
@pytest.mark.rule("I5, B9, R62: a mixed storm ends with charges equal to marks, without 40P01")
def test_a_mixed_storm_breaks_no_invariant(servers: Fleet) -> None:
    verify = Verify(servers.make)
    storm = Storm(servers, seed=20261130)
    caps = dict.fromkeys(storm.caps, CAP)

    storm.run(rounds(60, 600), meanwhile=lambda: verify.all_well(caps))

    assert storm.faults == []
    unplanned = {what: n for what, n in storm.answers.items() if what[1] not in PLANNED}
    assert unplanned == {}, [server.words()[-3000:] for server in servers]
    succeeded = {what for what, status in storm.answers if status in (200, 201)}
    assert succeeded >= set(WANTED), storm.answers
    verify.all_well(caps)
    for budget in storm.budgets:
        most = servers.make.value("select max(used) from admission_windows where policy_id = %s",
                                  budget)
        assert most <= BUDGET
    assert all(verify.used(budget) > 0 for budget in storm.budgets)
    assert servers.make.value("select count(*) from todo_attempts where charged_policy_id"
                              " is not null") > 100
    # Retention of charged rows, too: what it deletes is not called a difference.
    pruning.prune(servers.db, pruning.Retention(todos_per_owner=20, events_per_owner=20))
    verify.all_well(caps)
