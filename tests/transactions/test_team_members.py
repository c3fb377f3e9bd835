"""Roles of members and their removal: the ceiling, every source at once, and what goes back."""

from __future__ import annotations

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
from app.transactions.claims import ClaimRequest
from tests.support.feed import RecordingFeed
from tests.support.make import Make, Team


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
