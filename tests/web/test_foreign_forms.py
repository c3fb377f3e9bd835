"""A form of another site: no form of ours takes it, and none is shown again for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.domain.callers import Human
from tests.support import page
from tests.support.client import Browser
from tests.support.make import Make
from tests.web import scene
from tests.web.scene import TABLE
from tests.web.test_page_gates import FORMS

FOREIGN = (
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://localhost:9917", "Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
)


@pytest.fixture(autouse=True)
def _unlimited(app: Flask) -> None:
    scene.without_limits(app)


@pytest.mark.rule("identity.md: Sessions and pages")
@pytest.mark.parametrize("headers", FOREIGN, ids=[str(sorted(one.items())) for one in FOREIGN])
def test_what_another_site_sends_is_refused_and_not_offered_to_be_sent_again(
    browser: Callable[[Human], Browser], client: FlaskClient, make: Make, headers: dict[str, str]
) -> None:
    """Signed in or (as the browser withholds the cookie) signed out, also with the right token."""
    own = scene.of_human(make, "ana")
    seat = browser(own.human)
    before, faults = scene.everything(make), []

    for name, row in FORMS.items():
        for asker in (seat.client, client):
            sent = {**own.data(row), "csrf_token": seat.csrf}
            answer = asker.post(own.path(row), data=sent, headers=headers)
            forms = [form for form in page.parse(answer.text).all("form")
                     if any(outer.tag == "main" for outer in form.inside)]  # fmt: skip
            if answer.status_code != 403 or forms:
                faults.append(f"{name}: {answer.status_code} with {len(forms)} forms")

    assert not faults, "\n".join(faults)
    assert scene.everything(make) == before


def test_our_own_pages_are_not_refused(
    browser: Callable[[Human], Browser], make: Make
) -> None:
    own = scene.of_human(make, "ana")
    row = TABLE["POST add_todo.add_todo"]

    statuses = [
        browser(own.human).post(own.path(row), {**own.data(row)}, headers=headers).status_code
        for headers in (
            {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"},
            {"Origin": "http://localhost"},
            {"Sec-Fetch-Site": "none"},
            {},
        )
    ]

    assert statuses == [303, 409, 409, 409], "done, and then its key is there already"
