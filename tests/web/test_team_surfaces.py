"""Teams on the pages there were before them: who sees, who works, who sets up, and who nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from werkzeug.test import TestResponse

from app.domain.callers import Human
from tests.support import page
from tests.support.client import Browser
from tests.support.make import Make, QueueId, Team
from tests.web.test_vend import TYPED, hidden, walk

pytestmark = pytest.mark.rule("identity.md: Teams")
Seat = Callable[..., Browser]
VEND = "/endpoints/vend"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """A team with a queue under a budget, one person of each role, and one of another team."""

    team: Team
    triage: QueueId
    boss: Human
    chief: Human
    hand: Human
    stranger: Human
    others: QueueId


@pytest.fixture
def crew(make: Make) -> Crew:
    """The team `night`."""
    team, other = make.team("night"), make.team("day")
    boss, chief, hand, stranger = (make.human(name) for name in ("Boss", "Chief", "Hand", "Eve"))
    for human, role in ((boss, "owner"), (chief, "admin"), (hand, "member")):
        make.member(team, human, role)
    make.member(other, stranger, "owner")
    triage = make.team_queue(team, "triage")
    make.policy(triage, max_in_flight=5, max_claims_per_window=100, human=boss)
    return Crew(team=team, triage=triage, boss=boss, chief=chief, hand=hand, stranger=stranger,
                others=make.team_queue(other, "triage"))  # fmt: skip


def text(answer: TestResponse) -> str:
    """The words of a page, without markup and runs of space."""
    main = next(element for element in page.parse(answer.text).elements if element.tag == "main")
    return " ".join(main.text.split())


def links(answer: TestResponse) -> dict[str, str]:
    """Where each link of a page leads, by its text."""
    return {" ".join(a.text.split()): str(a.get("href")) for a in page.parse(answer.text).all("a")}


def choices(answer: TestResponse, name: str) -> list[str]:
    """The values a field of that name offers: options of a select, or radio buttons."""
    shown = page.parse(answer.text)
    radios = [each for each in shown.all("input") if each.get("name") == name]
    lists = [each for each in shown.all("select") if each.get("name") == name]
    options = [each for each in shown.all("option") if any(one in each.inside for one in lists)]
    return [str(each.get("value")) for each in [*radios, *options]]


# --- vending for a team --------------------------------------------------------------------------


def test_the_wizard_offers_the_teams_one_may_vend_for_and_no_other(
    browser: Seat, make: Make, crew: Crew
) -> None:
    offered = {human.display_name: choices(browser(human).get(f"{VEND}/agent"), "owner")
               for human in (crew.boss, crew.chief, crew.hand, crew.stranger)}  # fmt: skip
    make.run("update teams set suspended_at = clock() where slug = 'night'")
    offered["suspended"] = choices(browser(crew.boss).get(f"{VEND}/agent"), "owner")

    assert offered == {"Boss": ["me", "night"], "Chief": ["me", "night"], "Hand": [],
                       "Eve": ["me", "day"], "suspended": []}  # fmt: skip


def test_an_admin_vends_for_the_team_and_stays_accountable(
    browser: Seat, make: Make, crew: Crew
) -> None:
    seat = browser(crew.chief)
    walk(seat, "confirm")
    own = text(seat.get(f"{VEND}/confirm"))
    seat.post(f"{VEND}/agent?review=1", {**TYPED["agent"], "owner": "night"})
    review = seat.get(f"{VEND}/confirm")
    kept = seat.get(f"{VEND}/agent?review=1")

    shown = seat.get(seat.post(f"{VEND}/confirm", hidden(review)).headers["Location"])

    assert "Owner You." in own
    assert "Owner Team night: its admins and owners can change and revoke" in text(review)
    assert links(review)["Change the owner"] == f"{VEND}/agent?review=1"
    assert [box.get("value") for box in page.parse(kept.text).all("input")
            if box.get("name") == "owner" and "checked" in box.attributes] == ["night"]
    assert shown.status_code == 200
    assert make.rows("select a.owner_team_id, a.owner_human_id, e.vended_by_human_id from agents a"
                     " join endpoints e on e.agent_id = a.id") == [
                         (crew.team.id, None, crew.chief.id)]


def test_a_team_one_may_not_vend_for_is_refused_like_one_that_does_not_exist(
    browser: Seat, make: Make, crew: Crew
) -> None:
    answers = []
    for human, slug in ((crew.hand, "night"), (crew.chief, "day"), (crew.chief, "nowhere")):
        answer = browser(human).post(f"{VEND}/agent", {"name": "m", "owner": slug})
        answers.append((answer.status_code, "Choose yourself, or a team" in answer.text))

    assert answers == [(422, True)] * 3
    assert make.value("select count(*) from drafts") == 0


@pytest.mark.parametrize("loses", ["role", "membership"])
def test_who_lost_the_team_before_confirming_vends_nothing_and_may_choose_again(
    browser: Seat, make: Make, crew: Crew, loses: str
) -> None:
    seat = browser(crew.chief)
    walk(seat, "confirm")
    seat.post(f"{VEND}/agent?review=1", {"name": "lane m", "owner": "night"})
    reviewed = hidden(seat.get(f"{VEND}/confirm"))
    make.remove_member(crew.team, crew.chief)
    if loses == "role":
        make.member(crew.team, crew.chief)

    refused = seat.post(f"{VEND}/confirm", reviewed)
    seat.post(f"{VEND}/agent?review=1", {"name": "lane m", "owner": "me"})
    vended = seat.post(f"{VEND}/confirm", hidden(seat.get(f"{VEND}/confirm")))

    assert refused.status_code == 409
    assert "You may not vend for team" in refused.text
    assert vended.headers["Location"].startswith("/endpoints/shown/")
    assert make.rows("select owner_team_id, owner_human_id from agents") == [(None, crew.chief.id)]


def test_a_review_read_before_the_owner_changed_vends_nothing(
    browser: Seat, make: Make, crew: Crew
) -> None:
    seat = browser(crew.chief)
    walk(seat, "confirm")
    reviewed = hidden(seat.get(f"{VEND}/confirm"))
    seat.post(f"{VEND}/agent?review=1", {"name": "lane m", "owner": "night"})

    assert seat.post(f"{VEND}/confirm", reviewed).status_code == 409
    assert make.value("select count(*) from agents") == 0
