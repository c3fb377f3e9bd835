"""Revoking on the web: said first, done once, the same for everyone who may not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from flask.testing import FlaskClient

from app.domain.callers import Endpoint
from tests.support.client import Browser
from tests.support.make import Make

Seat = Callable[..., Browser]


def at(endpoint: Endpoint) -> str:
    """The address of the confirm page."""
    return f"/endpoints/{endpoint.id}/revoke"


def test_the_confirm_page_counts_what_will_end_and_ends_nothing(
    browser: Seat, make: Make
) -> None:
    ana, team = make.human(), make.team("night")
    make.member(team, ana)
    lane, other = make.endpoint(ana, queues=("a", "b")), make.endpoint(ana)
    triage = make.team_queue(team)
    make.grant(lane, triage)
    for queue, state in (("a", "pending"), ("a", "pending"), ("b", "pending"), ("b", "claimed"),
                         ("a", "done"), ("a", "failed")):
        make.todo(lane, queue, state=state)
    make.todo(lane, "a", state="failed", next_retry_at=make.now() + timedelta(hours=1))
    make.todo(queue=triage, state="claimed", holder=lane)
    make.todo(queue=triage, state="claimed", holder=other)
    make.todo(other)

    shown = browser(ana).get(at(lane))

    said = " ".join(shown.text.split())
    assert shown.status_code == 200
    assert f"<h1 id=\"heading\">Revoke {lane.slug}</h1>" in shown.text
    assert ("5 todos in its queues will be dead-lettered: 3 pending, 1 claimed and 1 waiting for a"
            " retry.") in said
    assert "1 todo of a team that it holds goes back to pending" in said
    assert f"Revoke {lane.slug} for good</button>" in shown.text
    assert f"Keep {lane.slug}" in shown.text
    assert make.value("select count(*) from endpoints where state = 'active'") == 2


def test_an_endpoint_with_nothing_waiting_says_so(browser: Seat, make: Make) -> None:
    ana = make.human()

    shown = browser(ana).get(at(make.endpoint(ana))).text

    assert "nothing is dead-lettered" in shown
    assert "of a team" not in shown


def test_revoking_ends_the_credential_and_the_work_and_says_so(
    browser: Seat, client: FlaskClient, make: Make
) -> None:
    ana = make.human()
    lane, seat = make.endpoint(ana), browser(ana)
    todos = [make.todo(lane, state=state) for state in ("pending", "claimed")]
    proof = {"Authorization": f"Bearer {make.credential(lane)}"}
    assert client.post("/agent/v1/whoami", json={}, headers=proof).status_code == 200

    answer = seat.post(at(lane))

    page = f"/endpoints/{lane.id}"
    assert (answer.status_code, answer.headers["Location"]) == (303, page)
    shown = seat.get(page).text
    assert f"{lane.slug} is revoked." in shown
    assert f"Revoke {lane.slug}" not in shown
    assert [make.row(todo)["state"] for todo in todos] == ["failed", "failed"]
    assert client.post("/agent/v1/whoami", json={}, headers=proof).status_code == 401


def test_sent_twice_the_second_finds_it_revoked_and_says_so(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane, seat = make.endpoint(ana), browser(ana)

    answers = [seat.post(at(lane)), seat.post(at(lane)), seat.get(at(lane))]

    assert [answer.headers["Location"] for answer in answers] == [f"/endpoints/{lane.id}"] * 3
    assert "is revoked already." in seat.get(f"/endpoints/{lane.id}").text


def test_an_expired_endpoint_is_revoked_already(browser: Seat, make: Make) -> None:
    ana = make.human()
    lane, seat = make.endpoint(ana, expires_at=make.now()), browser(ana)

    assert [seat.get(at(lane)).status_code, seat.post(at(lane)).status_code] == [303, 303]
    assert make.value("select revoked_at from endpoints") is None


def test_a_button_without_the_forms_token_revokes_nothing(
    browser: Seat, client: FlaskClient, make: Make
) -> None:
    ana = make.human()
    lane, seat = make.endpoint(ana), browser(ana)
    other = browser(make.human()).csrf

    refused = [seat.client.post(at(lane), data={"csrf_token": token}) for token in ("", other)]
    stranger = client.post(at(lane), data={"csrf_token": seat.csrf})

    assert [answer.status_code for answer in refused] == [403, 403]
    assert stranger.status_code == 401
    assert "Revoke the endpoint for good" in refused[0].text
    assert make.value("select state from endpoints") == "active"
