"""Invites: a link that is worth one membership, once, and no more than its maker may give."""

from __future__ import annotations

import dataclasses
import hashlib

import pytest

from app.db.database import Database
from app.domain.callers import Human
from app.domain.errors import (
    Conflict,
    InvalidArgument,
    NotFound,
    RoleCeiling,
    RoleRequired,
    TeamCeilingReached,
)
from app.reads import teams as lists
from app.transactions import team_invites, team_members
from tests.support.clock import Clock
from tests.support.make import Make, Team
from tests.support.race import together
from tests.support.rounds import rounds

WEEK = 7 * 24 * 3600.0


@pytest.fixture
def ada(make: Make) -> Human:
    """Who owns the team."""
    return make.human("Ada")


@pytest.fixture
def admin(make: Make, blue: Team) -> Human:
    """An admin of the team."""
    human = make.human("Admin")
    make.member(blue, human, "admin")
    return human


@pytest.fixture
def blue(make: Make, ada: Human) -> Team:
    """Ada's team."""
    team = make.team("blue")
    make.member(team, ada, "owner")
    return team


def invited(db: Database, human: Human, role: str = "member") -> str:
    """The token of a fresh invite to the team."""
    return team_invites.create(db, human, "blue", "bob@example.org", role).token


def test_an_invite_is_kept_as_a_hash_and_listed_without_its_link(
    db: Database, make: Make, clock: Clock, ada: Human, blue: Team
) -> None:
    at = clock.set("2026-10-01T00:00:00Z")
    made = team_invites.create(db, ada, "blue", " Bob@Example.org ", "admin")

    assert len(made.token) == 43  # 256 bits in base64url
    assert (made.expires_at - at).total_seconds() == WEEK
    assert make.value("select token_sha256 from team_invites") == hashlib.sha256(
        made.token.encode()).hexdigest()
    assert lists.list_invites(db, ada, "blue") == [lists.InviteRow(
        id=made.id, email="bob@example.org", role="admin", created_at=at,
        expires_at=made.expires_at, accepted_at=None, revoked_at=None, is_backed=True)]
    seen = team_invites.look(db, made.token)
    assert seen == team_invites.InviteSeen(display_name="blue", role="admin")
    assert team_invites.look(db, made.token + "x") is None


def test_only_admins_invite_and_only_up_to_their_own_role(
    db: Database, make: Make, ada: Human, admin: Human
) -> None:
    member = make.human()
    make.member(Team(id=make.value("select id from teams"), slug="blue"), member)
    with pytest.raises(RoleRequired):
        invited(db, member)
    with pytest.raises(RoleCeiling):
        invited(db, admin, "owner")
    for email, role, field in (("", "member", "email"), ("b", "king", "role")):
        with pytest.raises(InvalidArgument) as refused:
            team_invites.create(db, ada, "blue", email, role)
        assert refused.value.field == field
    with pytest.raises(NotFound):
        invited(db, make.human())
    assert make.value("select count(*) from team_invites") == 0
    assert invited(db, admin, "admin")
    assert invited(db, ada, "owner")


@pytest.mark.rule("operator-api.md, Teams: used, revoked, expired or unknown: 404")
def test_a_used_revoked_expired_or_unknown_invite_is_the_same_not_found(
    db: Database, make: Make, clock: Clock, ada: Human, blue: Team
) -> None:
    used, revoked, late, asleep = (
        team_invites.create(db, ada, "blue", "b", "member") for _ in range(4)
    )
    bob = make.human()
    assert team_invites.accept(db, bob, used.token) == team_invites.Accepted(
        slug="blue", role="member")
    for _ in range(2):  # twice changes nothing
        assert team_invites.revoke(db, ada, "blue", str(revoked.id)) == revoked.id
    with pytest.raises(Conflict):
        team_invites.revoke(db, ada, "blue", str(used.id))
    for nothing in ("nonsense", str(blue.id)):
        with pytest.raises(NotFound):
            team_invites.revoke(db, ada, "blue", nothing)
    with pytest.raises(RoleRequired):
        team_invites.revoke(db, bob, "blue", str(late.id))

    def refused(token: str) -> None:
        assert team_invites.look(db, token) is None
        with pytest.raises(NotFound):
            team_invites.accept(db, make.human(), token)

    for token in (used.token, revoked.token, "unknown", ""):
        refused(token)
    clock.advance(WEEK - 60)
    assert team_invites.look(db, late.token) is not None
    make.run("update teams set suspended_at = clock()")
    refused(asleep.token)
    make.run("update teams set suspended_at = null")
    clock.advance(61)
    refused(late.token)
    assert make.value("select count(*) from team_members") == 2
    said = [row[0] for row in make.rows("select action from operator_audit order by id")]
    assert said == ["invite_created"] * 4 + ["invite_accepted", "invite_revoked"]


def test_a_member_is_raised_by_a_stronger_invite_and_keeps_a_stronger_role(
    db: Database, make: Make, ada: Human, admin: Human, blue: Team
) -> None:
    grouped = make.human()
    make.member(blue, grouped, "admin", source="oidc_group")

    def accept(human: Human, role: str) -> tuple[str, object]:
        answered = team_invites.accept(db, human, invited(db, ada, role)).role
        return answered, lists.get_team(db, human, "blue").team.role

    assert accept(admin, "member") == ("admin", "admin")
    assert accept(admin, "owner") == ("owner", "owner")
    assert accept(grouped, "member") == ("admin", "admin")
    # The invite made it a membership of its own, which the group's end does not take.
    make.run("delete from team_members where source = 'oidc_group'")
    assert lists.get_team(db, grouped, "blue").team.role == "member"


def test_an_invite_is_worth_what_its_maker_may_give_when_it_is_accepted(
    db: Database, make: Make, ada: Human, admin: Human
) -> None:
    as_admin, as_member = invited(db, admin, "admin"), invited(db, admin)
    from_ada = invited(db, ada, "owner")
    assert team_invites.look(db, as_admin) is not None

    team_members.remove(db, ada, "blue", str(admin.id))

    for token in (as_admin, as_member):  # no way back through a link made before
        assert team_invites.look(db, token) is None
        with pytest.raises(NotFound):
            team_invites.accept(db, admin, token)
    heir = make.human()
    assert team_invites.accept(db, heir, from_ada).role == "owner"
    second = invited(db, ada, "owner")
    team_members.set_role(db, heir, "blue", str(ada.id), "admin")
    with pytest.raises(NotFound):
        team_invites.accept(db, make.human(), second)


def test_a_form_sent_twice_makes_one_invite_and_shows_it_twice(
    db: Database, make: Make, ada: Human, admin: Human, blue: Team
) -> None:
    def send(human: Human, form: str) -> team_invites.MintedInvite:
        return team_invites.create(db, human, "blue", "b", "member", once=form)

    first = send(ada, "form 1")

    assert send(ada, "form 1") == first
    others = {send(ada, "form 2").token, send(admin, "form 1").token, invited(db, ada)}
    assert len(others - {first.token}) == 3
    assert make.value("select count(*) from team_invites") == 4
    assert make.value("select count(*) from operator_audit") == 4
    team_invites.revoke(db, ada, "blue", str(first.id))
    with pytest.raises(NotFound):
        send(ada, "form 1")


@pytest.mark.race
@pytest.mark.rule("issue F: an invite is accepted once, also by twenty at once")
def test_of_twenty_accepts_of_one_invite_one_joins(
    db: Database, make: Make, ada: Human, blue: Team
) -> None:
    people = [make.human() for _ in range(20)]
    for turn in range(rounds(5, 50)):
        token = invited(db, ada)
        # Every other round the same human sends all of them.
        who = people if turn % 2 else [people[0]] * 20

        answers = together(20, lambda n, who=who, t=token: team_invites.accept(db, who[n], t))

        joined = [each for each in answers if isinstance(each, team_invites.Accepted)]
        assert len(joined) == 1
        assert sum(isinstance(each, NotFound) for each in answers) == 19
        assert make.value("select count(*) from team_members") == 2
        make.run("delete from team_members where role = 'member'")


@pytest.mark.race
def test_accepts_at_once_never_pass_the_ceiling_and_revoking_never_deadlocks(
    db: Database, make: Make, ada: Human
) -> None:
    few = dataclasses.replace(db, most_teams_per_human=2)
    for _ in range(rounds(5, 50)):
        bob = make.human()
        slugs = [make.team().slug for _ in range(5)]
        for slug in slugs:
            make.run("insert into team_members select id, %s, 'manual', 'owner' from teams"
                     " where slug = %s", ada.id, slug)
        made = [team_invites.create(db, ada, slug, "b", "member") for slug in slugs]

        def act(n: int, made=made, bob=bob, slugs=slugs) -> object:
            if n == 5:
                return team_invites.revoke(db, ada, slugs[0], str(made[0].id))
            return team_invites.accept(few, bob, made[n].token)

        answers = together(6, act)

        joined = [each for each in answers[:5] if isinstance(each, team_invites.Accepted)]
        assert len(joined) == 2
        assert all(isinstance(each, TeamCeilingReached | NotFound) for each in answers[:5]
                   if each not in joined)
        assert isinstance(answers[0], team_invites.Accepted) == isinstance(answers[5], Conflict)
