"""Groups of the sign-in provider: who holds a linked one is in, and out with it."""

from __future__ import annotations

import pytest

from app.db import journal
from app.db.database import Database
from app.domain.callers import Human
from app.domain.errors import Conflict, GroupNotHeld, InvalidArgument, NotFound, RoleRequired
from app.reads import teams as lists
from app.transactions import membership, team_groups, team_members
from tests.support.make import Make, Team
from tests.support.race import all_returned, together
from tests.support.rounds import rounds


@pytest.fixture
def ada(make: Make) -> Human:
    """Who owns the team, and holds staff and leads."""
    return holding(make, "staff", "leads")


@pytest.fixture
def blue(make: Make, ada: Human) -> Team:
    """Ada's team."""
    team = make.team("blue")
    make.member(team, ada, "owner")
    return team


def holding(make: Make, *groups: str) -> Human:
    """A human whose last sign-in carried these groups."""
    human = make.human()
    make.run("update humans set oidc_groups = %s where id = %s", list(groups), human.id)
    return human


def sign_in(db: Database, human: Human, *groups: str) -> list[str]:
    """What a sign-in with these groups does; the todos it released."""
    with db.transaction() as conn:
        conn.execute("update humans set oidc_groups = %s where id = %s", (list(groups), human.id))
        lost = team_groups.sync(conn, human.id, groups)
    for each in lost:
        membership.announce(db, each)
    return [todo for each in lost for todo in each.released]


def by_group(make: Make, human: Human) -> dict[object, object]:
    """The human's roles by group, by team slug."""
    return dict(make.rows(
        "select t.slug, m.role from team_members m join teams t on t.id = m.team_id"
        " where m.human_id = %s and m.source = 'oidc_group'", human.id))


@pytest.mark.rule("identity.md, Teams: group_not_held")
def test_only_an_owner_links_and_only_a_group_they_hold(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    admin = holding(make, "staff")
    make.member(blue, admin, "admin")
    for who, group, refusal in (
        (ada, "others", GroupNotHeld),
        (ada, "STAFF", GroupNotHeld),
        (admin, "staff", RoleRequired),
        (holding(make, "staff"), "staff", NotFound),
    ):
        with pytest.raises(refusal):
            team_groups.add(db, who, "blue", group, "member")
    for group, role, field in (("staff", "owner", "role"), (" ", "member", "group")):
        with pytest.raises(InvalidArgument) as refused:
            team_groups.add(db, ada, "blue", group, role)
        assert refused.value.field == field
    make.run("update humans set oidc_groups = null where id = %s", ada.id)
    with pytest.raises(GroupNotHeld):
        team_groups.add(db, ada, "blue", "staff", "member")
    assert make.value("select count(*) from team_group_links") == 0
    assert make.value("select count(*) from team_members") == 2


def test_a_link_lets_its_holders_in_at_once_and_out_again(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    held, both, neither = holding(make, "staff"), holding(make, "staff", "leads"), holding(make)
    kept = holding(make, "staff")
    make.member(blue, kept)
    staff = team_groups.add(db, ada, "blue", "staff", "member")
    leads = team_groups.add(db, ada, "blue", "leads", "admin")
    with pytest.raises(Conflict) as refused:
        team_groups.add(db, ada, "blue", "staff", "admin")
    assert refused.value.field == "group"
    assert lists.list_group_links(db, both, "blue") == [leads, staff]
    assert [by_group(make, each) for each in (held, both, neither)] == [
        {"blue": "member"}, {"blue": "admin"}, {}]
    queue = make.team_queue(blue)
    todos = {who: make.todo(queue=queue, state="claimed", holder=who)
             for who in (held, both, kept, ada)}

    team_groups.remove(db, ada, "blue", str(leads.id))
    assert by_group(make, both) == {"blue": "member"}
    assert team_groups.remove(db, ada, "blue", str(staff.id)) == staff.id

    assert [by_group(make, each) for each in (ada, held, both, kept)] == [{}] * 4
    assert {who: make.row(todo)["state"] for who, todo in todos.items()} == {
        held: "pending", both: "pending", kept: "claimed", ada: "claimed"}
    for who in (held, both):
        with pytest.raises(NotFound):
            lists.get_team(db, who, "blue")
    assert lists.get_team(db, ada, "blue").team.role == "owner"
    for nothing in (str(staff.id), "nonsense"):
        with pytest.raises(NotFound):
            team_groups.remove(db, ada, "blue", nothing)
    said = dict(make.rows("select action, count(*) from operator_audit group by 1"))
    assert said == {"group_linked": 2, "group_unlinked": 2, "group_member_set": 8,
                    "group_member_removed": 4}


def test_a_sign_in_brings_and_takes_what_its_groups_are_linked_to(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    red = make.team("red")
    make.member(red, ada, "owner")
    team_groups.add(db, ada, "blue", "staff", "member")
    team_groups.add(db, ada, "blue", "leads", "admin")
    team_groups.add(db, ada, "red", "leads", "member")
    bob = make.human()

    lines = journal.begin()
    assert sign_in(db, bob, "staff", "unlinked") == []
    assert lines == ["group_member_set"]
    assert by_group(make, bob) == {"blue": "member"}
    sign_in(db, bob, "leads", "staff")
    assert by_group(make, bob) == {"blue": "admin", "red": "member"}
    worker, queues = make.endpoint(bob), [make.team_queue(blue), make.team_queue(red)]
    held = [make.todo(queue=queue, state="claimed", holder=holder)
            for queue in queues for holder in (worker, bob)]
    record = make.value("select count(*) from operator_audit")
    sign_in(db, bob, "leads", "staff")
    assert make.value("select count(*) from operator_audit") == record  # nothing new, nothing said

    assert sorted(sign_in(db, bob)) == sorted(held)

    assert by_group(make, bob) == {}
    assert {make.row(todo)["state"] for todo in held} == {"pending"}
    assert make.value("select count(*) from team_group_links") == 3
    # A person's own doing is never a group's to take.
    make.member(blue, bob, "owner")
    sign_in(db, bob, "staff")
    sign_in(db, bob)
    assert lists.get_team(db, bob, "blue").team.role == "owner"


@pytest.mark.rule("identity.md, Teams: only a sign-in brings back who was removed")
def test_changes_of_other_links_never_bring_back_who_was_removed(
    db: Database, make: Make, blue: Team
) -> None:
    owner = holding(make, "devs", "solo", "leads")
    make.member(blue, owner, "owner")
    dev, both, late = (holding(make, "devs"), holding(make, "devs", "solo"), holding(make, "solo"))
    devs = team_groups.add(db, owner, "blue", "devs", "admin")
    for gone in (dev, both):
        team_members.remove(db, owner, "blue", str(gone.id))

    solo = team_groups.add(db, owner, "blue", "solo", "member")
    leads = team_groups.add(db, owner, "blue", "leads", "member")
    # Who holds the new group is in by it, and only as what it gives.
    assert [by_group(make, each) for each in (dev, both, late, owner)] == [
        {}, {"blue": "member"}, {"blue": "member"}, {"blue": "admin"}]

    team_groups.remove(db, owner, "blue", str(leads.id))
    assert [by_group(make, each) for each in (dev, both, late, owner)] == [
        {}, {"blue": "member"}, {"blue": "member"}, {"blue": "admin"}]
    team_groups.remove(db, owner, "blue", str(solo.id))
    assert [by_group(make, each) for each in (dev, both, late, owner)] == [
        {}, {"blue": "member"}, {}, {"blue": "admin"}]

    sign_in(db, dev, "devs")
    assert by_group(make, dev) == {"blue": "admin"}
    said = make.rows("select action from operator_audit where detail->>'human_id' = %s order by id",
                     str(dev.id))
    assert said == [("group_member_set",), ("member_removed",), ("group_member_set",)]
    team_groups.remove(db, owner, "blue", str(devs.id))
    assert [by_group(make, each) for each in (dev, both, late, owner)] == [{}] * 4


@pytest.mark.race
def test_sign_ins_beside_changes_of_the_links_end_where_the_links_say(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    people = [make.human() for _ in range(8)]
    for _ in range(rounds(5, 50)):
        link = make.value("select id from team_group_links")
        adds = link is None

        def act(n: int, link: object = link) -> object:
            if n == 8 and link is None:
                return team_groups.add(db, ada, "blue", "staff", "member")
            if n == 8:
                return team_groups.remove(db, ada, "blue", str(link))
            return sign_in(db, people[n], "staff")

        all_returned(together(9, act))

        expected = {"blue": "member"} if adds else {}
        assert [by_group(make, each) for each in people] == [expected] * 8
        if adds:
            assert make.run("update humans set oidc_groups = null where id <> %s", ada.id)
            make.run("delete from team_members where source = 'oidc_group' and human_id <> %s",
                     ada.id)
