"""Groups of the sign-in provider make members, and stop making them, at the sign-in itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from uuid import UUID

import pytest
from flask.testing import FlaskClient
from psycopg import errors

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.enrollment import Enrollment
from app.edge.deps import EdgeConfig
from app.transactions import membership, provider_people
from app.transactions.provider_people import Proven
from tests.support.client import Caller
from tests.support.feed import RecordingFeed
from tests.support.make import Make, QueueId, Team, TodoId
from tests.support.provider import Provider, running
from tests.web.test_oidc import configured, sign_in

pytestmark = pytest.mark.rule("identity.md: Teams, group links from an OIDC claim")

MEMBERSHIPS = """
select t.slug, m.role, m.source from team_members m
  join teams t on t.id = m.team_id join humans h on h.id = m.human_id
 where h.oidc_subject = 'ana-1' order by 1, 3
"""


@pytest.fixture(scope="module")
def process() -> Iterator[Provider]:
    """The provider's process, one for all tests here."""
    with running() as provider:
        yield provider


@pytest.fixture
def provider(process: Provider) -> Provider:
    """The provider, honest again."""
    process.mood()
    return process


@pytest.fixture
def edge_config(provider: Provider) -> EdgeConfig:
    """A server that reads the claim `groups`."""
    return configured(provider)


@pytest.fixture
def night(make: Make) -> Team:
    """A team with an owner, that lets the group `night` in as members."""
    team = make.team("night")
    make.member(team, make.human("Olga"), "owner")
    link(make, team, "night", "member")
    return team


def link(make: Make, team: Team, group: str, role: str) -> None:
    """Links a group to a team."""
    make.run("insert into team_group_links (id, team_id, group_name, role)"
             " values (gen_random_uuid(), %s, %s, %s)", team.id, group, role)  # fmt: skip


def ana(make: Make) -> Human:
    """The person of the provider, once they have been here."""
    found = make.value("select id from humans where oidc_subject = 'ana-1'")
    assert isinstance(found, UUID)
    return Human(id=found, display_name="Ana Ng")


def holding(make: Make, team: Team) -> tuple[Endpoint, QueueId, TodoId]:
    """Ana's endpoint that drains a queue of the team, and holds a todo of it."""
    lane, queue = make.endpoint(ana(make)), make.team_queue(team)
    make.grant(lane, queue)
    return lane, queue, make.todo(queue=queue, state="claimed", attempt=2, holder=lane)


def test_a_first_sign_in_that_carries_a_linked_group_makes_a_member(
    client: FlaskClient, provider: Provider, make: Make, night: Team
) -> None:
    make.team("elsewhere")

    assert sign_in(client, provider).status_code == 303

    assert make.rows(MEMBERSHIPS) == [("night", "member", "oidc_group")]
    assert "night" in client.get("/teams").text


def test_a_later_sign_in_follows_the_groups_of_that_day(
    client: FlaskClient, provider: Provider, make: Make, night: Team
) -> None:
    link(make, make.team("spare"), "spare", "admin")
    sign_in(client, provider)

    provider.mood(claims={"groups": ["spare", "unlinked"]})
    sign_in(client, provider)
    assert make.rows(MEMBERSHIPS) == [("spare", "admin", "oidc_group")]
    sign_in(client, provider)
    assert make.rows(MEMBERSHIPS) == [("spare", "admin", "oidc_group")]
    provider.mood(claims={"groups": []})
    sign_in(client, provider)
    assert make.rows(MEMBERSHIPS) == []


@pytest.mark.rule("R47: losing membership releases in the same transaction")
def test_a_sign_in_without_the_group_releases_what_was_held_and_ends_the_reach(
    client: FlaskClient, provider: Provider, make: Make, db: Database, night: Team,
    agent: Callable[[Endpoint], Caller],
) -> None:
    sign_in(client, provider)
    lane, queue, held = holding(make, night)
    by_hand = make.todo(queue=queue, state="claimed", holder=ana(make))
    assert agent(lane).call("admission_status", queue=queue.name).status_code == 200

    provider.mood(claims={"groups": ["day"]})
    sign_in(client, provider)

    for todo in (held, by_hand):
        row = make.row(todo)
        assert (row["state"], row["owner"], row["lease_expires_at"]) == ("pending", None, None)
    assert make.row(held)["attempt"] == 2
    assert isinstance(db.feed, RecordingFeed)
    assert int(queue) in db.feed.ids("ready")
    for verb in ("claim_next", "admission_status"):
        assert agent(lane).call(verb, queue=queue.name).status_code == 404


def test_nothing_is_released_when_the_sign_in_does_not_commit(
    client: FlaskClient, provider: Provider, make: Make, db: Database, night: Team,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sign_in(client, provider)
    _, _, held = holding(make, night)
    remove_many = membership.remove_many

    def broken(*args: object, **kwargs: object) -> None:
        remove_many(*args, **kwargs)
        raise errors.AdminShutdown

    monkeypatch.setattr(membership, "remove_many", broken)
    provider.mood(claims={"groups": []})

    assert sign_in(client, provider).status_code == 503
    assert make.row(held)["state"] == "claimed"
    assert make.rows(MEMBERSHIPS) == [("night", "member", "oidc_group")]
    assert make.value("select oidc_groups from humans where oidc_subject = 'ana-1'") == [
        "night", "day"]


def test_who_is_a_member_by_hand_too_stays_and_keeps_what_they_hold(
    client: FlaskClient, provider: Provider, make: Make, night: Team
) -> None:
    sign_in(client, provider)
    make.member(night, ana(make), "member")
    _, _, held = holding(make, night)

    provider.mood(claims={"groups": ["day"]})
    sign_in(client, provider)

    assert make.rows(MEMBERSHIPS) == [("night", "member", "manual")]
    assert make.row(held)["state"] == "claimed"


def test_the_strongest_of_several_linked_groups_counts_and_goes_with_its_group(
    client: FlaskClient, provider: Provider, make: Make, night: Team
) -> None:
    link(make, night, "chiefs", "admin")
    link(make, night, "day", "member")
    roles = []

    for groups in (["day", "chiefs", "night"], ["night"], ["chiefs"], ["night", "day"]):
        provider.mood(claims={"groups": groups})
        sign_in(client, provider)
        roles.append(make.rows(MEMBERSHIPS))

    assert roles == [[("night", role, "oidc_group")]
                     for role in ("admin", "member", "admin", "member")]  # fmt: skip


def test_a_group_never_makes_an_owner_and_never_takes_one_away(
    client: FlaskClient, provider: Provider, make: Make, night: Team
) -> None:
    with pytest.raises(errors.CheckViolation):
        link(make, night, "bosses", "owner")
    sign_in(client, provider)
    make.member(night, ana(make), "owner")
    strongest = "select role from team_roles where human_id = %s"

    for groups in (["night"], []):
        provider.mood(claims={"groups": groups})
        sign_in(client, provider)
        assert make.value(strongest, ana(make).id) == "owner"


@pytest.mark.parametrize(("claim", "is_member"), [
    ("night", True), (None, False), ({"night": True}, False), (True, False), (7, False),
    ([["night"]], False), ([None, 5, "night"], True), ("", False), (" night ", True),
    ("NIGHT", False), (["night\u0000"], False), (["x" * 300, "night"], True),
    ([f"g{number}" for number in range(2_000)], False),
    ([*(f"g{number}" for number in range(499)), "night"], True),
])  # fmt: skip
def test_whatever_the_claim_holds_the_person_comes_in_and_only_texts_count(
    client: FlaskClient, provider: Provider, make: Make, night: Team, claim: object,
    is_member: bool,  # noqa: FBT001
) -> None:
    provider.mood(claims={"groups": claim})

    assert sign_in(client, provider).status_code == 303
    expected = [("night", "member", "oidc_group")] if is_member else []
    assert make.rows(MEMBERSHIPS) == expected


def test_a_token_too_long_to_be_one_is_refused_and_changes_no_membership(
    client: FlaskClient, provider: Provider, make: Make, night: Team
) -> None:
    sign_in(client, provider)
    provider.mood(claims={"groups": [f"group {number}" for number in range(50_000)]})

    assert sign_in(client, provider).status_code == 502
    assert make.rows(MEMBERSHIPS) == [("night", "member", "oidc_group")]


@pytest.mark.parametrize("changes", [{"groups_claim": None}, {"groups_claim": "roles"}])
class TestAnotherClaim:
    """The server does not read the claim in which the provider lists the groups."""

    @pytest.fixture
    def edge_config(self, provider: Provider, changes: Mapping[str, object]) -> EdgeConfig:
        """Configured otherwise."""
        return configured(provider, **changes)

    def test_makes_nobody_a_member(
        self, client: FlaskClient, provider: Provider, make: Make, night: Team
    ) -> None:
        assert sign_in(client, provider).status_code == 303
        assert make.rows(MEMBERSHIPS) == []


def test_a_suspended_persons_memberships_are_left_as_they_are(
    client: FlaskClient, provider: Provider, make: Make, night: Team
) -> None:
    sign_in(client, provider)
    make.run("update humans set suspended_at = clock() where id = %s", ana(make).id)
    provider.mood(claims={"groups": []})

    assert sign_in(client, provider).status_code == 403
    assert make.rows(MEMBERSHIPS) == [("night", "member", "oidc_group")]


def test_who_is_not_let_in_becomes_no_member(db: Database, make: Make, night: Team) -> None:
    proven = Proven(issuer="https://one.example", subject="ana-1", display_name="Ana", email=None,
                    verified_email=None, groups=("night",))  # fmt: skip

    with pytest.raises(Exception, match="lets in nobody new"):
        provider_people.sign_in(db, proven, Enrollment(mode="invite", allow=()))
    assert make.rows(MEMBERSHIPS) == []


def test_sign_ins_of_one_person_at_once_agree_on_one_membership(
    db: Database, make: Make, night: Team
) -> None:
    link(make, night, "chiefs", "admin")
    proven = [Proven(issuer="https://one.example", subject="ana-1", display_name="Ana", email=None,
                     verified_email=None, groups=groups)
              for groups in (("night",), ("chiefs",), ()) * 4]  # fmt: skip
    failed, start = [], threading.Barrier(len(proven))

    def come(one: Proven) -> None:
        start.wait()
        try:
            provider_people.sign_in(db, one, Enrollment(mode="open", allow=()))
        except Exception as fault:
            failed.append(fault)

    threads = [threading.Thread(target=come, args=[one]) for one in proven]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    stored = make.value("select oidc_groups from humans where oidc_subject = 'ana-1'")
    expected = {"night": "member", "chiefs": "admin"}
    assert isinstance(stored, list)
    assert [role for _, role, _ in make.rows(MEMBERSHIPS)] == [expected[name] for name in stored]
