"""A form is taken only from a live session's own page, and a refusal keeps what was typed."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from flask import Blueprint, Flask, render_template_string
from flask.testing import FlaskClient
from wtforms import StringField

from app.edge.identify import identify_session
from app.web import guard
from app.web.forms import Form
from tests.support.client import Browser
from tests.support.make import Make


class _NoteForm(Form):
    note = StringField("Note")


@pytest.fixture
def app(app: Flask) -> Flask:
    """The application with one more page, whose form changes something."""
    notes = Blueprint("notes", __name__)
    notes.before_request(identify_session)
    notes.before_request(guard.check_form)

    @notes.post("/notes")
    def save() -> str:
        form = _NoteForm()
        return f"saved {form.note.data}" if form.validate() else "not saved"

    @notes.get("/notes")
    def show() -> str:
        return render_template_string("{{ form.csrf_token }}", form=_NoteForm())

    app.register_blueprint(notes)
    return app


def test_the_sessions_token_in_the_field_is_taken(
    browser: Callable[..., Browser], make: Make
) -> None:
    assert browser(make.human()).post("/notes", {"note": "buy milk"}).text == "saved buy milk"


@pytest.mark.parametrize("name", ["X-CSRF-Token", "X-CSRFToken"])
def test_the_sessions_token_in_either_header_is_taken(
    browser: Callable[..., Browser], make: Make, name: str
) -> None:
    seat = browser(make.human())

    answer = seat.client.post("/notes", data={"note": "x"}, headers={name: seat.csrf})

    assert answer.text == "saved x"


def test_a_form_renders_the_sessions_own_token(browser: Callable[..., Browser], make: Make) -> None:
    seat = browser(make.human())

    assert f'value="{seat.csrf}"' in seat.get("/notes").text


@pytest.mark.parametrize("token", [None, "", "wrong", "\u00e9"])
def test_a_wrong_token_is_403_with_the_values_and_a_fresh_token(
    browser: Callable[..., Browser], make: Make, token: str | None
) -> None:
    seat = browser(make.human())
    data = {"note": "<b>\"typed\"</b>\nand more", "other": "kept"}
    if token is not None:
        data["csrf_token"] = token

    answer = seat.client.post("/notes?from=board", data=data)

    assert answer.status_code == 403
    assert "&lt;b&gt;&#34;typed&#34;&lt;/b&gt;\nand more</textarea>" in answer.text
    assert ">kept</textarea>" in answer.text.replace("\n", "")
    assert f'value="{seat.csrf}"' in answer.text
    assert 'action="/notes?from=board"' in answer.text


def test_another_sessions_token_is_refused(browser: Callable[..., Browser], make: Make) -> None:
    ana, other = make.human(), browser(make.human())

    assert browser(ana).post("/notes", {"csrf_token": other.csrf}).status_code == 403


def test_a_wrong_header_is_not_rescued_by_the_field(
    browser: Callable[..., Browser], make: Make
) -> None:
    answer = browser(make.human()).post("/notes", headers={"X-CSRF-Token": "wrong"})

    assert answer.status_code == 403


def test_a_form_of_an_ended_session_is_401_and_keeps_the_values(
    client: FlaskClient, make: Make
) -> None:
    client.set_cookie("sb_session", "ended", domain="localhost")

    answer = client.post("/notes", data={"note": "typed", "csrf_token": "old"})

    assert answer.status_code == 401
    assert "typed</textarea>" in answer.text
    assert 'href="/login"' in answer.text
    assert "Set-Cookie" not in answer.headers


def test_after_signing_in_again_the_kept_form_is_refreshed_then_saved(
    app: Flask, client: FlaskClient, browser: Callable[..., Browser], make: Make
) -> None:
    kept = client.post("/notes", data={"note": "typed"})
    seat = browser(make.human())

    refused = seat.client.post("/notes", data={"note": "typed", "csrf_token": ""})
    saved = seat.post("/notes", {"note": "typed"})

    assert [kept.status_code, refused.status_code, saved.status_code] == [401, 403, 200]
    assert saved.text == "saved typed"


def test_an_oversized_form_is_a_page_of_413(browser: Callable[..., Browser], make: Make) -> None:
    answer = browser(make.human()).post("/notes", {"note": "x" * (guard.FORM_LIMIT_BYTES + 1)})

    assert answer.status_code == 413


class _Broken(io.RawIOBase):
    """What the server raises from a chunked body whose chunks do not parse."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        raise RuntimeError("bad chunk")


def test_a_form_that_breaks_off_is_a_bad_request(
    browser: Callable[..., Browser], make: Make
) -> None:
    seat = browser(make.human())

    answer = seat.client.post(
        "/notes", headers={"Content-Type": "application/x-www-form-urlencoded"},
        environ_overrides={"wsgi.input": _Broken(), "wsgi.input_terminated": True})

    assert answer.status_code == 400
    assert "could not be read" in answer.text
