"""A claim whose reach ends while it waits is given back after its commit (R47)."""

from __future__ import annotations

import psycopg
import pytest

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.errors import NotFound
from app.transactions import claiming, ending
from app.transactions.claims import Claimed, ClaimRequest
from tests.support.feed import RecordingFeed
from tests.support.make import Make, QueueId, Team
from tests.support.race import all_returned, together

CLOSED = "switchboard_todo_attempts_closed_total"
ENDS = {
    "membership": "delete from team_members",
    "grant": "delete from endpoint_team_grants",
    "endpoint": "update endpoints set state = 'revoked'",
    "lifetime": "update endpoints set expires_at = clock()",
}


@pytest.fixture
def ada(make: Make) -> Human:
    """A member."""
    return make.human("Ada")


@pytest.fixture
def team(make: Make, ada: Human) -> Team:
    """Her team."""
    team = make.team("crew")
    make.member(team, ada)
    return team


@pytest.fixture
def queue(make: Make, team: Team) -> QueueId:
    """A queue of the team."""
    return make.team_queue(team)


@pytest.fixture
def lane(make: Make, ada: Human, queue: QueueId) -> Endpoint:
    """An endpoint of hers that drains it."""
    lane = make.endpoint(ada)
    make.grant(lane, queue)
    return lane


@pytest.mark.rule("R47")
@pytest.mark.parametrize("budget", [None, 5])
@pytest.mark.parametrize(("who", "ends"), [
    *(("endpoint", each) for each in ENDS), ("human", "membership"),
])
def test_a_claim_whose_reach_ends_while_it_waits_is_given_back_and_not_found(
    db: Database, db_url: str, make: Make, ada: Human, queue: QueueId, lane: Endpoint,
    who: str, ends: str, budget: int | None,
) -> None:
    if budget:
        make.policy(queue, max_in_flight=budget, max_claims_per_window=budget)
    todo = make.todo(queue=queue)
    with psycopg.connect(db_url) as holder:
        holder.execute("select 1 from todos where id = %s for update", (str(todo),))

        def act(number: int) -> Claimed | str:
            if number == 1:
                make.wait_until_blocked()
                make.run(ENDS[ends])
                holder.rollback()
                return "ended"
            try:
                if who == "human":
                    return claiming.board_claim(db, ada, todo, gone=lambda: False)
                return claiming.claim(db, lane, todo, ClaimRequest(), gone=lambda: False)
            except NotFound:
                return "not found"

        claimed, _ = all_returned(together(2, act))

    assert claimed == "not found"
    row = make.row(todo)
    assert (row["state"], row["owner"], row["claimed_by_endpoint_id"]) == ("pending", None, None)
    assert [each["outcome"] for each in make.attempts(todo)] == ["released"]
    assert make.rows("select used from admission_windows") == [(1,)] * bool(budget)  # no refund
    assert db.counters.value(CLOSED, queue="inbox", outcome="released") == 1
    assert isinstance(db.feed, RecordingFeed)
    assert int(queue) in db.feed.ids("ready")


def test_only_what_is_out_of_reach_is_given_back(
    db: Database, make: Make, ada: Human, team: Team, queue: QueueId, lane: Endpoint
) -> None:
    elsewhere, bea = make.team_queue(make.team()), make.human()
    make.member(team, bea)
    kept = [make.todo(queue=queue, state="claimed", holder=each) for each in (lane, ada, bea)]
    kept += [make.todo(lane, state="claimed"), make.todo(queue=queue, state="done", holder=lane)]
    lost = [make.todo(queue=elsewhere, state="claimed", holder=each) for each in (lane, ada)]

    ending.give_back(db, (int(queue),), endpoint_ids=(lane.id,), human_ids=(ada.id,))
    assert {make.row(todo)["state"] for todo in lost} == {"claimed"}

    ending.give_back(db, None, endpoint_ids=(lane.id,), human_ids=(ada.id,))
    assert {make.row(todo)["state"] for todo in lost} == {"pending"}
    assert [make.row(todo)["state"] for todo in kept] == ["claimed"] * 4 + ["done"]
