"""Roles of members and their removal: the ceiling, every source at once, and what goes back."""

from __future__ import annotations

import psycopg
import pytest

from app.db.database import Database
from app.domain.callers import Human
from app.domain.errors import (
    Conflict,
    InvalidArgument,
    LastOwner,
    NotFound,
    RoleCeiling,
    RoleRequired,
)
from app.reads import teams as lists
from app.transactions import claiming, team_members
from app.transactions.claims import ClaimRequest, NothingClaimed
from tests.support.feed import RecordingFeed
from tests.support.make import Make, Team
from tests.support.race import together


@pytest.fixture
def people(make: Make) -> dict[str, Human]:
    """One human of every role, a second owner and a second admin."""
    return {name: make.human(name) for name in ("owner", "owner2", "admin", "admin2", "member")}


@pytest.fixture
def blue(make: Make, people: dict[str, Human]) -> Team:
    """Their team."""
    team = make.team("blue")
    for name, human in people.items():
        make.member(team, human, name.rstrip("2"))
    return team


@pytest.mark.rule("identity.md, Teams: role_required, role_ceiling")
def test_nobody_gives_takes_or_changes_a_role_above_their_own(
    db: Database, make: Make, people: dict[str, Human], blue: Team
) -> None:
    def code(who: str, whom: str, role: str | None) -> str:
        args = (db, people[who], "blue", str(people[whom].id))
        try:
            if role is None:
                team_members.remove(*args)
            else:
                team_members.set_role(*args, role)
        except (RoleRequired, RoleCeiling) as refused:
            return refused.code
        make.run("delete from team_members where human_id = %s", people[whom].id)
        make.member(blue, people[whom], whom.rstrip("2"))
        return "done"

    found = {(who, whom, role): code(who, whom, role)
             for who in ("member", "admin", "owner")
             for whom in ("member", "admin2", "owner2")
             for role in ("member", "admin", "owner", None)}

    for (who, whom, role), got in found.items():
        touches_owner = "owner" in (whom.rstrip("2"), role)
        expected = ("role_required" if who == "member"
                    else "role_ceiling" if who == "admin" and touches_owner else "done")
        assert got == expected, (who, whom, role)


def test_a_role_counts_from_the_next_call_and_is_written_down_once(
    db: Database, make: Make, people: dict[str, Human], blue: Team
) -> None:
    owner, admin = people["owner"], people["admin"]
    changed = team_members.set_role(db, owner, "blue", str(admin.id), "member")
    assert (changed.role, changed.source) == ("member", "manual")
    with pytest.raises(RoleRequired):
        lists.list_invites(db, admin, "blue")

    again = team_members.set_role(db, owner, str(blue.id), str(admin.id), "member")

    assert again == changed
    assert make.rows("select actor_human_id, action, detail from operator_audit") == [
        (owner.id, "role_changed", {"human_id": str(admin.id), "role": ["admin", "member"]})]
    with pytest.raises(InvalidArgument):
        team_members.set_role(db, owner, "blue", str(admin.id), "king")
    for nobody in (str(make.human().id), "nonsense"):
        with pytest.raises(NotFound):
            team_members.set_role(db, owner, "blue", nobody, "admin")
        with pytest.raises(NotFound):
            team_members.remove(db, owner, "blue", nobody)
    with pytest.raises(NotFound):
        team_members.remove(db, make.human(), "blue", str(admin.id))


def test_the_last_owner_neither_steps_down_nor_is_removed(
    db: Database, people: dict[str, Human], blue: Team
) -> None:
    me = people["owner"]
    team_members.remove(db, me, "blue", str(people["owner2"].id))

    for act in (
        lambda: team_members.set_role(db, me, "blue", str(me.id), "admin"),
        lambda: team_members.remove(db, me, "blue", str(me.id)),
    ):
        with pytest.raises(LastOwner):
            act()
    assert lists.get_team(db, me, "blue").team.role == "owner"


def test_the_stronger_of_two_sources_counts_and_a_group_is_not_undercut(
    db: Database, make: Make, people: dict[str, Human], blue: Team
) -> None:
    owner, member = people["owner"], people["member"]
    make.member(blue, member, "admin", source="oidc_group")
    rows = [row for row in lists.list_members(db, owner, "blue") if row.human_id == member.id]
    assert [(row.role, row.source) for row in rows] == [("admin", "oidc_group")]

    with pytest.raises(Conflict):
        team_members.set_role(db, owner, "blue", str(member.id), "member")
    raised = team_members.set_role(db, owner, "blue", str(member.id), "owner")

    assert (raised.role, raised.source) == ("owner", "manual")
    assert lists.get_team(db, owner, "blue").members == 5


@pytest.mark.rule("issue F: a removed member's leases go back in the same transaction, one bell")
def test_who_is_removed_loses_every_source_and_lease_at_once(
    db: Database, make: Make, people: dict[str, Human], blue: Team
) -> None:
    member, queue = people["member"], make.team_queue(blue)
    make.member(blue, member, source="oidc_group")
    worker = make.endpoint(member)
    make.grant(worker, queue)
    todos = [make.todo(queue=queue, state="claimed", holder=holder, rings=True)
             for holder in (worker, worker, member)]

    removed = team_members.remove(db, people["admin"], "blue", str(member.id))

    assert removed == member.id
    assert {make.row(todo)["state"] for todo in todos} == {"pending"}
    assert {make.attempts(todo)[-1]["outcome"] for todo in todos} == {"released"}
    assert make.value("select count(*) from team_members where human_id = %s", member.id) == 0
    assert make.value("select detail->>'released' from operator_audit") == "3"
    assert isinstance(db.feed, RecordingFeed)
    assert set(db.feed.ids("ready")) == {int(queue)}
    rung = make.rows("select todo_id, endpoint_id from doorbells order by todo_id")
    assert rung == [(str(todo), None) for todo in sorted(todos)]  # each once, for any stream
    assert int(queue) in db.feed.ids("changed")  # open boards look again
    with pytest.raises(NotFound):
        claiming.claim_next(db, worker, queue.name, ClaimRequest(), gone=lambda: False)
    with pytest.raises(NotFound):
        team_members.remove(db, people["admin"], "blue", str(member.id))


@pytest.mark.race
@pytest.mark.parametrize("has_policy", [False, True])
def test_a_claim_under_way_while_its_reach_ends_leaves_no_lease(
    db: Database, db_url: str, make: Make, blue: Team, people: dict[str, Human], *, has_policy: bool
) -> None:
    member, queue = people["member"], make.team_queue(blue)
    worker = make.endpoint(member)
    if has_policy:
        make.policy(queue, max_in_flight=5)
    todo = make.todo(queue=queue)
    membership = "delete from team_members where human_id = %s"
    grant = "delete from endpoint_team_grants where endpoint_id = %s"

    def claim_next() -> object:
        return claiming.claim_next(db, worker, queue.name, ClaimRequest(), gone=lambda: False)

    def claim() -> object:
        return claiming.claim(db, worker, todo, ClaimRequest(), gone=lambda: False)

    def by_hand() -> object:
        return claiming.board_claim(db, member, todo, gone=lambda: False)

    for act, ends, key in (
        (claim_next, membership, member.id), (claim, membership, member.id),
        (by_hand, membership, member.id), (claim_next, grant, worker.id), (claim, grant, worker.id),
    ):  # fmt: skip
        make.run("delete from endpoint_team_grants")
        make.run(membership, member.id)
        make.member(blue, member)
        make.grant(worker, queue)
        with psycopg.connect(db_url) as conn:
            conn.execute(ends, (key,))

            def end(number: int, act=act, conn=conn) -> object:
                if number == 0:
                    return act()
                make.wait_until_blocked()
                conn.commit()
                return None

            answer, _ = together(2, end)

        assert isinstance(answer, NothingClaimed if act is claim_next else NotFound), answer
        assert (make.row(todo)["state"], make.attempts(todo)) == ("pending", [])
        with pytest.raises(NotFound):
            act()
