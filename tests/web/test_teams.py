"""The pages of a team: list, creation, the team itself, its name, leaving, transfer, deletion."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from werkzeug.test import TestResponse

from app.domain.callers import Human
from tests.support.client import Browser
from tests.support.make import Make, Team
from tests.support.page import parse

Browse = Callable[[Human], Browser]
MANY_CONTROLS = re.compile(r"/(edit|transfer|delete|invites|groups|queues|remove)\b")


def said(page: str) -> str:
    """What the last act left to be said."""
    found = parse(page)
    return " ".join(one.text.strip() for one in found.elements if one.get("id") == "flash")


def links(page: str) -> set[str]:
    """Where the main part of a page leads or posts."""
    main = [one for one in parse(page).all("a", "form")
            if any(outer.tag == "main" for outer in one.inside)]  # fmt: skip
    return {one.get("href") or one.get("action") or "" for one in main}


@pytest.fixture
def blue(make: Make) -> Team:
    """A team nobody is in yet."""
    return make.team("blue")


def member(make: Make, team: Team, name: str, role: str = "member") -> Human:
    """A person in the team."""
    human = make.human(name)
    make.member(team, human, role)
    return human


def test_a_person_without_a_team_is_led_from_settings_to_the_team_they_make(
    browser: Browse, make: Make
) -> None:
    seat = browser(make.human("Ana"))

    assert "/teams/new" in links(seat.get("/settings").text)
    assert "You are in no team." in seat.get("/teams").text
    made = seat.post("/teams/new", {"display_name": " Blue team ", "slug": "blue"})
    page = seat.get("/teams/blue").text

    assert (made.status_code, made.headers["Location"]) == (303, "/teams/blue#role")
    assert said(page) == "Team Blue team is created. You are its owner."
    assert '<h1 id="heading">Blue team</h1>' in page
    assert "/teams/blue" in links(seat.get("/teams").text)


def test_a_form_sent_twice_makes_one_team_and_both_answers_lead_to_it(
    browser: Browse, make: Make
) -> None:
    seat, data = browser(make.human()), {"display_name": "", "slug": "blue"}

    answers = [seat.post("/teams/new", dict(data)) for _ in range(2)]

    assert [one.headers["Location"] for one in answers] == ["/teams/blue#role"] * 2
    assert make.value("select count(*) from teams") == 1


@pytest.mark.parametrize(("slug", "status", "why"), [
    ("", 422, "lowercase letters"),
    ("Blue team", 422, "single hyphens, for example blue-team."),
    ("x" * 41, 422, "lowercase letters"),
    ("taken", 409, "another team has it"),
    ("retired", 409, "another team has it"),
])
def test_a_slug_that_cannot_be_had_is_refused_with_what_was_typed(
    browser: Browse, make: Make, slug: str, status: int, why: str
) -> None:
    make.team("taken")
    make.run("insert into retired_team_slugs (slug, retired_at, free_at)"
             " values ('retired', clock(), clock() + interval '30 days')")

    answer = browser(make.human()).post("/teams/new", {"display_name": "Typed", "slug": slug})

    assert answer.status_code == status
    assert "<title>Error: Create a team" in answer.text
    assert 'href="#slug"' in answer.text
    assert why in answer.text
    assert f'value="{slug}"' in answer.text
    assert 'value="Typed"' in answer.text
    assert make.value("select count(*) from teams") == 1


def test_everybody_reads_their_role_and_its_rights_and_sees_only_the_controls_it_gives(
    browser: Browse, make: Make, blue: Team
) -> None:
    people = {role: member(make, blue, f"the {role}", role)
              for role in ("member", "admin", "owner")}  # fmt: skip
    make.team_queue(blue, "inbox")

    pages = {role: browser(human).get("/teams/blue").text for role, human in people.items()}
    found = {role: links(page) for role, page in pages.items()}

    for role in people:
        assert f"You are a{'n' * (role != 'member')} {role}</h2>" in pages[role]
        assert all(f"the {other}" in pages[role] for other in people)
    assert "rename the team" not in pages["admin"]
    assert "rename the team" in pages["owner"]
    assert not [one for one in found["member"] if MANY_CONTROLS.search(one)
                and not one.startswith("/queues/")]  # fmt: skip
    assert "/teams/blue/leave" in found["member"]
    assert {"/teams/blue/edit", "/teams/blue/invites", "/teams/blue/queues"} <= found["admin"]
    assert not {"/teams/blue/transfer", "/teams/blue/delete"} & found["admin"]
    assert {"/teams/blue/transfer", "/teams/blue/delete"} <= found["owner"]
    boss = f"/teams/blue/members/{people['owner'].id}"
    assert boss not in found["admin"]
    assert boss in found["owner"]
    assert "Last changes" not in pages["member"]


def test_the_page_names_queues_their_budgets_and_drainers_and_links_what_may_be_opened(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana, ben = member(make, blue, "Ana"), member(make, blue, "Ben")
    queue = make.team_queue(blue, "inbox")
    mine, theirs, of_team = make.endpoint(ana), make.endpoint(ben), make.endpoint(ben, blue)
    for endpoint in (mine, theirs, of_team):
        make.grant(endpoint, queue)
    make.policy(queue, max_in_flight=2, human=ana)

    page = browser(ana).get("/teams/blue").text

    assert f"/queues/{int(queue)}" in links(page)
    assert "has a budget" in page
    assert "1 active endpoint<" in page
    assert all(one.slug in page for one in (mine, theirs, of_team))
    assert f"/endpoints/{theirs.id}" not in links(page)
    assert {f"/endpoints/{mine.id}", f"/endpoints/{of_team.id}"} <= links(page)


def test_a_team_is_found_by_its_id_too_and_a_suspended_one_is_listed_and_shut(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat = browser(member(make, blue, "Ana"))
    by_id, by_slug = seat.get(f"/teams/{blue.id}"), seat.get("/teams/blue")

    assert by_id.status_code == 200
    assert links(by_id.text) == links(by_slug.text)
    make.run("update teams set suspended_at = clock()")
    assert seat.get("/teams/blue").status_code == 404
    assert "suspended" in seat.get("/teams").text
    assert "/teams/blue" not in links(seat.get("/teams").text)


def test_an_owner_renames_the_team_and_is_told_what_happens_to_the_old_slug(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat = browser(member(make, blue, "Ana", "owner"))
    asked = seat.get("/teams/blue/edit").text

    saved = seat.post("/teams/blue/edit", {
        "display_name": "The Navy", "slug": "navy", "members_create_webhooks": "y"})

    assert "The old slug is kept from reuse for 30 days." in re.sub(r"\s+", " ", asked)
    assert saved.headers["Location"] == "/teams/navy#edit-team"
    assert make.rows("select slug, display_name, members_create_webhooks from teams") == [
        ("navy", "The Navy", True)]
    assert make.value("select slug from retired_team_slugs") == "blue"
    page = seat.get("/teams/navy").text
    assert "slug from blue to navy" in page
    assert "members may make webhooks" in page
    refused = seat.post("/teams/navy/edit", {"display_name": "", "slug": "No"})
    assert refused.status_code == 422
    assert "<title>Error: Edit The Navy" in refused.text


def test_an_admin_switches_what_members_may_and_names_nothing(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat = browser(member(make, blue, "Ana", "admin"))
    asked = seat.get("/teams/blue/edit").text

    saved = seat.post("/teams/blue/edit", {"members_create_webhooks": "y"})
    forged = seat.post("/teams/blue/edit", {"slug": "navy", "display_name": "blue"})

    assert 'name="slug"' not in asked
    assert 'name="members_create_webhooks"' in asked
    assert (saved.status_code, forged.status_code) == (303, 403)
    assert "Your role in the team does not allow this." in forged.text
    assert make.rows("select slug, members_create_webhooks from teams") == [("blue", True)]


def test_the_only_owner_is_told_why_they_cannot_leave_and_a_second_one_leaves(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana = member(make, blue, "Ana", "owner")
    seat = browser(ana)

    asked, refused = seat.get("/teams/blue/leave"), seat.post("/teams/blue/leave")
    ben = member(make, blue, "Ben", "owner")
    offered, left = seat.get("/teams/blue/leave"), seat.post("/teams/blue/leave")

    assert "You are the only owner of blue" in asked.text
    assert "/teams/blue/leave" not in links(asked.text)
    assert (refused.status_code, "without an owner" in refused.text) == (409, True)
    assert "/teams/blue/leave" in links(offered.text)
    assert "is released" in offered.text
    assert "Apps that you let work as endpoints of blue stop." in offered.text
    assert "To come back you need a new invite." in offered.text
    assert (left.status_code, left.headers["Location"]) == (303, "/teams#teams")
    assert "You have left blue." in said(seat.get("/teams").text)
    assert make.rows("select human_id from team_members") == [(ben.id,)]


def test_who_is_in_by_a_group_reads_on_leaving_that_the_next_sign_in_brings_them_back(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana = member(make, blue, "Ana")
    make.member(blue, ana, source="oidc_group")

    page = browser(ana).get("/teams/blue/leave").text

    assert "at your next sign-in you are back" in page
    assert "you need a new invite" not in page


def test_the_only_owner_who_could_run_the_team_is_told_so_before_leaving(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana, ben = member(make, blue, "Ana", "owner"), member(make, blue, "Ben", "owner")
    make.run("update humans set suspended_at = clock() where id = %s", ben.id)

    page = browser(ana).get("/teams/blue/leave").text

    assert "You are the only owner of blue" in page
    assert "/teams/blue/leave" not in links(page)


def test_a_team_is_handed_to_a_member_and_the_owner_stays_as_admin(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana = member(make, blue, "Ana", "owner")
    seat = browser(ana)
    assert "Nobody else is in the team." in seat.get("/teams/blue/transfer").text
    ben = member(make, blue, "Ben")

    wrong = seat.post("/teams/blue/transfer", {"human_id": str(ana.id)})
    done = seat.post("/teams/blue/transfer", {"human_id": str(ben.id)})

    assert wrong.status_code == 422
    assert 'href="#human_id"' in wrong.text
    assert done.headers["Location"] == "/teams/blue#members"
    page = seat.get("/teams/blue").text
    assert said(page) == "Ben is an owner of blue. You are an admin of it."
    assert "transferred the team to Ben" in page
    assert dict(make.rows("select human_id, role from team_members")) == {
        ana.id: "admin", ben.id: "owner"}


def test_a_busy_team_is_not_deleted_and_says_what_it_needs(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana = member(make, blue, "Ana", "owner")
    seat, todo = browser(ana), make.todo(queue=make.team_queue(blue, "inbox"))

    asked, refused = seat.get("/teams/blue/delete"), seat.post("/teams/blue/delete")
    make.run("update todos set state = 'done', completed_at = clock() where id = %s", todo)
    done = seat.post("/teams/blue/delete")

    assert "no active endpoint and no todo" in asked.text
    assert refused.status_code == 409
    assert "There is a problem" in refused.text
    assert (done.status_code, done.headers["Location"]) == (303, "/teams#teams")
    assert make.value("select count(*) from teams") == 0


def sent_twice(
    seat: Browser, below: str, **more: str
) -> tuple[list[TestResponse], str]:
    """The form that a page of team blue shows, sent twice, and what the next page then says."""
    shown = parse(seat.get(f"/teams/blue/{below}").text)
    hidden = {str(one.get("name")): str(one.get("value")) for one in shown.all("input")
              if one.get("type") == "hidden"}  # fmt: skip
    answers = [seat.post(f"/teams/blue/{below}", {**hidden, **more}) for _ in range(2)]
    path, _, place = answers[1].headers["Location"].partition("#")
    page = seat.get(path).text
    assert [one for one in parse(page).elements if one.get("id") == place
            and (one.tag == "a" or one.get("tabindex") == "-1")], place  # fmt: skip
    return answers, said(page)


def test_an_act_that_arrives_twice_is_done_once_and_both_answers_lead_on(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat, ben = browser(member(make, blue, "Ana", "owner")), member(make, blue, "Ben")
    heir = browser(ben)

    handed, handed_said = sent_twice(seat, "transfer", human_id=str(ben.id))
    left, left_said = sent_twice(seat, "leave")
    renamed, renamed_said = sent_twice(heir, "edit", display_name="Navy", slug="navy")
    make.run("update teams set slug = 'blue'")
    deleted, deleted_said = sent_twice(heir, "delete")

    assert [one.headers["Location"] for one in handed] == ["/teams/blue#members"] * 2
    assert [one.headers["Location"] for one in left] == ["/teams#teams"] * 2
    assert [one.headers["Location"] for one in renamed] == ["/teams/navy#edit-team"] * 2
    assert [one.headers["Location"] for one in deleted] == ["/teams#teams"] * 2
    assert (handed_said, left_said) == ("You have transferred blue.", "You are not in that team.")
    assert (renamed_said, deleted_said) == ("Team Navy is saved.", "That team is deleted.")
    assert make.rows("select action, count(*) from operator_audit group by 1 order by 1") == [
        ("member_left", 1), ("team_deleted", 1), ("team_edited", 1), ("team_transferred", 1)]


def test_a_form_that_arrives_twice_tells_of_no_act_but_ones_own_and_of_none_long_ago(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana, ben = member(make, blue, "Ana", "owner"), member(make, blue, "Ben", "owner")
    seat, out, stranger = browser(ana), browser(ben), browser(make.human("Eve"))
    forms = {"team": str(blue.id)}
    seat.post(f"/teams/blue/members/{ben.id}/remove")

    removed = out.post("/teams/blue/leave", dict(forms)).status_code
    make.member(blue, ben)
    out.post("/teams/blue/leave", dict(forms))
    before = out.post("/teams/blue/leave", dict(forms)).status_code
    others = [stranger.post(f"/teams/{slug}/{act}", dict(forms))
              for act in ("leave", "delete", "transfer", "edit") for slug in ("blue", "green")]
    make.run("update operator_audit set at = at - interval '2 hours'")
    after = out.post("/teams/blue/leave", dict(forms)).status_code

    assert (removed, before, after) == (404, 303, 404)
    assert {(one.status_code, one.data) for one in others} == {(404, others[0].data)}


def test_outside_the_team_every_page_reads_like_that_of_an_unknown_slug(
    browser: Browse, make: Make, blue: Team
) -> None:
    member(make, blue, "Ana", "owner")
    seat = browser(make.human("Ben"))

    for below in ("", "/edit", "/leave", "/transfer", "/delete", "/invites", "/groups"):
        foreign, unknown = seat.get(f"/teams/blue{below}"), seat.get(f"/teams/green{below}")
        assert (foreign.status_code, foreign.data) == (404, unknown.data)


def test_a_team_whose_slug_is_the_address_of_another_page_is_reached_by_its_id(
    browser: Browse, make: Make
) -> None:
    seat = browser(make.human())

    made = seat.post("/teams/new", {"slug": "new", "display_name": ""})
    team = make.value("select id from teams where slug = 'new'")

    assert made.headers["Location"] == f"/teams/{team}#role"
    assert f"/teams/{team}/edit" in links(seat.get(f"/teams/{team}").text)
    assert f"/teams/{team}" in links(seat.get("/teams").text)
