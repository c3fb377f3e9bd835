"""Teams in the frame of every page: the view stands there once the person is in one."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.client import Browser
from tests.support.make import Make
from tests.support.page import parse


def views(page: str) -> list[str]:
    """The labels of the navigation."""
    found = parse(page)
    return [link.text for link in found.all("a")
            if any(outer.get("aria-label") == "Views" for outer in link.inside)]  # fmt: skip


def test_teams_stand_among_the_views_once_the_person_is_in_one(
    browser: Callable[..., Browser], make: Make
) -> None:
    ana, team = make.human(), make.team("blue")
    make.member(make.team("red"), make.human())
    seat = browser(ana)

    before = views(seat.get("/").text)
    make.member(team, ana)
    during = views(seat.get("/").text)
    make.remove_member(team, ana)

    assert "Teams" not in before
    assert during == [*before[:5], "Teams", *before[5:]]
    assert views(seat.get("/").text) == before
