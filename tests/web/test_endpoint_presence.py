"""An endpoint's page says who is in, and clocks it in and out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from flask.testing import FlaskClient

from app.domain.callers import Endpoint, Human
from tests.support import page
from tests.support.client import Browser
from tests.support.clock import Clock
from tests.support.make import Make
from tests.web.test_endpoints import at, text

Seat = Callable[..., Browser]
OFFICE = "TZ=Europe/Berlin Mon-Fri 09:00-17:00"
STORED = "select shift, presence_override, override_until, override_by from endpoints"
NOTHING = (None, None, None, None)


@pytest.fixture
def ana(make: Make, clock: Clock) -> Human:
    """Who owns the endpoint, on a Monday at noon."""
    clock.set("2026-11-30T12:00:00Z")
    return make.human("Ana")


@pytest.fixture
def lane(make: Make, ana: Human) -> Endpoint:
    return make.endpoint(ana, name="lane")


def buttons(answer: str) -> list[str]:
    return [" ".join(button.text.split()) for button in page.parse(answer).all("button")]


def test_the_page_says_in_words_who_is_in_and_what_waits(
    browser: Seat, make: Make, lane: Endpoint, ana: Human
) -> None:
    make.todo(lane)
    seat = browser(ana)

    shown = text(seat.get(at(lane)).text)
    assert "Presence In, as long as nobody says otherwise" in shown
    assert "Shift none" in shown
    assert "1 todo is pending in its queues" in shown
    make.run("update endpoints set shift = %s", OFFICE)
    make.todo(lane)
    shown = text(seat.get(at(lane)).text)
    assert "Presence In, by its shift, until 30 Nov 2026, 16:00 UTC" in shown
    assert f"Shift {OFFICE}" in shown
    assert "2 todos are pending in its queues" in shown


def test_it_is_clocked_out_until_a_time_on_the_viewers_clock_and_in_again(
    browser: Seat, make: Make, lane: Endpoint, ana: Human
) -> None:
    make.run("update humans set zone = 'Asia/Tokyo' where id = %s", ana.id)
    seat = browser(ana)

    out = seat.post(at(lane, "/presence"), {"presence": "out", "until": "2026-12-01T09:30"})
    shown = seat.get(at(lane)).text

    assert (out.status_code, out.headers["Location"]) == (303, at(lane, "#presence"))
    until = datetime(2026, 12, 1, 0, 30, tzinfo=UTC)
    assert make.rows(STORED) == [(None, "out", until, f"operator:{ana.id}")]
    said = "is out, by an owner's word, until 1 Dec 2026, 09:30 JST."
    assert f"{lane.slug} {said}" in text(shown)
    assert "Presence Out, by an owner's word, until 1 Dec 2026, 09:30 JST" in text(shown)
    assert "by the clock of Asia/Tokyo" in shown
    assert f"Take back what was said of {lane.slug}" in buttons(shown)
    seat.post(at(lane, "/presence"), {"presence": "in", "until": ""})
    assert make.rows(STORED) == [(None, "in", None, f"operator:{ana.id}")]
    seat.post(at(lane, "/presence/end"), {})
    assert make.rows(STORED) == [NOTHING]
    assert "Take back" not in seat.get(at(lane)).text


@pytest.mark.parametrize(("typed", "why"), [
    ("2026-11-30T12:00", "Until is over already"), ("0001-01-01T00:00", "Until is over already"),
    ("tomorrow", "Enter until as a date and a time"), ("2026-12-24", "Enter until as a date"),
    ("2026-12-24T18:00Z", "Enter until as a date"), ("2026-02-30T18:00", "Enter until as a date"),
])  # fmt: skip
def test_a_time_that_cannot_be_used_is_refused_with_what_was_typed(
    browser: Seat, make: Make, lane: Endpoint, ana: Human, typed: str, why: str
) -> None:
    answer = browser(ana).post(at(lane, "/presence"), {"presence": "out", "until": typed})

    assert answer.status_code == 422
    assert "<title>Error: Endpoint" in answer.text
    assert why in answer.text
    assert f'value="{typed}"' in answer.text
    assert 'href="#until"' in answer.text
    assert make.rows(STORED) == [NOTHING]


def test_a_word_that_is_neither_in_nor_out_is_refused(
    browser: Seat, make: Make, lane: Endpoint, ana: Human
) -> None:
    for word in ("away", ""):
        assert browser(ana).post(at(lane, "/presence"), {"presence": word}).status_code == 422
    assert make.rows(STORED) == [NOTHING]


def test_the_shift_is_saved_shown_and_removed(
    browser: Seat, make: Make, lane: Endpoint, ana: Human
) -> None:
    seat = browser(ana)

    saved = seat.post(at(lane, "/shift"), {"shift": f" {OFFICE} "})
    shown = seat.get(at(lane)).text

    assert saved.headers["Location"] == at(lane, "#shift")
    assert f'value="{OFFICE}"' in shown
    assert f"Remove the shift of {lane.slug}" in buttons(shown)
    seat.post(at(lane, "/presence"), {"presence": "out"})
    assert f"Let the shift of {lane.slug} decide" in buttons(seat.get(at(lane)).text)
    seat.post(at(lane, "/shift/remove"), {})
    assert make.value("select shift from endpoints") is None


@pytest.mark.parametrize(("typed", "why"), [
    ("", "The shift is blank; say when, like Mon-Fri 09:00-17:00."),
    ("Mon-Fri 9-17", "The shift cannot be used: &#39;Mon-Fri 9-17&#39; is not a window"),
    ("TZ=Mars/Base 09:00-17:00", "The shift cannot be used: Mars/Base is not a zone we know"),
])  # fmt: skip
def test_a_shift_that_cannot_be_used_is_refused_with_what_was_typed(
    browser: Seat, make: Make, lane: Endpoint, ana: Human, typed: str, why: str
) -> None:
    make.run("update endpoints set shift = %s", OFFICE)

    answer = browser(ana).post(at(lane, "/shift"), {"shift": typed})

    assert answer.status_code == 422
    assert why in answer.text
    assert f'value="{typed}"' in answer.text
    assert 'href="#shift"' in answer.text
    assert make.value("select shift from endpoints") == OFFICE


def test_a_member_sees_it_and_a_revoked_endpoint_offers_nothing(
    browser: Seat, make: Make, lane: Endpoint, ana: Human
) -> None:
    team, hand = make.team(), make.human()
    make.member(team, hand)
    shared = make.endpoint(team=team)
    seen = browser(hand).get(at(shared)).text

    assert "Presence In" in text(seen)
    assert not any("Clock" in label for label in buttons(seen))
    assert browser(hand).post(at(shared, "/presence"), {"presence": "out"}).status_code == 404
    make.run("update endpoints set state = 'revoked', revoked_at = clock() where id = %s", lane.id)
    gone = browser(ana)
    assert "Presence" not in text(gone.get(at(lane)).text)
    for path in ("/presence", "/presence/end", "/shift/remove"):
        assert gone.post(at(lane, path), {"presence": "out"}).status_code == 409


def test_what_was_sent_without_a_session_is_kept(client: FlaskClient, lane: Endpoint) -> None:
    sent = {"presence": "out", "until": "2999-01-01T18:00"}

    answer = client.post(at(lane, "/presence"), data=sent)

    assert answer.status_code == 401
    assert 'value="2999-01-01T18:00"' in answer.text
    assert 'name="presence" value="out"' in answer.text
