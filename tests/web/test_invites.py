"""Invites: a link made once and shown once, a page that changes nothing, one button."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.domain.callers import Human
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make, Team
from tests.support.page import parse
from tests.web import scene
from tests.web.test_team_people import options
from tests.web.test_teams import links, member, said

Browse = Callable[[Human], Browser]
ACCEPT = {"decision": "accept"}


@pytest.fixture
def blue(make: Make) -> Team:
    """A team nobody is in yet."""
    return make.team("blue")


def invited(seat: Browser, role: str = "member", **more: object) -> str:
    """The path of a fresh invite's page."""
    answer = seat.post("/teams/blue/invites", {"email": "Eve@example.org", "role": role, **more})
    assert answer.status_code == 200, answer.text
    found = re.search(r'id="link" value="http://localhost(/invites/[^"]+)"', answer.text)
    assert found is not None
    return html.unescape(found[1])


@pytest.mark.rule("operator-api.md: Teams")
def test_the_link_is_shown_once_to_copy_and_opens_the_team(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat, eve = browser(member(make, blue, "Ana", "admin")), browser(make.human("Eve"))

    path = invited(seat, "admin")
    asked, again = eve.get(path), eve.get(path)
    joined = eve.post(path, ACCEPT)

    assert path.removeprefix("/invites/") not in seat.get("/teams/blue/invites").text
    assert asked.data == again.data
    assert "Invite to blue</h1>" in asked.text
    assert "invited to be an admin of blue" in asked.text
    assert "keeps their role there when it is the stronger one" in " ".join(asked.text.split())
    assert "Accept and be an admin of blue</button>" in asked.text
    assert joined.headers["Location"] == "/teams/blue#role"
    assert said(eve.get("/teams/blue").text) == "You are an admin of blue now."
    lists = seat.get("/teams/blue/invites").text
    assert "eve@example.org" in lists
    assert ">accepted<" in lists


def test_the_record_names_the_invite_by_its_label(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat, eve = browser(member(make, blue, "Ana", "admin")), browser(make.human("Eve"))

    eve.post(invited(seat), ACCEPT)
    invited(seat, once="another")
    open_one = make.value("select id from team_invites where accepted_at is null")
    seat.post(f"/teams/blue/invites/{open_one}/revoke")
    page = seat.get("/teams/blue").text

    assert "invited eve@example.org as member" in page
    assert "accepted the invite for eve@example.org as member" in page
    assert "revoked the invite for eve@example.org" in page


def test_the_same_form_sent_twice_makes_one_invite_and_shows_it_twice(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat = browser(member(make, blue, "Ana", "admin"))

    paths = [invited(seat, once="the very same form") for _ in range(2)]

    assert paths[0] == paths[1] != invited(seat, once="another")
    assert make.value("select count(*) from team_invites") == 2


def test_a_role_is_offered_and_given_up_to_ones_own(
    browser: Browse, make: Make, blue: Team
) -> None:
    admin, owner = (browser(member(make, blue, role, role)) for role in ("admin", "owner"))

    above = admin.post("/teams/blue/invites", {"email": "typed@example.org", "role": "owner"})
    blank = admin.post("/teams/blue/invites", {"email": " ", "role": "admin"})

    assert options(admin.get("/teams/blue/invites").text, "role") == ["member", "admin"]
    assert options(owner.get("/teams/blue/invites").text, "role") == ["member", "admin", "owner"]
    assert above.status_code == 403
    assert 'value="typed@example.org"' in above.text
    assert "a role above their own" in above.text
    assert "<title>Error: Invites" in above.text
    assert blank.status_code == 422
    assert 'href="#email"' in blank.text
    assert make.value("select count(*) from team_invites") == 0


def test_a_look_changes_nothing_and_who_is_signed_out_comes_back_after_signing_in(
    app: Flask, client: FlaskClient, browser: Browse, make: Make, blue: Team
) -> None:
    path = invited(browser(member(make, blue, "Ana", "owner")))
    before = scene.everything(make)

    asked = client.get(path)

    assert scene.everything(make) == before
    assert asked.status_code == 200
    assert asked.headers["Referrer-Policy"] == "same-origin"
    assert "invited to be a member of blue" in asked.text
    assert "/login" in links(asked.text)
    assert "<form" not in asked.text
    assert path.removeprefix("/invites/") not in asked.text
    signed_in = client.post(f"/auth/link/{make.login_link(make.human('Eve'))}")
    assert signed_in.headers["Location"] == path
    assert "Accept and be a member of blue" in client.get(path).text
    elsewhere = app.test_client().post(f"/auth/link/{make.login_link(make.human())}")
    assert elsewhere.headers["Location"] == "/"


@pytest.mark.rule("operator-api.md: Teams")
def test_used_revoked_expired_and_unknown_links_read_alike(
    browser: Browse, make: Make, blue: Team, clock: Clock
) -> None:
    clock.set("2026-10-01T12:00:00Z")
    ana = member(make, blue, "Ana", "owner")
    late = invited(browser(ana))
    clock.set("2026-10-08T12:00:00Z")
    seat = browser(ana)
    used, taken = invited(seat), invited(seat)
    make.run("update team_invites set revoked_at = clock() where token_sha256 ="
             " encode(sha256(convert_to(%s, 'UTF8')), 'hex')", taken.removeprefix("/invites/"))
    eve = browser(make.human("Eve"))
    assert eve.post(used, ACCEPT).status_code == 303
    other = browser(make.human("Mallory"))

    looks = [other.get(path) for path in (late, used, taken, "/invites/nothing", "/invites/%00")]
    posts = [other.post(path, ACCEPT) for path in (late, used, taken, "/invites/nothing")]

    assert {one.status_code for one in [*looks, *posts]} == {404}
    assert len({one.data for one in [*looks, *posts]}) == 1
    assert "Invite not valid</h1>" in looks[0].text
    assert make.value("select count(*) from team_members") == 2


def test_one_link_lets_one_person_in(browser: Browse, make: Make, blue: Team) -> None:
    path = invited(browser(member(make, blue, "Ana", "owner")))
    eve, mallory = browser(make.human("Eve")), browser(make.human("Mallory"))

    answers = [eve.post(path, ACCEPT), eve.post(path, ACCEPT), mallory.post(path, ACCEPT)]
    make.run("delete from team_members where role = 'member'")
    out = eve.post(path, ACCEPT)

    assert [one.status_code for one in answers] == [303, 303, 404]
    assert [one.headers["Location"] for one in answers[:2]] == ["/teams/blue#role"] * 2
    assert (out.status_code, "Invite not valid</h1>" in out.text) == (404, True)
    assert "/teams" in links(out.text)


def test_an_invite_is_revoked_after_it_was_asked_once(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat, eve = browser(member(make, blue, "Ana", "admin")), browser(make.human("Eve"))
    path = invited(seat)
    revoke = f"/teams/blue/invites/{make.value('select id from team_invites')}/revoke"

    offered, asked = links(seat.get("/teams/blue/invites").text), seat.get(revoke)
    alive = eve.get(path).status_code
    answers = [seat.post(revoke), seat.post(revoke)]

    assert revoke in offered
    assert "Revoke the invite for eve@example.org</h1>" in asked.text
    assert (alive, eve.get(path).status_code, eve.post(path, ACCEPT).status_code) == (200, 404, 404)
    assert [one.headers["Location"] for one in answers] == ["/teams/blue/invites#invites"] * 2
    page = seat.get("/teams/blue/invites").text
    assert "revoked already" in page
    assert revoke not in links(page)
    late = seat.get(revoke)
    assert late.status_code == 303
    assert "has ended: revoked" in said(seat.get("/teams/blue/invites").text)


def test_an_accepted_invite_cannot_be_revoked_and_says_what_to_do(
    browser: Browse, make: Make, blue: Team
) -> None:
    seat, eve = browser(member(make, blue, "Ana", "admin")), browser(make.human("Eve"))
    eve.post(invited(seat), ACCEPT)

    seat.post(f"/teams/blue/invites/{make.value('select id from team_invites')}/revoke")

    assert "Remove the member instead." in said(seat.get("/teams/blue/invites").text)
    assert make.value("select count(*) from team_members") == 2


def test_the_token_of_an_invite_is_in_no_log(
    browser: Browse, make: Make, blue: Team, caplog: pytest.LogCaptureFixture
) -> None:
    seat, eve = browser(member(make, blue, "Ana", "owner")), browser(make.human("Eve"))

    with caplog.at_level("DEBUG"):
        path = invited(seat)
        eve.get(path)
        eve.post(path, ACCEPT)
        eve.post(path, ACCEPT)

    assert path.removeprefix("/invites/") not in caplog.text


def test_who_is_in_as_many_teams_as_allowed_reads_so_and_the_link_still_works(
    app: Flask, browser: Browse, make: Make, blue: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, eve = invited(browser(member(make, blue, "Ana", "owner"))), make.human("Eve")
    seat = browser(eve)
    make.run("insert into teams (id, slug, display_name) select gen_random_uuid(), 'team-' || n,"
             " 'x' from generate_series(1, 100) n")  # fmt: skip
    make.run("insert into team_members (team_id, human_id, role) select id, %s, 'member'"
             " from teams where slug like 'team-%%'", eve.id)  # fmt: skip

    refused = seat.post(path, ACCEPT)
    make.run("delete from team_members where human_id = %s", eve.id)

    assert refused.status_code == 409
    assert "as many teams as" in refused.text
    assert "Accept and be a member of blue" in refused.text
    assert seat.post(path, ACCEPT).status_code == 303


@pytest.mark.rule("operator-api.md: Teams")
def test_an_invite_whose_maker_may_no_longer_give_the_role_is_listed_as_void(
    browser: Browse, make: Make, blue: Team
) -> None:
    ana = member(make, blue, "Ana", "owner")
    seat = browser(ana)
    as_owner, as_member = invited(seat, "owner"), invited(seat)
    make.run("update team_members set role = 'admin' where human_id = %s", ana.id)

    listed = seat.get("/teams/blue/invites").text
    answers = [browser(make.human()).get(path).status_code for path in (as_owner, as_member)]

    assert listed.count(">void, its maker may no longer give that role<") == 1
    assert listed.count(">open<") == 1
    assert answers == [404, 200]


@pytest.mark.rule("identity.md: Sessions and pages")
def test_a_refused_acceptance_leads_to_the_page_that_names_the_team(
    browser: Browse, make: Make, blue: Team
) -> None:
    path = invited(browser(member(make, blue, "Ana", "admin")))
    eve = browser(make.human("Eve"))

    kept = eve.post(path, {**ACCEPT, "csrf_token": "old"})
    looked = eve.post(path)

    assert kept.status_code == 403
    assert "Look at the invite</button>" in kept.text
    assert "accept" not in [one.get("value") for one in parse(kept.text).all("input")]
    assert looked.status_code == 200
    assert "Accept and be a member of blue</button>" in looked.text
    assert make.value("select count(*) from team_members") == 1
