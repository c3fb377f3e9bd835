"""Notify hooks on their endpoint's page: what is said of them, and the owner's three acts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.domain.callers import Endpoint, Human
from app.domain.verbs import BASICS, NOTIFY
from tests.support import page
from tests.support.client import Browser
from tests.support.make import Make

Seat = Callable[..., Browser]


@pytest.fixture
def ana(make: Make) -> Human:
    """Who owns the endpoint."""
    return make.human("Ana")


@pytest.fixture
def lane(make: Make, ana: Human) -> Endpoint:
    """An endpoint that may have hooks."""
    return make.endpoint(ana, verbs=(*BASICS, *NOTIFY))


def at(endpoint: Endpoint, act: str = "") -> str:
    """The address of an endpoint's page, or of an act on it."""
    return f"/endpoints/{endpoint.id}{act}"


def text(answer: str) -> str:
    """The words of a page, without markup and runs of space."""
    main = next(element for element in page.parse(answer).elements if element.tag == "main")
    return " ".join(main.text.split())


def buttons(answer: str) -> list[str]:
    """The labels of a page's buttons and links to acts."""
    return [" ".join(each.text.split()) for tag in ("button", "a")
            for each in page.parse(answer).all(tag)]


def test_a_hook_is_shown_without_its_query_and_its_secret(
    browser: Seat, make: Make, ana: Human, lane: Endpoint
) -> None:
    make.notify_hook(lane)
    make.notify_hook(lane, "https://b.example/", queues=["inbox"], ignore_presence=True)

    shown = browser(ana).get(at(lane)).text

    said = text(shown)
    assert "Hook 1 URL https://hooks.example.org/wake?«redacted» Queues every queue" in said
    assert "Hook 2 URL https://b.example/ Queues inbox Presence called while" in said
    assert "State Enabled" in said
    assert "Last attempt never" in said
    assert "hush" not in shown
    assert "whsec_" not in shown
    assert {"Disable hook 1", "Disable hook 2", "Delete hook 1"} <= set(buttons(shown))


def test_an_endpoint_that_may_have_none_and_has_none_says_nothing_of_hooks(
    browser: Seat, make: Make, ana: Human, lane: Endpoint
) -> None:
    plain, seat = make.endpoint(ana), browser(ana)

    assert "Notify hooks" not in text(seat.get(at(plain)).text)
    assert "It has no notify hook now." in text(seat.get(at(lane)).text)


@pytest.mark.parametrize(("error", "status", "words"), [
    ("timeout", None, "It did not answer within 5 seconds."),
    ("tls", None, "Its certificate is not one that this server trusts for that name."),
    ("network", None, "There was no connection, or an answer that is not HTTP."),
    ("redirect", 302, "It answered with a redirect (302), and redirects are not followed."),
    ("http_status", 503, "It answered 503."),
    ("rejected_ssrf", None, "Its host leads to an address that hooks may not reach."),
])
def test_the_last_error_is_said_in_words(
    browser: Seat, make: Make, ana: Human, lane: Endpoint, error: str, status: int | None,
    words: str,
) -> None:
    make.notify_hook(lane, last_error=error, last_status=status, last_attempt_at=make.now(),
                     consecutive_failures=3)

    said = text(browser(ana).get(at(lane)).text)

    assert f"Last error {words}" in said
    assert "3 of 10 until it is disabled" in said


def test_a_hook_that_disabled_itself_says_so_and_is_enabled_again(
    browser: Seat, make: Make, ana: Human, lane: Endpoint
) -> None:
    hook = make.notify_hook(lane, enabled=False, disabled_reason="consecutive_failures",
                            disabled_at=make.now(), consecutive_failures=10)
    seat = browser(ana)
    shown = seat.get(at(lane)).text

    answer = seat.post(at(lane, f"/hooks/{hook}/enable"))
    again = seat.get(at(lane)).text

    assert "Disabled by itself after 10 failed deliveries in a row since" in text(shown)
    assert "Failures in a row 10 Last attempt" in text(shown)
    assert "Enable hook 1" in buttons(shown)
    assert answer.headers["Location"] == at(lane, f"#hook-{hook}-switch")
    assert "Hook 1 to https://hooks.example.org/wake?«redacted» is enabled." in again
    assert "Failures in a row none" in text(again)
    assert make.value("select enabled from notify_hooks") is True


def test_a_hook_is_disabled_once_however_often_it_is_pressed(
    browser: Seat, make: Make, ana: Human, lane: Endpoint
) -> None:
    hook, seat = make.notify_hook(lane), browser(ana)

    answers = [seat.post(at(lane, f"/hooks/{hook}/disable")) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 303]
    assert "Disabled here, on this page since" in text(seat.get(at(lane)).text)
    assert make.rows("select enabled, disabled_reason from notify_hooks") == [
        (False, "operator")]


def test_a_hook_is_deleted_after_a_page_said_what_goes(
    browser: Seat, make: Make, ana: Human, lane: Endpoint
) -> None:
    hook, seat = make.notify_hook(lane), browser(ana)

    asked = seat.get(at(lane, f"/hooks/{hook}/delete")).text
    answer = seat.post(at(lane, f"/hooks/{hook}/delete"))

    assert "Nothing is sent to https://hooks.example.org/wake?«redacted» any more." in text(asked)
    assert f"Delete hook 1 of {lane.slug}" in buttons(asked)
    assert answer.headers["Location"] == at(lane, "#notify-hooks")
    assert "is deleted." in seat.get(at(lane)).text
    assert make.value("select count(*) from notify_hooks") == 0
    assert seat.get(at(lane, f"/hooks/{hook}/delete")).status_code == 404


def test_the_hooks_of_a_revoked_endpoint_are_shown_and_not_changed(
    browser: Seat, make: Make, ana: Human, lane: Endpoint
) -> None:
    hook, seat = make.notify_hook(lane), browser(ana)
    make.run("update endpoints set state = 'revoked', revoked_at = clock()")

    shown = seat.get(at(lane)).text

    assert "https://hooks.example.org/" in text(shown)
    assert not {"Disable hook 1", "Delete hook 1"} & set(buttons(shown))
    assert seat.post(at(lane, f"/hooks/{hook}/disable")).status_code == 409


def test_a_hook_of_another_endpoint_is_not_found_under_this_one(
    browser: Seat, make: Make, ana: Human, lane: Endpoint
) -> None:
    other, seat = make.notify_hook(make.endpoint(ana)), browser(ana)

    for name in (other, "x", "00000000-0000-4000-8000-000000000000"):
        assert seat.post(at(lane, f"/hooks/{name}/disable")).status_code == 404
        assert seat.get(at(lane, f"/hooks/{name}/delete")).status_code == 404
    assert make.value("select enabled from notify_hooks") is True


def test_the_wizard_lists_the_verbs_unchecked(browser: Seat, ana: Human) -> None:
    seat = browser(ana)
    seat.post("/endpoints/vend/agent", {"name": "lane"})
    seat.post("/endpoints/vend/queues", {"queues": "inbox"})

    boxes = {box.get("value"): box.get("checked") is not None
             for box in page.parse(seat.get("/endpoints/vend/verbs").text).all("input")
             if box.get("type") == "checkbox"}

    assert {name: boxes.get(name) for name in NOTIFY} == dict.fromkeys(NOTIFY, False)
    assert boxes["claim_next"]
