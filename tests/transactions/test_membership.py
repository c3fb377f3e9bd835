"""Losing a membership: held leases go back with it, and nothing else moves (R47)."""

from __future__ import annotations

import threading

import psycopg
import pytest

from app.db.database import Database
from app.domain.errors import NotFound
from app.transactions import claiming, membership
from app.transactions.claims import Claimed, ClaimRequest
from tests.support.feed import RecordingFeed
from tests.support.make import Make
from tests.support.race import all_returned, together
from tests.support.rounds import rounds

CLOSED = "switchboard_todo_attempts_closed_total"


def claim_next(db: Database, endpoint, queue: str):
    return claiming.claim_next(db, endpoint, queue, ClaimRequest(), gone=lambda: False)


@pytest.mark.rule("R47")
def test_what_the_members_endpoints_held_goes_back_without_an_attempt_spent(
    db: Database, make: Make
) -> None:
    ada, team = make.human(), make.team()
    make.member(team, ada)
    queue = make.team_queue(team)
    endpoint = make.endpoint(ada)
    make.grant(endpoint, queue)
    todo = make.todo(queue=queue, state="claimed", attempt=2, holder=endpoint)

    lost = membership.remove_member(db, team.id, ada.id)

    row = make.row(todo)
    assert (row["state"], row["attempt"], row["attempts_total"]) == ("pending", 2, 2)
    assert row["owner"] is row["lease_expires_at"] is row["claimed_by_endpoint_id"] is None
    last = make.attempts(todo)[-1]
    assert (last["outcome"], last["disposition"]) == ("released", "requeued")
    assert last["ended_at"] is not None
    assert (lost.is_member_still, lost.released) == (False, (todo,))
    assert isinstance(db.feed, RecordingFeed)
    assert db.feed.ids("ready") == [int(queue)]
    assert db.counters.value(CLOSED, queue="inbox", outcome="released") == 1
    with pytest.raises(NotFound):
        claim_next(db, endpoint, queue.name)


@pytest.mark.rule("R47")
def test_what_the_member_took_by_hand_goes_back_too(db: Database, make: Make) -> None:
    ada, team = make.human(), make.team()
    make.member(team, ada)
    worker = make.endpoint(team=team)
    by_hand = [
        make.todo(queue=make.team_queue(team), state="claimed", holder=ada),
        make.todo(worker, state="claimed", holder=ada),
    ]

    lost = membership.remove_member(db, team.id, ada.id)

    assert sorted(lost.released) == sorted(by_hand)
    assert {make.row(todo)["state"] for todo in by_hand} == {"pending"}


def test_what_others_hold_or_stands_elsewhere_stays(db: Database, make: Make) -> None:
    ada, bob, team, other = make.human(), make.human(), make.team(), make.team()
    for member in (ada, bob):
        make.member(team, member)
        make.member(other, member)
    queue, elsewhere = make.team_queue(team), make.team_queue(other)
    own, his, the_teams = make.endpoint(ada), make.endpoint(bob), make.endpoint(team=team)
    kept = [
        make.todo(queue=queue, state="claimed", holder=his),
        make.todo(queue=queue, state="claimed", holder=bob),
        make.todo(queue=queue, state="claimed", holder=the_teams),
        make.todo(queue=elsewhere, state="claimed", holder=own),
        make.todo(queue=elsewhere, state="claimed", holder=ada),
        make.todo(own, state="claimed"),
        make.todo(queue=queue),
        make.todo(queue=queue, state="done", holder=own),
    ]
    before = [make.row(todo) for todo in kept]

    assert membership.remove_member(db, team.id, ada.id).released == ()
    assert [make.row(todo) for todo in kept] == before


def test_another_source_keeps_the_member_and_the_leases(db: Database, make: Make) -> None:
    ada, team = make.human(), make.team()
    make.member(team, ada)
    make.member(team, ada, source="oidc_group")
    todo = make.todo(queue=make.team_queue(team), state="claimed", holder=ada)

    assert membership.remove_member(db, team.id, ada.id).is_member_still
    assert make.row(todo)["state"] == "claimed"

    lost = membership.remove_member(db, team.id, ada.id, source="oidc_group")
    assert lost.released == (todo,)
    assert make.value("select count(*) from team_members") == 0


def test_who_is_no_member_loses_nothing(db: Database, make: Make) -> None:
    ada, team = make.human(), make.team()
    make.member(team, ada)

    with pytest.raises(NotFound):
        membership.remove_member(db, team.id, ada.id, source="oidc_group")
    with pytest.raises(NotFound):
        membership.remove_member(db, team.id, make.human().id)
    assert make.value("select count(*) from team_members") == 1


def test_a_todo_completed_while_its_lock_was_waited_for_stays_done(
    db: Database, db_url: str, make: Make
) -> None:
    ada, team = make.human(), make.team()
    make.member(team, ada)
    todo = make.todo(queue=make.team_queue(team), state="claimed", holder=ada)
    with psycopg.connect(db_url) as conn:
        conn.execute("update todos set state = 'done', lease_expires_at = null where id = %s",
                     (todo,))
        leaving = threading.Thread(target=membership.remove_member, args=(db, team.id, ada.id))
        leaving.start()
        make.wait_until_blocked()
        conn.commit()
    leaving.join(10)

    assert make.row(todo)["state"] == "done"
    assert make.value("select count(*) from team_members") == 0


@pytest.mark.race
@pytest.mark.rule("admission-readings 5: no deadlock beside lost membership")
def test_leaving_beside_claimers_deadlocks_nobody(db: Database, make: Make) -> None:
    for _ in range(rounds(5, 50)):
        team = make.team()
        queue = make.team_queue(team)
        members = [make.human() for _ in range(4)]
        workers = [make.endpoint(member) for member in members]
        for member, worker in zip(members, workers, strict=True):
            make.member(team, member)
            make.grant(worker, queue)
        for _ in range(40):
            make.todo(queue=queue)

        def work(number: int, workers=workers, members=members, team=team, queue=queue) -> int:
            if number >= 8:
                membership.remove_member(db, team.id, members[number - 8].id)
                return 0
            claims = 0
            try:
                while isinstance(claim_next(db, workers[number % 4], queue.name), Claimed):
                    claims += 1
            except NotFound:
                pass
            return claims

        all_returned(together(12, work))

        assert make.value(
            "select count(*) from todos t where t.state = 'claimed' and not exists"
            " (select 1 from todo_attempts a where a.todo_id = t.id and a.ended_at is null)") == 0
        assert make.value(
            "select count(*) from todos t where t.state <> 'claimed' and exists"
            " (select 1 from todo_attempts a where a.todo_id = t.id and a.ended_at is null)") == 0
