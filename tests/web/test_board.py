"""The first page: what a stranger reads, and what the owner of endpoints sees."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from flask.testing import FlaskClient

from app.web import present
from tests.support.client import Browser
from tests.support.make import Make


def cells(page: str, first: str) -> list[str]:
    """The texts of the table row that starts with `first`."""
    row = page.split(f'<th scope="row">{first}</th>')[1].split("</tr>")[0]
    return [cell.split(">")[1].split("<")[0] for cell in row.split("<td")[1:]]


def test_a_stranger_reads_what_this_is_and_how_to_sign_in(client: FlaskClient) -> None:
    page = client.get("/")

    assert page.status_code == 200
    assert "work queue for agents" in page.text
    assert 'href="/login"' in page.text
    assert "Sign out" not in page.text


def test_an_unknown_cookie_is_a_stranger(client: FlaskClient) -> None:
    client.set_cookie("sb_session", "unknown", domain="localhost")

    assert "work queue for agents" in client.get("/").text


def test_someone_without_endpoints_is_told_the_next_step(
    browser: Callable[..., Browser], make: Make
) -> None:
    page = browser(make.human()).get("/").text

    assert "You have no endpoint." in page
    assert "switchboard endpoint vend" in page


def test_the_owner_sees_each_queue_with_its_todos_counted_by_state(
    browser: Callable[..., Browser], make: Make
) -> None:
    ana = make.human("Ana")
    lane = make.endpoint(ana, queues=("lane-m", "idle"))
    for state, count in (("pending", 3), ("claimed", 1), ("done", 2), ("failed", 1)):
        for _ in range(count):
            make.todo(lane, "lane-m", state=state)

    page = browser(ana).get("/").text

    assert cells(page, "lane-m") == [lane.slug, "3", "1", "2", "1"]
    assert cells(page, "idle") == [lane.slug, "0", "0", "0", "0"]
    assert cells(page, lane.slug)[:4] == [lane.agent_name, "you", "active", "lane-m, idle"]


def test_nobody_sees_what_belongs_to_another(browser: Callable[..., Browser], make: Make) -> None:
    theirs = make.endpoint(make.human("Ben"), queues=("secret-lane",))
    make.todo(theirs, "secret-lane")

    page = browser(make.human("Ana")).get("/").text

    assert "secret-lane" not in page
    assert theirs.slug not in page


def test_a_member_sees_the_teams_endpoints_and_queues_until_they_leave(
    browser: Callable[..., Browser], make: Make
) -> None:
    team, ana = make.team("night"), make.human("Ana")
    lane = make.endpoint(team=team, queues=("inbox",))
    make.todo(queue=make.team_queue(team, "triage"))
    make.member(team, ana)
    seat = browser(ana)

    seen = seat.get("/").text
    make.remove_member(team, ana)

    assert cells(seen, "team:night/triage") == ["team", "1", "0", "0", "0"]
    assert cells(seen, lane.slug)[1] == "team night"
    assert "night" not in seat.get("/").text


def test_a_name_is_shown_as_text_whatever_it_holds(
    browser: Callable[..., Browser], make: Make
) -> None:
    ana = make.human("<script>alert(1)</script>")
    make.endpoint(ana, queues=("<img src=x>",))

    page = browser(ana).get("/").text

    assert "<script>alert" not in page
    assert "&lt;img src=x&gt;" in page


def test_an_expired_endpoint_reads_revoked_before_the_reaper_came(
    browser: Callable[..., Browser], make: Make
) -> None:
    ana = make.human()
    lane = make.endpoint(ana, expires_at=make.now())

    assert cells(browser(ana).get("/").text, lane.slug)[2] == "revoked"


def test_a_persons_theme_and_zone_are_in_the_page(
    browser: Callable[..., Browser], make: Make
) -> None:
    ana = make.human()
    make.run("update humans set theme = 'dark', zone = 'America/Los_Angeles'")
    make.endpoint(ana, expires_at=datetime(2031, 1, 2, 3, 4, tzinfo=UTC))

    page = browser(ana).get("/").text

    assert 'data-theme="dark"' in page
    assert '<time datetime="2031-01-02T03:04:00Z">1 Jan 2031, 19:04 PST</time>' in page


def test_a_moment_without_a_zone_is_said_in_utc() -> None:
    moment = datetime(2026, 9, 3, 5, 6, 7, tzinfo=UTC)

    said = present.instant(moment, None)

    assert said == present.Instant(machine="2026-09-03T05:06:07Z", words="3 Sep 2026, 05:06 UTC")
    assert present.instant(None, None) is None
