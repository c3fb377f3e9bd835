"""What holds for every page and form alike: headers, methods, the form token, nothing from afar."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support import page
from tests.support.make import Make
from tests.web import scene
from tests.web.scene import TABLE, Scene
from tests.web.test_strangers import Browse, ask, lost

EXACT = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
# Forms that need no session: the link is its own proof, the dev sign-in is off (identity.md).
OPEN_FORMS = ("POST account.use_link", "POST account.use_dev_login")
FORMS = {name: row for name, row in TABLE.items() if row.is_post and name not in OPEN_FORMS}


@pytest.fixture(autouse=True)
def _unlimited(app: Flask) -> None:
    scene.without_limits(app)


@pytest.fixture
def own(make: Make) -> Scene:
    """One person's things."""
    return scene.of_human(make, "ana")


def wrong_with(name: str, answer: TestResponse) -> list[str]:
    """What an answer lacks of the headers, and what in it points to another host."""
    is_link = answer.request.path.startswith(("/auth/link/", "/invites/"))
    referrer = "same-origin" if is_link else "strict-origin-when-cross-origin"
    expected = {**EXACT, "Referrer-Policy": referrer}
    if answer.request.path == "/oauth/authorize" and answer.status_code != 405:
        expected["Content-Security-Policy"] = EXACT["Content-Security-Policy"].replace(
            "form-action 'self'", "form-action 'self' http://127.0.0.1:43117")
    found = [f"{name}: {header} is {answer.headers.getlist(header)}"
             for header, text in expected.items()
             if answer.headers.getlist(header) != [text]]  # fmt: skip
    if answer.mimetype != "text/html":
        return found
    return found + [f"{name}: {element.tag} {attribute}={value}"
                    for element in page.parse(answer.text).elements
                    for attribute, value in element.attributes.items()
                    if attribute != "value"  # what somebody typed
                    and re.match(r"\s*([a-z]+:)?//", value, re.IGNORECASE)
                    and not value.startswith("http://localhost/")]  # fmt: skip


@pytest.mark.rule("identity.md: Sessions and pages")
def test_every_answer_has_the_exact_headers_and_nothing_from_another_host(
    browser: Browse, client: FlaskClient, own: Scene
) -> None:
    """The test client judges each page for inline script and style, too."""
    seat, faults = browser(own.human), []

    for name, row in TABLE.items():
        answers = [
            client.open(own.path(row), method=name.split()[0]),
            seat.get("/nowhere"), seat.client.put(own.path(row)),
            seat.client.post(own.path(row), data=row.data or {}),
        ]  # fmt: skip
        for answer in answers:
            faults += wrong_with(f"{name} {answer.status_code}", answer)
        if not (row.is_post or row.is_stream):
            faults += wrong_with(name, seat.get(own.path(row)))

    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", FORMS)
def test_what_a_form_answers_has_them_too(
    browser: Browse, own: Scene, name: str
) -> None:
    row = FORMS[name]
    wrong = {field: f"{text}\x01 not this" for field, text in own.data(row).items()}
    seat = browser(own.human)

    for data in (wrong, own.data(row)):
        assert not wrong_with(name, ask(seat, row, own.path(row), data))


def test_a_wrong_method_is_405_and_says_which_are_right(
    app: Flask, browser: Browse, own: Scene
) -> None:
    seat, faults = browser(own.human), []
    routes = app.url_map.bind("localhost")

    for path in {own.path(row) for row in TABLE.values()}:
        allowed = set(routes.allowed_methods(path.partition("?")[0])) - {"OPTIONS"}
        for method in set(METHODS) - allowed:
            answer = seat.client.open(path, method=method)
            said = set(answer.headers.get("Allow", "").split(", "))
            if answer.status_code != 405 or said != allowed:
                faults.append(f"{method} {path}: {answer.status_code} {said}")

    assert not faults, "\n".join(faults)


def test_head_is_get_without_a_body_and_changes_nothing(
    browser: Browse, make: Make, own: Scene
) -> None:
    seat, faults = browser(own.human), []
    seat.get("/")
    before = scene.everything(make)

    for name, row in TABLE.items():
        if not row.is_post:
            answer = seat.client.head(own.path(row))
            if answer.status_code != row.owner or answer.data:
                faults.append(f"{name}: {answer.status_code} with {len(answer.data)} bytes")

    assert not faults, "\n".join(faults)
    assert scene.everything(make) == before


@pytest.mark.rule("identity.md: Sessions and pages")
@pytest.mark.parametrize("kind", ["missing", "empty", "stale", "another person's", "not text"])
def test_a_form_without_its_token_is_403_with_what_was_typed_and_changes_nothing(
    browser: Browse, make: Make, own: Scene, kind: str
) -> None:
    seat = browser(own.human)
    token = {
        "missing": None, "empty": "", "stale": browser(own.human).csrf,
        "another person's": browser(make.human("ben")).csrf, "not text": "\u00e9\u0000",
    }[kind]  # fmt: skip
    before, faults = scene.everything(make), []

    for name, row in FORMS.items():
        data = own.data(row)
        sent = data if token is None else {**data, "csrf_token": token}
        answer = seat.client.post(own.path(row), data=sent)
        if answer.status_code != 403:
            faults.append(f"{name}: {answer.status_code}")
        faults += lost(name, answer, data)
        if data and seat.csrf not in answer.text:
            faults.append(f"{name}: no fresh token")

    assert not faults, "\n".join(faults)
    assert scene.everything(make) == before


@pytest.mark.parametrize("header", ["X-CSRF-Token", "X-CSRFToken"])
def test_another_persons_token_in_a_header_is_403_whatever_the_field_says(
    browser: Browse, make: Make, own: Scene, header: str
) -> None:
    seat, other = browser(own.human), browser(make.human("ben"))

    statuses = {ask(seat, row, own.path(row), own.data(row), **{header: other.csrf}).status_code
                for row in FORMS.values()}  # fmt: skip

    assert statuses == {403}


def test_the_page_of_a_refused_form_can_be_sent_as_it_is(
    browser: Browse, make: Make, own: Scene
) -> None:
    """Without a session, then with one and the old token: the third time it is done (E12)."""
    row = TABLE["POST add_todo.add_todo"]
    seat, data = browser(own.human), own.data(row)
    refused = seat.client.post(own.path(row), data={**data, "csrf_token": "old"})

    answer = seat.client.post(action(refused), data=fields(refused))

    assert answer.status_code == 303
    assert make.value("select count(*) from todos where title = 'typed title'") == 1


def action(answer: TestResponse) -> str:
    """Where the form in a page's main part posts."""
    forms = [form for form in page.parse(answer.text).all("form")
             if any(outer.tag == "main" for outer in form.inside)]  # fmt: skip
    assert len(forms) == 1
    return forms[0].attributes["action"]


def fields(answer: TestResponse) -> dict[str, str]:
    """What that form would send."""
    found = page.parse(answer.text)
    inside = [element for element in found.all("input", "textarea")
              if any(outer.tag == "main" for outer in element.inside)]  # fmt: skip
    return {element.attributes["name"]:
            element.text.removeprefix("\n") if element.tag == "textarea"
            else element.attributes.get("value", "")
            for element in inside if "name" in element.attributes}  # fmt: skip
