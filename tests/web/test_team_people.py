"""Members, groups and queues of a team by its pages: each act asked first, each refusal said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.domain.callers import Human
from tests.support.client import Browser
from tests.support.make import Make, Team
from tests.support.page import parse
from tests.web.test_teams import member, said

Browse = Callable[[Human], Browser]


@pytest.fixture
def blue(make: Make) -> Team:
    """A team nobody is in yet."""
    return make.team("blue")


def options(page: str, name: str) -> list[str]:
    """The values a select offers."""
    found = parse(page).all("option")
    return [one.get("value") or "" for one in found
            if any(outer.get("name") == name for outer in one.inside)]  # fmt: skip


def test_an_admin_changes_a_role_up_to_their_own_and_lands_on_the_member(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat = browser(member(make, blue, "Ana", "admin"))
    ben = member(make, blue, "Ben")
    path = f"/teams/blue/members/{ben.id}"

    asked = seat.get(path)
    done = seat.post(path, {"role": "admin"})
    page = seat.get("/teams/blue").text
    above = seat.post(path, {"role": "owner"})

    assert "Change role of Ben in blue</h1>" in asked.text
    assert options(asked.text, "role") == ["member", "admin"]
    assert done.headers["Location"] == f"/teams/blue#member-{ben.id}"
    assert above.status_code == 403
    assert "<title>Error: Change role of Ben" in above.text
    assert 'href="#role"' in above.text
    assert "Nobody grants, changes or removes a role above their own." in above.text
    assert said(page) == "Ben is an admin now."
    assert "changed the role of Ben from member to admin" in page
    assert make.value("select role from team_members where human_id = %s", ben.id) == "admin"


def test_the_last_owner_keeps_the_role_and_reads_why(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana = member(make, blue, "Ana", "owner")
    seat, path = browser(ana), f"/teams/blue/members/{ana.id}"

    asked = seat.get(f"{path}/remove").text
    refused = [seat.post(path, {"role": "member"}), seat.post(f"{path}/remove")]
    wrong = seat.post(path, {"role": "king"})

    assert "Ana is the only owner of blue" in asked
    assert f'action="{path}/remove"' not in asked
    assert [one.status_code for one in refused] == [409, 409]
    assert all("The team would be left without an owner." in one.text for one in refused)
    assert '<option selected value="member">' in refused[0].text
    assert wrong.status_code == 422
    assert "Role: one of member, admin, owner." in wrong.text
    assert make.value("select role from team_members") == "owner"


def test_an_owner_is_out_of_an_admins_reach(browser: Browse, make: Make, blue: Team) -> None:
    seat, boss = browser(member(make, blue, "Ana", "admin")), member(make, blue, "Boss", "owner")
    member(make, blue, "Second", "owner")
    path = f"/teams/blue/members/{boss.id}"

    answers = [seat.get(path), seat.get(f"{path}/remove"), seat.post(f"{path}/remove"),
               seat.post(path, {"role": "member"})]  # fmt: skip

    assert [one.status_code for one in answers] == [403] * 4
    assert all("a role above their own" in one.text for one in answers)
    assert make.value("select role from team_members where human_id = %s", boss.id) == "owner"


def test_removing_a_member_says_what_is_released_and_does_it_once(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat, ben = browser(member(make, blue, "Ana", "admin")), member(make, blue, "Ben")
    held = make.todo(queue=make.team_queue(blue, "inbox"), state="claimed", holder=ben)
    path = f"/teams/blue/members/{ben.id}/remove"

    asked = seat.get(path)
    unasked = make.value("select state from todos where id = %s", held)
    first, second = seat.post(path), seat.post(path)

    assert "Remove Ben from blue</h1>" in asked.text
    assert "is released and waits for the next claim" in asked.text
    assert "Apps that Ben let work as endpoints of blue stop." in asked.text
    assert "comes back at the next sign-in" not in asked.text
    assert unasked == "claimed"
    assert make.value("select state from todos where id = %s", held) == "pending"
    assert [one.headers["Location"] for one in (first, second)] == ["/teams/blue#members"] * 2
    page = seat.get("/teams/blue").text
    assert said(page) == "That person is not in the team."
    assert "removed Ben; 1 held todo released" in page
    assert seat.get(path).status_code == 404


def test_who_came_by_a_group_is_said_to_come_back(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat, ben = browser(member(make, blue, "Ana", "admin")), make.human("Ben")
    make.member(blue, ben, source="oidc_group")

    page = seat.get(f"/teams/blue/members/{ben.id}/remove").text
    make.member(blue, ben)
    both = seat.get(f"/teams/blue/members/{ben.id}/remove").text

    assert "comes back at the next sign-in" in page
    assert "comes back at the next sign-in" in both
    assert "by a group at sign-in" in seat.get("/teams/blue").text


def test_an_owner_links_a_group_they_hold_and_unlinks_it(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana, ben = member(make, blue, "Ana", "owner"), make.human("Ben")
    seat = browser(ana)
    none = seat.get("/teams/blue/groups").text
    make.run("update humans set oidc_groups = '{ops,dev}'")

    asked = seat.get("/teams/blue/groups").text
    linked = seat.post("/teams/blue/groups", {"group": "ops", "role": "admin"})
    again = seat.post("/teams/blue/groups", {"group": "ops", "role": "member"})
    foreign = seat.post("/teams/blue/groups", {"group": "kings", "role": "admin"})
    owner = seat.post("/teams/blue/groups", {"group": "dev", "role": "owner"})

    assert "there is none that you could link" in none
    assert 'name="group"' not in none
    assert options(asked, "group") == ["dev", "ops"]
    assert options(asked, "role") == ["member", "admin"]
    assert linked.headers["Location"] == "/teams/blue/groups#groups"
    assert (again.status_code, foreign.status_code, owner.status_code) == (409, 403, 422)
    assert 'href="#group"' in foreign.text
    assert "did not carry this group" in foreign.text
    assert make.value("select role from team_members where human_id = %s", ben.id) == "admin"
    link = make.value("select id from team_group_links")
    path = f"/teams/blue/groups/{link}/remove"
    assert "Unlink group ops from blue</h1>" in seat.get(path).text
    answers = [seat.post(path), seat.post(path)]
    assert [one.status_code for one in answers] == [303, 303]
    assert said(seat.get("/teams/blue/groups").text) == "That group is not linked."
    assert make.rows("select human_id from team_members") == [(ana.id,)]


def test_an_admin_reads_the_groups_and_cannot_link_one(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat = browser(member(make, blue, "Ana", "admin"))
    make.run("update humans set oidc_groups = '{ops}'")

    page, forged = seat.get("/teams/blue/groups"), seat.post(
        "/teams/blue/groups", {"group": "ops", "role": "admin"})

    assert 'name="group"' not in page.text
    assert "An owner of the team can link" in page.text
    assert (forged.status_code, make.value("select count(*) from team_group_links")) == (403, 0)


def test_a_queue_is_made_once_from_the_teams_page_and_focus_lands_on_it(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat = browser(member(make, blue, "Ana", "admin"))

    answers = [seat.post("/teams/blue/queues", {"name": "inbox"}) for _ in range(2)]
    number = make.value("select id from queues where team_id = %s", blue.id)
    page = seat.get("/teams/blue").text
    wrong = seat.post("/teams/blue/queues", {"name": ""})

    assert [one.headers["Location"] for one in answers] == [f"/teams/blue#queue-{number}"] * 2
    assert f'id="queue-{number}"' in page
    assert said(page) == "Queue team:blue/inbox was there already."
    assert wrong.status_code == 422
    assert 'href="#queue-name"' in wrong.text
    assert "<title>Error: blue" in wrong.text
    assert "created queue inbox" in wrong.text
    assert make.value("select count(*) from queues where team_id = %s", blue.id) == 1


def test_a_queue_with_work_in_it_stays_and_an_empty_one_is_deleted_once(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat = browser(member(make, blue, "Ana", "admin"))
    queue = make.team_queue(blue, "inbox")
    todo = make.todo(queue=queue)
    path = f"/teams/blue/queues/{int(queue)}/delete"

    asked, refused = seat.get(path), seat.post(path)
    make.run("delete from todos where id = %s", todo)
    answers = [seat.post(path), seat.post(path)]

    assert "Delete queue team:blue/inbox</h1>" in asked.text
    assert refused.status_code == 409
    assert "There is a problem" in refused.text
    assert [one.headers["Location"] for one in answers] == ["/teams/blue#queues"] * 2
    assert said(seat.get("/teams/blue").text) == "That queue is not there."
    assert seat.get(path).status_code == 404


def test_a_plain_member_may_do_none_of_it_by_hand_and_reads_why(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana, ben = member(make, blue, "Ana", "owner"), member(make, blue, "Ben")
    make.run("update humans set oidc_groups = '{ops}'")
    queue, seat = make.team_queue(blue, "inbox"), browser(ben)
    boss = browser(ana)
    boss.post("/teams/blue/groups", {"group": "ops", "role": "member"})
    boss.post("/teams/blue/invites", {"email": "eve@example.org", "role": "member"})
    link = make.value("select id from team_group_links")
    invite = make.value("select id from team_invites")
    before = make.rows("select * from team_members order by human_id, source")
    posts = {
        "edit": {"members_create_webhooks": "y"}, "transfer": {"human_id": str(ben.id)},
        "delete": {}, f"members/{ana.id}": {"role": "member"}, f"members/{ana.id}/remove": {},
        f"members/{ben.id}": {"role": "owner"}, "queues": {"name": "more"},
        f"queues/{int(queue)}/delete": {}, "groups": {"group": "ops", "role": "admin"},
        f"groups/{link}/remove": {}, "invites": {"email": "x", "role": "member"},
        f"invites/{invite}/revoke": {},
    }  # fmt: skip

    answers = {path: seat.post(f"/teams/blue/{path}", dict(data)) for path, data in posts.items()}

    assert {one.status_code for one in answers.values()} == {403}
    for path, answer in answers.items():
        assert "Your role in the team does not allow this." in answer.text, path
    assert make.rows("select * from team_members order by human_id, source") == before
    assert make.rows("select name from queues where team_id = %s", blue.id) == [("inbox",)]
    assert make.rows("select revoked_at from team_invites") == [(None,)]
