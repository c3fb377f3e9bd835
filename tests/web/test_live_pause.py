"""Pausing live updates: a plain form, kept with the session, and a page that then opens nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from app.domain.callers import Human
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make

pytestmark = [pytest.mark.req("REQ-11"), pytest.mark.rule("accessibility.md 1.4")]

Seat = Callable[[Human], Browser]


@pytest.fixture
def ana(make: Make) -> Human:
    ana = make.human("Ana")
    make.endpoint(ana)
    return ana


def test_a_paused_page_opens_no_stream_and_says_since_when(
    browser: Seat, make: Make, clock: Clock, ana: Human
) -> None:
    clock.set("2026-03-10T10:42:00Z")
    seat = browser(ana)
    assert 'data-sse-connect="/events?cards=2026-03-10T10:42:00Z"' in seat.get("/").text

    answer = seat.post("/live/pause", {"back": "/"})
    clock.advance(3600)
    seat.post("/live/pause", {"back": "/"})

    assert (answer.status_code, answer.headers["Location"]) == (303, "/#pause")
    for path in ("/", "/todos"):
        page = seat.get(path).text
        assert "data-sse-connect" not in page
    assert "Live updates paused at 10:42 UTC on 10 Mar 2026" in seat.get("/").text
    assert 'action="/live/resume"' in seat.get("/").text


def test_resuming_opens_the_stream_again_and_another_session_never_stopped(
    browser: Seat, ana: Human
) -> None:
    seat, other = browser(ana), browser(ana)
    seat.post("/live/pause", {"back": "/"})
    assert "data-sse-connect" in other.get("/").text

    answer = seat.post("/live/resume", {"back": "/"})

    assert (answer.status_code, answer.headers["Location"]) == (303, "/#pause")
    assert "data-sse-connect" in seat.get("/").text


@pytest.mark.parametrize(("back", "target"), [
    ("/todos?state=pending", "/todos?state=pending#pause"),
    ("//evil.example", "/#pause"),
    ("https://evil.example/", "/#pause"),
    ("/\\evil.example", "/#pause"),
    ("", "/#pause"),
])
def test_it_leads_back_to_the_page_it_was_pressed_on_and_nowhere_else(
    browser: Seat, ana: Human, back: str, target: str
) -> None:
    assert browser(ana).post("/live/pause", {"back": back}).headers["Location"] == target


@pytest.mark.parametrize("path", ["/live/pause", "/live/resume"])
def test_it_takes_the_form_token_like_every_form(
    browser: Seat, make: Make, ana: Human, path: str
) -> None:
    seat = browser(ana)
    make.run("update sessions set live_paused_at = '2026-01-01Z'")

    assert seat.post(path, {"csrf_token": "stale", "back": "/"}).status_code == 403
    assert seat.client.get(path).status_code == 405

    paused_at = make.value("select live_paused_at from sessions")
    assert paused_at is not None
    assert make.now() - paused_at > timedelta(days=1)


def test_a_page_with_nothing_to_update_opens_no_stream(browser: Seat, make: Make) -> None:
    page = browser(make.human("Ben")).get("/").text

    assert "data-sse-connect" not in page
    assert "Pause live updates" not in page
