"""Teams, members, invites and group links by API: every route's answer, and what strangers see."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from app.domain.callers import Human
from tests.support.client import Caller
from tests.support.make import Make, Team
from tests.support.recorded import recorded

NOT_FOUND = b'{"error":"Not found.","code":"not_found"}'
ROUTES = [
    ("GET", "/teams/{team}", None),
    ("PATCH", "/teams/{team}", {"slug": "green"}),
    ("PATCH", "/teams/{team}", {"members_create_webhooks": True}),
    ("DELETE", "/teams/{team}", {}),
    ("POST", "/teams/{team}/leave", {}),
    ("POST", "/teams/{team}/transfer", {"human_id": "{member}"}),
    ("GET", "/teams/{team}/members", None),
    ("PATCH", "/teams/{team}/members/{member}", {"role": "admin"}),
    ("DELETE", "/teams/{team}/members/{member}", {}),
    ("GET", "/teams/{team}/invites", None),
    ("POST", "/teams/{team}/invites", {"email": "b"}),
    ("DELETE", "/teams/{team}/invites/{invite}", {}),
    ("GET", "/teams/{team}/group-links", None),
    ("POST", "/teams/{team}/group-links", {"group": "staff", "role": "member"}),
    ("DELETE", "/teams/{team}/group-links/{link}", {}),
]


@pytest.fixture
def blue(make: Make, ada: Human) -> Team:
    """Ada's team."""
    team = make.team("blue")
    make.member(team, ada, "owner")
    return team


@pytest.fixture
def bob(make: Make, blue: Team) -> Human:
    """A member of it."""
    human = make.human("Bob")
    make.member(blue, human)
    return human


def test_a_team_from_its_making_to_its_end(api: Caller, make: Make) -> None:
    made = api.post("/teams", json={"slug": "blue", "display_name": "Blue ones"})
    team = made.get_json()
    assert made.status_code == 201
    assert team == {"id": team["id"], "slug": "blue", "display_name": "Blue ones", "role": "owner",
                    "members_create_webhooks": False, "suspended": False}
    assert api.get("/teams").get_json() == {"teams": [team]}
    counts = {"members": 1, "queues": 0, "endpoints": 0}
    for ref in ("blue", team["id"]):
        assert api.get(f"/teams/{ref}").get_json() == team | counts

    taken = api.post("/teams", json={"slug": "blue"})
    assert (taken.status_code, taken.get_json()["code"], taken.get_json()["field"]) == (
        409, "conflict", "slug")
    edited = api.patch("/teams/blue", json={"slug": "green", "members_create_webhooks": True})
    assert edited.get_json() == team | {"slug": "green", "members_create_webhooks": True}
    for body, field in (({"slug": "Green"}, "slug"), ({"display_name": ""}, "display_name"),
                        ({"members_create_webhooks": 1}, "members_create_webhooks")):
        refused = api.patch("/teams/green", json=body)
        assert (refused.status_code, refused.get_json()["field"]) == (400, field)
    assert api.patch("/teams/green", json={}).status_code == 400

    alone = api.post("/teams/green/leave")
    assert (alone.status_code, alone.get_json()["code"]) == (409, "last_owner")
    ended = api.delete("/teams/green")
    assert (ended.status_code, ended.get_json()) == (200, {"slug": "green", "deleted": True})
    assert api.post("/teams", json={"slug": "green"}).status_code == 409
    make.run("insert into teams (id, slug, display_name) select gen_random_uuid(), 'team-' || n,"
             " 'x' from generate_series(1, 10) n")
    make.run("insert into team_members select t.id, h.id, 'manual', 'member' from teams t, humans h"
             " where h.display_name = 'Ada'")
    full = api.post("/teams", json={"slug": "eleventh"})
    assert (full.status_code, full.get_json()["code"]) == (409, "team_ceiling_reached")


def test_members_are_listed_changed_and_removed(
    api: Caller, operator: Callable[[Human], Caller], ada: Human, blue: Team, bob: Human
) -> None:
    member = {"human_id": str(bob.id), "display_name": "Bob", "role": "member", "source": "manual"}
    assert operator(bob).get("/teams/blue/members").get_json() == {"members": [
        {"human_id": str(ada.id), "display_name": "Ada", "role": "owner", "source": "manual"},
        member]}
    assert api.patch(f"/teams/blue/members/{bob.id}", json={"role": "admin"}).get_json() == (
        member | {"role": "admin"})
    above = operator(bob).delete(f"/teams/blue/members/{ada.id}")
    assert (above.status_code, above.get_json()["code"]) == (403, "role_ceiling")

    handed = api.post("/teams/blue/transfer", json={"human_id": str(bob.id)})
    assert (handed.status_code, handed.get_json()["role"]) == (200, "admin")
    assert operator(bob).delete(f"/teams/blue/members/{ada.id}").get_json() == {
        "human_id": str(ada.id), "removed": True}
    assert api.get("/teams").get_json() == {"teams": []}
    assert api.get("/teams/blue").data == NOT_FOUND


def test_an_invite_is_made_accepted_and_listed(
    api: Caller, operator: Callable[[Human], Caller], make: Make, blue: Team
) -> None:
    made = api.post("/teams/blue/invites", json={"email": "Bob@example.org"})
    invite = made.get_json()
    assert made.status_code == 201
    assert set(invite) == {"id", "email", "role", "expires_at", "invite_url"}
    assert (invite["email"], invite["role"]) == ("bob@example.org", "member")
    base, _, token = invite["invite_url"].rpartition("/")
    assert base == "http://localhost/invites"
    spare = api.post("/teams/blue/invites", json={"email": "b", "role": "admin"}).get_json()["id"]
    revoked = api.delete(f"/teams/blue/invites/{spare}")
    assert revoked.get_json() == {"id": spare, "revoked": True}

    bob = operator(make.human("Bob"))
    joined = bob.post("/invites/accept", json={"token": token})
    assert (joined.status_code, joined.get_json()) == (200, {"slug": "blue", "role": "member"})
    for dead in (token, "nonsense", "", spare):
        again = bob.post("/invites/accept", json={"token": dead})
        assert (again.status_code, again.data) == (404, NOT_FOUND)

    listed = api.get("/teams/blue/invites").get_json()["invites"]
    assert [row["id"] for row in listed] == [spare, invite["id"]]
    assert set(listed[0]) == {
        "id", "email", "role", "created_at", "expires_at", "accepted_at", "revoked_at"}
    assert [bool(row["revoked_at"]) for row in listed] == [True, False]
    assert [bool(row["accepted_at"]) for row in listed] == [False, True]


def test_group_links_are_listed_added_and_deleted(
    api: Caller, make: Make, ada: Human, blue: Team
) -> None:
    held = {"group": "staff", "role": "member"}
    refused = api.post("/teams/blue/group-links", json=held)
    assert (refused.status_code, refused.get_json()["code"]) == (403, "group_not_held")
    make.run("update humans set oidc_groups = '{staff}' where id = %s", ada.id)

    made = api.post("/teams/blue/group-links", json=held)

    link = made.get_json()
    assert (made.status_code, link) == (201, {"id": link["id"], **held})
    assert api.post("/teams/blue/group-links", json=held).status_code == 409
    assert api.get("/teams/blue/group-links").get_json() == {"group_links": [link]}
    ended = api.delete(f"/teams/blue/group-links/{link['id']}")
    assert ended.get_json() == {"id": link["id"], "deleted": True}
    assert api.get("/teams/blue/group-links").get_json() == {"group_links": []}


@pytest.mark.rule("identity.md, Teams: inside without the role 403 role_required, nothing changed")
def test_a_plain_member_reads_and_leaves_and_changes_nothing(
    operator: Callable[[Human], Caller], make: Make, blue: Team, bob: Human
) -> None:
    member, names = operator(bob), _names(blue, bob)
    may = {("GET", "/teams/{team}"), ("GET", "/teams/{team}/members")}
    for method, path, body in ROUTES:
        if path.endswith("/leave"):
            continue
        answer = member.open(method, path.format(**names), json=_filled(body, names))
        if (method, path) in may:
            assert answer.status_code == 200
        else:
            assert (answer.status_code, answer.get_json()["code"]) == (403, "role_required"), path
    assert make.value("select count(*) from operator_audit") == 0

    left = member.post("/teams/blue/leave")
    assert (left.status_code, left.get_json()) == (200, {"slug": "blue", "left": True})


def test_a_foreign_team_and_an_unknown_one_are_one_answer_and_the_same_statements(
    operator: Callable[[Human], Caller], make: Make, blue: Team, bob: Human,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make.run("insert into team_group_links (id, team_id, group_name, role)"
             " values (gen_random_uuid(), %s, 'staff', 'member')", blue.id)
    link = make.value("select id from team_group_links")
    stranger = operator(make.human())
    stranger.get("/me")  # the token's stamp, due once a minute, is out of the way
    by_slug = _names(blue, bob) | {"link": str(link)}
    asked = [by_slug, by_slug | {"team": str(blue.id)}, by_slug | {"team": "no-such-team"},
             by_slug | {"team": str(uuid.uuid4())}, dict.fromkeys(by_slug, "no%00sense%ff")]

    for method, path, body in ROUTES:
        runs = []
        for names in asked:
            with recorded(monkeypatch) as said:
                answer = stranger.open(method, path.format(**names), json=_filled(body, names))
            assert (answer.status_code, answer.data) == (404, NOT_FOUND), (method, path)
            runs.append(said)
        assert runs[0], path
        assert all(run == runs[0] for run in runs), (method, path)
    assert make.value("select count(*) from team_members") == 2


def _names(team: Team, member: Human) -> dict[str, str]:
    return {"team": team.slug, "member": str(member.id), "invite": str(uuid.uuid4()),
            "link": str(uuid.uuid4())}


def _filled(body: dict[str, object] | None, names: dict[str, str]) -> dict[str, object] | None:
    if body is None:
        return None
    return {key: text.format(**names) if isinstance(text, str) else text
            for key, text in body.items()}
