"""The endpoints a person sees, one endpoint's page, its default lease, and deleting it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from flask.testing import FlaskClient

from app.domain.callers import Endpoint, Human
from app.domain.verbs import BASICS
from tests.support import page
from tests.support.client import Browser
from tests.support.make import Make

Seat = Callable[..., Browser]


@pytest.fixture
def ana(make: Make) -> Human:
    """Who owns the endpoints."""
    return make.human("Ana")


def at(endpoint: Endpoint, act: str = "") -> str:
    """The address of an endpoint's page, or of an act on it."""
    return f"/endpoints/{endpoint.id}{act}"


def text(answer: str) -> str:
    """The words of a page, without markup and runs of space."""
    main = next(element for element in page.parse(answer).elements if element.tag == "main")
    return " ".join(main.text.split())


def links(answer: str) -> dict[str, str]:
    """Where each link of a page leads, by its text."""
    return {" ".join(a.text.split()): str(a.get("href")) for a in page.parse(answer).all("a")}


def test_someone_without_endpoints_is_told_what_one_is_and_the_next_step(
    browser: Seat, make: Make
) -> None:
    shown = browser(make.human()).get("/endpoints").text

    assert "You have no endpoint." in shown
    assert links(shown)["Vend your first endpoint"] == "/endpoints/vend/agent"


def test_the_list_shows_own_and_team_endpoints_and_nobody_elses(
    browser: Seat, make: Make, ana: Human
) -> None:
    team = make.team("night")
    make.member(team, ana)
    old = make.endpoint(ana, expires_at=make.now())
    own = make.endpoint(ana, queues=("lane-m", "idle"),
                        expires_at=datetime(2031, 1, 2, 3, 4, tzinfo=UTC))
    shared, foreign = make.endpoint(team=team), make.endpoint(make.human())

    shown = browser(ana).get("/endpoints").text

    rows = [row.text.split() for row in page.parse(shown).all("tr")][1:]
    assert [row[0] for row in rows] == [shared.slug, own.slug, old.slug]
    assert "lane-m, idle" in " ".join(rows[1])
    assert "2 Jan 2031, 03:04 UTC" in " ".join(rows[1])
    assert "team night" in " ".join(rows[0])
    assert "revoked" in rows[2]
    assert foreign.slug not in shown
    assert links(shown)[own.slug] == at(own)


def test_the_page_says_the_grant_in_words_and_leads_to_queues_webhooks_and_todos(
    browser: Seat, make: Make, ana: Human
) -> None:
    lane = make.endpoint(ana, queues=("lane-m", "idle"), verbs=("claim_next", "heartbeat"),
                         default_lease_ttl_seconds=900)
    hook = make.webhook(lane, target_queue="lane-m")
    held = make.todo(lane, "lane-m", state="claimed", title="Held by it")
    make.todo(lane, "lane-m", state="claimed", holder=ana, title="Held by Ana")
    orphan = make.queue(lane, "outside")

    shown = browser(ana).get(at(lane)).text

    said, to = text(shown), links(shown)
    assert "claim_next: claim the oldest pending todo" in said
    assert "complete:" not in said
    assert "900 seconds, its own default" in said
    assert "vended by Ana" not in said
    assert "by Ana" in said
    assert "can change its own budget" not in said
    assert to["lane-m"] == f"/queues/{make.queue_id(lane, 'lane-m')}"
    assert to["idle"] == f"/queues/{make.queue_id(lane, 'idle')}"
    assert to["outside"] == f"/queues/{orphan}"
    assert "outside (not in its grant" in said
    assert to["github to lane-m"] == f"/webhooks/{hook.id}"
    assert to["Held by it"] == f"/todos/{held}"
    assert "Held by Ana" not in said
    assert to[f"Revoke {lane.slug}"] == at(lane, "/revoke")
    assert make.credential(lane) not in shown
    assert hook.token not in shown


def test_a_grant_that_changes_limits_is_marked(browser: Seat, make: Make, ana: Human) -> None:
    lane = make.endpoint(ana, verbs=(*BASICS, "clear_admission_policy"))

    assert "The agent can change its own budget." in browser(ana).get(at(lane)).text


def test_team_todos_it_holds_and_team_queues_it_drains_are_shown(
    browser: Seat, make: Make, ana: Human
) -> None:
    team = make.team("night")
    make.member(team, ana)
    lane, triage = make.endpoint(ana), make.team_queue(team, "triage")
    make.grant(lane, triage)
    make.todo(queue=triage, state="claimed", holder=lane, title="Team work")
    seat = browser(ana)

    shown = seat.get(at(lane)).text
    make.remove_member(team, ana)

    assert links(shown)["team:night/triage"] == f"/queues/{int(triage)}"
    assert "Team work" in shown
    later = seat.get(at(lane)).text
    assert "Team work" not in later
    assert "team:night/triage" not in later


def test_fifty_held_todos_are_shown_and_more_are_said(
    browser: Seat, make: Make, ana: Human
) -> None:
    lane = make.endpoint(ana)
    for number in range(51):
        make.todo(lane, state="claimed", lease=300 + number, title=f"held {number:02}")

    shown = browser(ana).get(at(lane)).text

    assert "More than 50" in shown
    assert "held 00" in shown
    assert "held 49" in shown
    assert "held 50" not in shown


def test_another_webhook_is_offered_up_to_the_ceiling(
    browser: Seat, make: Make, ana: Human
) -> None:
    lane, seat = make.endpoint(ana, webhook_max=1), browser(ana)
    offer = f"Create a webhook for {lane.slug}"

    first = links(seat.get(at(lane)).text)
    make.webhook(lane)

    assert first[offer] == f"/webhooks/new?endpoint={lane.id}"
    assert offer not in links(seat.get(at(lane)).text)


# --- the default lease ---------------------------------------------------------------------------


def test_the_default_lease_is_changed_and_cleared(browser: Seat, make: Make, ana: Human) -> None:
    lane, seat = make.endpoint(ana), browser(ana)

    saved = seat.post(at(lane), {"default_lease_ttl_seconds": " 900 "})
    shown = seat.get(at(lane)).text
    cleared = seat.post(at(lane), {"default_lease_ttl_seconds": ""})

    assert saved.headers["Location"] == at(lane, "#default_lease_ttl_seconds")
    assert f"A claim of {lane.slug} lasts 900 seconds" in shown
    assert 'value="900"' in shown
    assert cleared.status_code == 303
    assert make.value("select default_lease_ttl_seconds from endpoints") is None


@pytest.mark.parametrize("typed", ["59", "86401", "ten", "9.5", "-900", "\u0669\u0660", "1" * 40])
def test_a_wrong_default_lease_is_refused_with_what_was_typed(
    browser: Seat, make: Make, ana: Human, typed: str
) -> None:
    lane = make.endpoint(ana, default_lease_ttl_seconds=300)

    answer = browser(ana).post(at(lane), {"default_lease_ttl_seconds": typed})

    assert answer.status_code == 422
    assert "<title>Error: Endpoint" in answer.text
    assert "whole seconds from 60 to 86400" in answer.text
    assert f'value="{typed}"' in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert make.value("select default_lease_ttl_seconds from endpoints") == 300


def test_a_lease_posted_without_a_session_is_kept(client: FlaskClient, make: Make) -> None:
    lane = make.endpoint()

    answer = client.post(at(lane), data={"default_lease_ttl_seconds": "901"})

    assert answer.status_code == 401
    assert 'value="901"' in answer.text


# --- who may -------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["", "/revoke", "/delete"])
def test_foreign_unknown_and_malformed_are_one_page_for_looks_and_acts(
    browser: Seat, make: Make, act: str
) -> None:
    seat, foreign = browser(make.human()), make.endpoint(make.human())
    revoked = make.endpoint(make.human())
    make.run("update endpoints set state = 'revoked' where id = %s", revoked.id)
    unknown = "00000000-0000-4000-8000-000000000000"
    names = (foreign.id, revoked.id, unknown, "x", foreign.slug, "7")

    looks = [seat.get(f"/endpoints/{name}{act}") for name in names]
    posts = [seat.post(f"/endpoints/{name}{act}", {"default_lease_ttl_seconds": "900"})
             for name in names]

    assert {answer.status_code for answer in looks + posts} == {404}
    assert len({answer.data for answer in looks}) == 1
    assert len({answer.data for answer in posts}) == 1
    assert make.value("select count(*) from endpoints where state = 'active'") == 1


def test_a_stranger_is_sent_to_sign_in_whatever_the_address(
    client: FlaskClient, make: Make
) -> None:
    lane = make.endpoint()

    for path in ("/endpoints", at(lane), at(lane, "/revoke"), "/endpoints/x", at(lane, "/delete")):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["Location"]) == (302, "/login")


@pytest.mark.parametrize(("role", "may"), [("member", False), ("admin", True), ("owner", True)])
def test_a_team_endpoint_is_seen_by_members_and_configured_by_admins_only(
    browser: Seat, make: Make, ana: Human, role: str, *, may: bool
) -> None:
    team = make.team()
    make.member(team, ana, role)
    lane = make.endpoint(make.human("Ben"), team)
    make.webhook(lane)
    seat = browser(ana)

    shown = seat.get(at(lane))
    answers = [seat.post(at(lane), {"default_lease_ttl_seconds": "900"}),
               seat.get(at(lane, "/revoke")), seat.post(at(lane, "/revoke")),
               seat.post(at(lane, "/delete"))]

    assert shown.status_code == 200
    assert ("Save the default lease" in shown.text) is may
    assert ("github to inbox" in shown.text) is may
    assert ("An admin of the team" in shown.text) is not may
    assert [answer.status_code for answer in answers] == (
        [303, 200, 303, 303] if may else [404] * 4)


# --- deleting ------------------------------------------------------------------------------------


def test_an_active_endpoint_is_not_deleted(browser: Seat, make: Make, ana: Human) -> None:
    lane, seat = make.endpoint(ana), browser(ana)

    answers = [seat.get(at(lane, "/delete")), seat.post(at(lane, "/delete"))]

    assert [answer.status_code for answer in answers] == [409, 409]
    assert all("Revoke the endpoint before" in answer.text for answer in answers)
    assert make.value("select count(*) from endpoints") == 1


def test_a_revoked_endpoint_is_deleted_after_its_page_said_what_goes(
    browser: Seat, make: Make, ana: Human
) -> None:
    lane, seat = make.endpoint(ana), browser(ana)
    seat.post(at(lane, "/revoke"))

    shown = links(seat.get(at(lane)).text)
    asked = seat.get(at(lane, "/delete"))
    gone = seat.post(at(lane, "/delete"))

    assert shown[f"Delete {lane.slug}"] == at(lane, "/delete")
    assert f"Revoke {lane.slug}" not in shown
    assert "Nothing of it can be brought back." in asked.text
    assert gone.headers["Location"] == "/endpoints"
    assert f"{lane.slug} is deleted." in seat.get("/endpoints").text
    assert make.value("select count(*) from agents") == 0
    assert seat.get(at(lane)).status_code == 404
