"""Teams made, renamed, left, handed over and deleted: who may, and what stays exact at once."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import psycopg
import pytest

from app.db.database import Database
from app.domain.callers import Human
from app.domain.errors import (
    Conflict,
    DomainError,
    InvalidArgument,
    LastOwner,
    NotFound,
    RoleRequired,
    TeamCeilingReached,
)
from app.domain.vending import VendRequest
from app.reads import teams as lists
from app.transactions import endpoints, team_members, teams
from app.transactions.teams import TeamChange
from tests.support.clock import Clock
from tests.support.make import Make, Team
from tests.support.race import together
from tests.support.rounds import rounds

DAYS = 24 * 3600.0


@pytest.fixture
def ada(make: Make) -> Human:
    """Who owns the team of most tests."""
    return make.human("Ada")


@pytest.fixture
def blue(make: Make, ada: Human) -> Team:
    """Ada's team."""
    team = make.team("blue")
    make.member(team, ada, "owner")
    return team


def outcome(answer: object) -> str:
    """The code of a refusal, else `done`; any other accident is raised."""
    if isinstance(answer, BaseException) and not isinstance(answer, DomainError):
        raise answer
    return answer.code if isinstance(answer, DomainError) else "done"


def actions(make: Make) -> list[object]:
    """What the record of all teams says, oldest first."""
    return [row[0] for row in make.rows("select action from operator_audit order by id")]


def test_who_makes_a_team_owns_it(db: Database, make: Make, ada: Human) -> None:
    team = teams.create(db, ada, "blue", " The blue ones ")
    plain = teams.create(db, ada, "red", None)

    assert (team.slug, team.display_name, team.role) == ("blue", "The blue ones", "owner")
    assert plain.display_name == "red"
    assert lists.list_teams(db, ada) == [team, plain]
    assert lists.get_team(db, ada, "blue") == lists.TeamDetail(
        team=team, members=1, queues=0, endpoints=0)
    assert lists.get_team(db, ada, str(team.id)).team == team
    assert actions(make) == ["team_created", "team_created"]
    for field, slug, name in (("slug", "Blue", None), ("display_name", "fine", " ")):
        with pytest.raises(InvalidArgument) as refused:
            teams.create(db, ada, slug, name)
        assert refused.value.field == field


def test_outside_a_team_it_is_not_there_and_inside_the_role_decides(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    member, admin, other = make.human(), make.human(), make.human()
    make.member(blue, member)
    make.member(blue, admin, "admin")
    acts = [
        lambda who: teams.edit(db, who, "blue", TeamChange(slug="green")),
        lambda who: teams.edit(db, who, "blue", TeamChange(display_name="x")),
        lambda who: teams.delete(db, who, "blue"),
        lambda who: teams.transfer(db, who, "blue", str(member.id)),
    ]
    for act in acts:
        for who, refusal in ((member, RoleRequired), (admin, RoleRequired), (other, NotFound)):
            with pytest.raises(refusal):
                act(who)
    webhooks = TeamChange(members_create_webhooks=True)
    with pytest.raises(RoleRequired):
        teams.edit(db, member, "blue", webhooks)
    assert actions(make) == []

    assert teams.edit(db, admin, "blue", webhooks).members_create_webhooks
    assert teams.edit(db, ada, "blue", webhooks).members_create_webhooks
    assert actions(make) == ["team_edited"]


def test_a_suspended_team_is_listed_and_answers_nothing_else(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    make.run("update teams set suspended_at = clock() where id = %s", blue.id)

    assert [(team.slug, team.is_suspended) for team in lists.list_teams(db, ada)] == [
        ("blue", True)]
    for act in (
        lambda: lists.get_team(db, ada, "blue"),
        lambda: lists.list_members(db, ada, "blue"),
        lambda: teams.leave(db, ada, "blue"),
        lambda: teams.delete(db, ada, "blue"),
    ):
        with pytest.raises(NotFound):
            act()


def test_a_slug_given_up_rests_for_thirty_days(
    db: Database, make: Make, clock: Clock, ada: Human, blue: Team
) -> None:
    clock.set("2026-10-01T00:00:00Z")
    teams.edit(db, ada, "blue", TeamChange(slug="green"))
    with pytest.raises(NotFound):
        lists.get_team(db, ada, "blue")
    teams.create(db, ada, "red", None)
    assert teams.delete(db, ada, "red") == "red"

    def free(slug: str) -> bool:
        try:
            teams.create(db, ada, slug, None)
        except Conflict as taken:
            return taken.field != "slug"
        return True

    assert not free("green")
    clock.advance(30 * DAYS - 1)
    assert [free("blue"), free("red")] == [False, False]
    with pytest.raises(Conflict):
        teams.edit(db, ada, "green", TeamChange(slug="blue"))
    clock.advance(1)
    assert [free("blue"), free("red")] == [True, True]
    # Given up again it rests anew.
    teams.delete(db, ada, "blue")
    assert not free("blue")
    assert make.value("select free_at - retired_at from retired_team_slugs where slug = 'blue'"
                      ) == timedelta(days=30)


def test_the_last_owner_stays_and_everybody_else_may_leave(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    admin, suspended = make.human(), make.human()
    make.member(blue, admin, "admin")
    make.member(blue, admin, source="oidc_group")
    make.member(blue, suspended, "owner")
    make.run("update humans set suspended_at = clock() where id = %s", suspended.id)
    todo = make.todo(queue=make.team_queue(blue), state="claimed", holder=admin)

    with pytest.raises(LastOwner):
        teams.leave(db, ada, "blue")
    assert teams.leave(db, admin, "blue") == "blue"

    assert make.row(todo)["state"] == "pending"
    with pytest.raises(NotFound):
        teams.leave(db, admin, "blue")
    make.run("update humans set suspended_at = null where id = %s", suspended.id)
    assert teams.leave(db, ada, "blue") == "blue"
    assert actions(make) == ["member_left", "member_left"]


def test_a_team_is_handed_over_at_one_stroke(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    bob, other = make.human("Bob"), make.human()
    make.member(blue, bob, source="oidc_group")
    for nobody in (str(other.id), "nonsense"):
        with pytest.raises(NotFound):
            teams.transfer(db, ada, "blue", nobody)
    with pytest.raises(InvalidArgument):
        teams.transfer(db, ada, "blue", str(ada.id))
    make.run("update humans set suspended_at = clock() where id = %s", bob.id)
    with pytest.raises(LastOwner):
        teams.transfer(db, ada, "blue", str(bob.id))
    make.run("update humans set suspended_at = null where id = %s", bob.id)

    assert teams.transfer(db, ada, "blue", str(bob.id)).role == "admin"

    rows = lists.list_members(db, bob, "blue")
    assert [(row.display_name, row.role, row.source) for row in rows] == [
        ("Bob", "owner", "manual"), ("Ada", "admin", "manual")]
    with pytest.raises(RoleRequired):
        teams.delete(db, ada, "blue")
    assert actions(make) == ["team_transferred"]


def test_a_team_is_deleted_only_without_active_endpoints_and_live_todos(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    queue = make.team_queue(blue)
    endpoint, own = make.endpoint(team=blue), make.endpoint(ada)
    make.grant(own, queue)
    with pytest.raises(Conflict):
        teams.delete(db, ada, "blue")
    make.run("update endpoints set state = 'revoked' where id = %s", endpoint.id)
    for state in ("pending", "claimed", "failed"):
        todo = make.todo(queue=queue, state=state,
                         next_retry_at=make.now() if state == "failed" else None)
        with pytest.raises(Conflict):
            teams.delete(db, ada, "blue")
        make.run("update todos set state = 'done', lease_expires_at = null, next_retry_at = null"
                 " where id = %s", str(todo))

    assert teams.delete(db, ada, "blue") == "blue"

    tables = ("teams", "team_members", "endpoint_team_grants", "todos")
    assert [make.value(f"select count(*) from {table}") for table in tables] == [0, 0, 0, 0]
    assert make.value("select count(*) from endpoints") == 1
    assert lists.list_teams(db, ada) == []
    assert actions(make) == ["team_deleted"]


def test_a_todo_on_its_way_keeps_the_team_and_one_that_is_late_finds_no_queue(
    db: Database, db_url: str, make: Make, ada: Human, blue: Team
) -> None:
    queue = make.team_queue(blue)
    insert = ("insert into todos (id, queue_id, team_id, title)"
              " values ('td_' || repeat('0', 32), %s, %s, 't')")
    with psycopg.connect(db_url) as conn:
        conn.execute(insert, (int(queue), blue.id))

        def delete(number: int) -> object:
            if number == 0:
                return teams.delete(db, ada, "blue")
            make.wait_until_blocked()
            conn.commit()
            return None

        assert [outcome(answer) for answer in together(2, delete)] == ["conflict", "done"]
    make.run("delete from todos")
    with psycopg.connect(db_url) as conn:
        conn.execute("select id from teams where id = %s for key share", (blue.id,))

        def race(number: int) -> object:
            if number == 0:
                return teams.delete(db, ada, "blue")
            make.wait_until_blocked()  # the queues are locked by now, the team is not
            conn.commit()
            with psycopg.connect(db_url) as late:
                late.execute(insert, (int(queue), blue.id))
            return None

        deleted, late = together(2, race)

    assert outcome(deleted) == "done"
    assert isinstance(late, psycopg.errors.ForeignKeyViolation)


@pytest.mark.race
@pytest.mark.rule("operator-api.md, Teams: taken or retired slug 409, also at the same moment")
def test_of_many_creates_and_a_rename_at_once_one_gets_the_slug(
    db: Database, make: Make, ada: Human
) -> None:
    people = [make.human() for _ in range(12)]
    for turn in range(rounds(5, 50)):
        slug, old = f"wanted-{turn}", f"old-{turn}"
        team = make.team(old)
        make.member(team, ada, "owner")

        def act(number: int, slug: str = slug, old: str = old) -> object:
            if number < 4:  # these want what the rename gives up
                return teams.create(db, people[number], old, None)
            if number < 12:
                return teams.create(db, people[number], slug, None)
            return teams.edit(db, ada, old, TeamChange(slug=slug))

        answers = [outcome(answer) for answer in together(13, act)]

        assert answers[:4] == ["conflict"] * 4
        assert sorted(answers[4:]) == ["conflict"] * 8 + ["done"]
        assert make.value("select count(*) from teams where slug = %s", slug) == 1
        make.run("delete from teams")


@pytest.mark.race
@pytest.mark.rule("identity.md, Teams: SWITCHBOARD_MAX_TEAMS_PER_HUMAN")
def test_one_human_gets_no_more_teams_than_allowed_however_many_are_asked_for_at_once(
    db: Database, make: Make, ada: Human
) -> None:
    few = dataclasses.replace(db, most_teams_per_human=3)
    grouped = make.team()
    make.member(grouped, ada, source="oidc_group")  # not the human's doing, so it takes no place
    for turn in range(rounds(5, 50)):
        answers = together(8, lambda n, turn=turn: teams.create(few, ada, f"t-{turn}-{n}", None))

        assert sorted(map(outcome, answers)) == ["done"] * 3 + ["team_ceiling_reached"] * 5
        assert make.value("select count(*) from teams") == 4
        make.run("delete from teams where id <> %s", grouped.id)
    with pytest.raises(TeamCeilingReached):
        teams.create(dataclasses.replace(db, most_teams_per_human=0), ada, "none", None)


@pytest.mark.race
@pytest.mark.rule("issue F: the last owner cannot leave")
def test_of_two_owners_who_leave_step_down_or_are_removed_at_once_one_stays(
    db: Database, make: Make
) -> None:
    for turn in range(rounds(5, 50)):
        team, owners = make.team(), [make.human(), make.human()]
        for owner in owners:
            make.member(team, owner, "owner")

        def go(n: int, turn: int = turn, slug: str = team.slug, owners=owners) -> object:
            me, other = owners[n], owners[1 - n]
            if turn % 3 == 0:
                return teams.leave(db, me, slug)
            if turn % 3 == 1:
                return team_members.set_role(db, me, slug, str(me.id), "member")
            return team_members.remove(db, me, slug, str(other.id))

        answers = sorted(outcome(answer) for answer in together(2, go))

        # Who was removed meanwhile is outside by the time of their own turn.
        assert answers == ["done", "not_found" if turn % 3 == 2 else "last_owner"]
        assert make.value("select count(*) from team_members where team_id = %s"
                          " and role = 'owner'", team.id) == 1


@pytest.mark.race
def test_a_team_is_never_deleted_under_an_endpoint_that_is_being_vended(
    db: Database, make: Make, ada: Human
) -> None:
    for turn in range(rounds(5, 50)):
        team = make.team(f"team-{turn}-x")
        make.member(team, ada, "owner")
        request = VendRequest(name="m", team=team.slug)

        def act(n: int, request: VendRequest = request, slug: str = team.slug) -> object:
            return teams.delete(db, ada, slug) if n else endpoints.vend(db, ada, request)

        vended, deleted = (outcome(answer) for answer in together(2, act))

        assert (vended, deleted) in {("done", "conflict"), ("not_found", "done")}
