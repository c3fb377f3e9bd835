"""Connected apps: who may act for a person, and how that ends."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from werkzeug.test import TestResponse

from app.domain.verbs import ADMISSION
from tests.support import page
from tests.support.client import Browser
from tests.support.make import Make
from tests.web import asking

Browse = Callable[..., Browser]


def rows(answer: TestResponse) -> list[str]:
    """The rows of the table, each as its words."""
    text = re.sub("[\u2066-\u2069]", "", answer.text)
    return [" ".join(row.text.split()) for row in page.parse(text).all("tr")][1:]


def test_every_app_is_listed_with_what_it_may_do_and_whose_it_is(
    browser: Browse, make: Make
) -> None:
    ana, ben = make.human("Ana"), make.human("Ben")
    lane = make.endpoint(ana, verbs=("claim_next", *ADMISSION))
    asking.grant(make, ana, "Widget CLI")
    asking.grant(make, lane, "Widget <b>agent</b>")
    asking.grant(make, ben, "of another")
    ended = asking.grant(make, ana, "ended")
    make.run("update oauth_tokens set revoked_at = clock() where grant_id = %s", ended)

    shown = browser(ana).get("/settings/apps")

    agent, cli = rows(shown)
    assert agent.startswith(f"Widget <b>agent</b> endpoint {lane.slug} claim_next")
    assert "set_admission_policy and clear_admission_policy let it change its own budget." in agent
    assert cli.startswith("Widget CLI you everything you may do")
    assert "never" in cli
    assert "<b>" not in shown.text


def test_without_an_app_it_says_so_and_settings_lead_here(browser: Browse, make: Make) -> None:
    seat = browser(make.human())

    assert "No app is connected." in seat.get("/settings/apps").text
    assert 'href="/settings/apps"' in seat.get("/settings").text


@pytest.mark.rule("identity.md: OAuth server")
def test_disconnecting_asks_first_and_ends_the_grant(browser: Browse, make: Make) -> None:
    ana = make.human()
    lane = make.endpoint(ana)
    grant, seat = asking.grant(make, lane), browser(ana)
    path = f"/settings/apps/{grant}/revoke"

    assert "Disconnect" in seat.get(path).text
    assert make.value("select revoked_at from oauth_tokens") is None
    ended = seat.post(path)

    assert (ended.status_code, ended.headers["Location"]) == (303, "/settings/apps#apps")
    assert make.value("select revoked_at from oauth_tokens") is not None
    assert "is disconnected. It can do nothing more." in seat.get("/settings/apps").text
    assert seat.post(path).headers["Location"] == "/settings/apps#apps"
    after = seat.get("/settings/apps").text
    assert "That app is not connected any more." in after
    assert '<h2 id="apps" tabindex="-1">' in after
    assert seat.get(path).status_code == 404
    assert browser(make.human()).post(path).status_code == 404
    assert 'href="/settings/apps"' in seat.get(f"/endpoints/{lane.id}").text


def test_an_admin_of_a_team_ends_an_app_of_its_endpoint_and_a_member_sees_none(
    browser: Browse, make: Make
) -> None:
    team, owner, admin, hand = make.team(), *(make.human() for _ in range(3))
    for human, role in ((owner, "owner"), (admin, "admin"), (hand, "member")):
        make.member(team, human, role)
    grant = asking.grant(make, make.endpoint(owner, team))
    path = f"/settings/apps/{grant}/revoke"

    assert "No app is connected." in browser(hand).get("/settings/apps").text
    assert browser(hand).post(path).status_code == 404
    assert browser(admin).post(path).status_code == 303
