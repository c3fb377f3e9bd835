"""Fields, error summaries, kept forms, and how a view answers: through pages as a person gets them.

A page of the test's own holds one field of each kind; whatever the macros write is judged by the
markup rules of tests/support/page.py as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask import Blueprint, Flask, render_template_string
from flask.testing import FlaskClient
from flask.typing import ResponseReturnValue
from psycopg_pool import PoolTimeout
from wtforms import (
    BooleanField,
    HiddenField,
    IntegerField,
    RadioField,
    SelectChoice,
    SelectField,
    SelectMultipleField,
    StringField,
    TextAreaField,
    validators,
)
from wtforms.widgets import CheckboxInput, ListWidget

from app.edge.identify import identify_session
from app.edge.problems import is_json_path
from app.web import answers, guard
from app.web.forms import Form, declared, posts
from app.web.pager import pager
from tests.support.client import Browser
from tests.support.limits import stop_refill
from tests.support.make import Make
from tests.support.page import Element, Page, parse

Start = Callable[..., Browser]

PAGE = """{% extends "base.html" %}
{% from "macros/forms.html" import act, button, checkboxes, csrf, field, radios, secret, summary %}
{% block content %}{{ summary(form) }}
<form method="post" action="/plots" aria-labelledby="heading">{{ csrf() }}
{{ field(form.name, hint="As on the sign.", autofocus=not errors, list="names") }}
<datalist id="names"></datalist>{{ field(form.size, describedby="heading") }}
{{ field(form.note, rows=3) }}{{ field(form.soil) }}{{ radios(form.sun, hint="At noon.") }}
{{ checkboxes(form.tools, "Tools to bring") }}{{ field(form.fenced) }}{{ field(form.revision) }}
{{ button("Save plot", id="save", kind="primary") }}
{{ button("Preview plot", name="act", value="preview") }}</form>
{{ act("/plots/1/dig", "Dig plot 1", id="dig", fields={"from": "<board>"}) }}{% endblock %}"""
POSTED = {"name": '<b>"North"</b>', "size": "4x", "note": "\ntwo\nlines", "soil": "clay",
          "sun": "full", "tools": ["rake", "hoe"], "fenced": "y", "revision": "7"}


class PlotForm(Form):
    """One field of each kind."""

    name = StringField("Name", [validators.Length(max=5, message="Name: at most 5 characters.")])
    size = IntegerField("Size")
    note = TextAreaField("Note")
    soil = SelectField("Soil", choices=[SelectChoice(value="sand", label="Sand, dry"),
                                        SelectChoice(value="clay", label="Clay, wet")])
    sun = RadioField("Sun", choices=[SelectChoice(value="none", label="Shade"),
                                     SelectChoice(value="full", label="All day")])
    tools = SelectMultipleField("Tools", option_widget=CheckboxInput(),
                                widget=ListWidget(prefix_label=False))
    fenced = BooleanField("Fenced")
    revision = HiddenField()


def offer_tools(form: Form) -> None:
    """The viewer's own tools: they are shown to nobody else."""
    viewer = answers.viewer()
    form.tools.choices = [SelectChoice(value=value, label=f"{value} of {viewer.human.display_name}")
                          for value in ("rake", "hoe", "saw")]


@pytest.fixture
def app(app: Flask) -> Flask:
    """The application with a page that holds one field of each kind."""
    bp = Blueprint("plots", __name__)
    bp.before_request(identify_session)
    bp.before_request(guard.check_form)

    @bp.get("/plots")
    def show() -> ResponseReturnValue:
        form = PlotForm(formdata=None)
        offer_tools(form)
        return render_template_string(PAGE, form=form, heading="Plot")

    @bp.post("/plots")
    @posts(PlotForm, button="Save plot", prepare=offer_tools)
    def save() -> ResponseReturnValue:
        form = PlotForm()
        offer_tools(form)
        if not form.validate():
            form.blame("soil", "Soil: clay floods here.")
            form.blame(None, "The plot is taken.")
            return render_template_string(PAGE, form=form, heading="Plot", errors=True), 422
        return answers.see("/plots", flash=f"Plot {form.name.data} saved.", fragment="save")

    app.register_blueprint(bp)
    return app


def by_id(page: Page, id_: str) -> Element:
    """The element with this id."""
    return next(element for element in page.elements if element.get("id") == id_)


def values(page: Page, form: Element) -> dict[str, list[str]]:
    """What the browser would send from a form, without the token and without buttons."""
    found: dict[str, list[str]] = {}
    for element in page.all("input", "textarea", "option"):
        name = element.get("name")
        if element.tag == "option":
            name = next(outer.get("name") for outer in element.inside if outer.tag == "select")
        if form not in element.inside or name in (None, "csrf_token") or not _is_sent(element):
            continue
        text = re.sub(r"\A\r?\n", "", element.text)  # a browser drops the first line break
        found.setdefault(str(name), []).append(
            text if element.tag == "textarea" else element.get("value") or "")
    return found


def _is_sent(element: Element) -> bool:
    if element.tag == "option":
        return element.get("selected") is not None
    if element.get("type") in ("radio", "checkbox"):
        return element.get("checked") is not None
    return True


def test_a_fresh_form_has_labels_hints_and_one_field_with_the_focus(
    browser: Start, make: Make
) -> None:
    page = parse(browser(make.human()).get("/plots").text)
    name, note = by_id(page, "name"), by_id(page, "note")

    assert name.get("autofocus") is not None
    assert (name.get("aria-describedby"), name.get("list")) == ("name-hint", "names")
    assert by_id(page, "name-hint").text == "As on the sign."
    assert by_id(page, "size").get("aria-describedby") == "heading"
    assert note.get("rows") == "3"
    # Limits are said by the server, in words, with everything that was typed kept.
    assert not {"required", "maxlength", "aria-invalid"} & set(name.attributes)
    legends = [legend.text for legend in page.all("legend")]
    assert legends == ["Sun", "Tools to bring"]
    assert by_id(page, "sun").get("aria-describedby") == "sun-hint"
    assert "error-summary" not in [element.get("id") for element in page.elements]
    assert [button.text for button in page.all("button")][-3:] == [
        "Save plot", "Preview plot", "Dig plot 1"]


def test_a_refused_form_has_the_focus_on_its_summary_and_keeps_every_value(
    browser: Start, make: Make
) -> None:
    answer = browser(make.human()).post("/plots", POSTED)
    page = parse(answer.text)
    summary = by_id(page, "error-summary")

    assert answer.status_code == 422
    assert page.all("title")[0].text.startswith("Error: Plot")
    assert [element.get("id") for element in page.elements
            if element.get("autofocus") is not None] == ["error-summary"]
    assert any(element.get("role") == "alert" and summary in element.inside
               for element in page.elements)
    assert [(link.get("href"), link.text) for link in page.all("a") if summary in link.inside] == [
        ("#name", "Name: at most 5 characters."),
        ("#size", "Not a valid integer value."),
        ("#soil", "Soil: clay floods here."),
    ]
    assert "The plot is taken." in summary.text
    assert by_id(page, "name").get("aria-describedby") == "name-hint name-error"
    assert by_id(page, "size").get("aria-describedby") == "heading size-error"
    assert by_id(page, "size").get("aria-invalid") == "true"
    assert by_id(page, "note").get("aria-invalid") is None
    form = next(form for form in page.all("form") if form.get("action") == "/plots")
    assert values(page, form) == _expected()


def test_a_one_button_form_carries_its_fields_and_a_token(browser: Start, make: Make) -> None:
    seat = browser(make.human())
    page = parse(seat.get("/plots").text)
    form = next(form for form in page.all("form") if form.get("action") == "/plots/1/dig")
    inputs = {field.get("name"): field.get("value") for field in page.all("input")
              if form in field.inside}

    assert inputs == {"csrf_token": seat.csrf, "from": "<board>"}


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}], ids=["plain", "htmx"])
def test_a_form_of_an_ended_session_is_shown_again_sent_again_and_saved(
    app: Flask, client: FlaskClient, browser: Start, make: Make, headers: dict[str, str]
) -> None:
    """E12: 401 with the form; signed in beside it, 403 with a fresh token; then it works."""
    posted = {**POSTED, "name": "North", "size": "4", "act": "preview"}
    client.set_cookie("sb_session", "ended", domain="localhost")

    ended = client.post("/plots", data={**posted, "csrf_token": "old"}, headers=headers)
    seat = browser(make.human("Ana"))
    stale = seat.client.post("/plots", data=_as_sent(ended.text), headers=headers)
    saved = seat.client.post("/plots", data=_as_sent(stale.text), headers=headers)

    assert [ended.status_code, stale.status_code] == [401, 403]
    for answer in (ended, stale):
        page = parse(answer.text)
        form = next(form for form in page.all("form") if form.get("aria-label") == "What you sent")
        assert values(page, form) == {**_expected(name="North", size="4"), "act": ["preview"]}
        assert by_id(page, "note").tag == "textarea"
        assert by_id(page, "soil").tag == "select"
        assert "Clay, wet" in by_id(page, "soil").text
        assert any(button.text == "Save plot" for button in page.all("button"))
        assert answer.headers.get("HX-Retarget") == ("body" if headers else None)
    assert 'href="/login" target="_blank"' in ended.text
    assert "of Ana" not in ended.text
    assert "saw of Ana" in stale.text
    assert saved.status_code == (200 if headers else 303)
    assert "Plot North saved." in seat.get("/plots").text


def test_choices_of_a_form_are_not_asked_for_a_poster_nobody_knows(client: FlaskClient) -> None:
    answer = client.post("/plots", data={"tools": ["<i>", "rake"], "extra": "kept"})

    page = parse(answer.text)
    form = next(form for form in page.all("form") if form.get("aria-label") == "What you sent")
    assert answer.status_code == 401
    assert values(page, form)["tools"] == ["<i>", "rake"]
    assert values(page, form)["extra"] == ["kept"]


def test_too_many_posts_keep_what_was_typed_and_say_when_to_retry(
    app: Flask, browser: Start, make: Make
) -> None:
    stop_refill(app)
    ana, ben = make.human(), make.human()
    seat, other_seat = browser(ana), browser(ana)

    wrong = [seat.post("/plots", {"csrf_token": "wrong"}).status_code for _ in range(3)]
    taken = [one.post("/plots", POSTED).status_code for one in [seat, other_seat] * 15]
    limited = seat.post("/plots", POSTED)

    assert (wrong, set(taken)) == ([403] * 3, {422})
    assert limited.status_code == 429
    assert limited.headers["Retry-After"] == "1"
    assert "Wait a second, then send this again." in limited.text
    assert by_id(parse(limited.text), "size").get("value") == "4x"
    assert browser(ben).post("/plots", POSTED).status_code == 422
    assert seat.get("/plots").status_code == 200


def test_three_posts_come_back_every_second(app: Flask) -> None:
    limits = stop_refill(app)
    bucket, now = limits.board_posts, 0.0
    bucket._clock = lambda: now

    assert [bucket.take("ana") for _ in range(31)] == [True] * 30 + [False]
    now = 1.0
    assert [bucket.take("ana") for _ in range(4)] == [True] * 3 + [False]


def test_what_was_typed_outlives_a_database_that_is_away(
    app: Flask, browser: Start, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat = browser(make.human())
    with app.app_context():
        pool = answers.database().pool
    monkeypatch.setattr(pool, "getconn", _refuse)

    answer = seat.post("/plots", POSTED)

    page = parse(answer.text)
    assert answer.status_code == 503
    assert "nothing was changed" in answer.text
    assert by_id(page, "name").get("value") == POSTED["name"]
    form = next(form for form in page.all("form") if form.get("aria-label") == "What you sent")
    assert [field.get("value") for field in page.all("input")
            if form in field.inside and field.get("name") == "csrf_token"] == [seat.csrf]


def _refuse(*_: object, **__: object) -> None:
    raise PoolTimeout


def test_a_redirect_lands_on_the_thing_and_says_what_was_done(
    browser: Start, make: Make
) -> None:
    seat = browser(make.human())
    good = {**POSTED, "name": "North", "size": "4"}

    plain = seat.post("/plots", good)
    elsewhere = seat.post("/plots", good, headers={"HX-Request": "true"})
    here = seat.post("/plots", good, headers={
        "HX-Request": "true", "HX-Current-URL": "http://localhost/plots#name"})

    assert (plain.status_code, plain.headers["Location"]) == (303, "/plots#save")
    assert (elsewhere.status_code, elsewhere.headers["HX-Redirect"]) == (200, "/plots#save")
    assert "HX-Refresh" not in elsewhere.headers
    assert here.headers["HX-Refresh"] == "true"
    assert 'role="status"><p id="flash">Plot North saved.</p>' in seat.get("/plots").text
    assert 'role="status"></div>' in seat.get("/plots").text


def test_a_refusal_page_takes_the_whole_page_when_htmx_asked(
    browser: Start, make: Make
) -> None:
    seat = browser(make.human())

    plain = seat.get("/plots/none")
    asked = seat.get("/plots/none", headers={"HX-Request": "true"})
    shown = seat.get("/plots", headers={"HX-Request": "true"})

    assert "HX-Retarget" not in plain.headers
    assert "HX-Retarget" not in shown.headers
    assert (asked.headers["HX-Retarget"], asked.headers["HX-Reselect"]) == ("body", "unset")


def test_on_back_the_whole_page_is_wanted(app: Flask) -> None:
    wanted = []
    for headers in ({}, {"HX-Request": "true"},
                    {"HX-Request": "true", "HX-History-Restore-Request": "true"}):
        with app.test_request_context("/", headers=headers):
            wanted.append(answers.wants_fragment())

    assert wanted == [False, True, False]


def test_pages_are_linked_from_first_to_last_with_the_current_one_between() -> None:
    middle = pager("Pages of todos", 6, 20, lambda number: f"?page={number}")

    assert [link.number for link in middle.links] == [1, 4, 5, 6, 7, 8, 20]
    assert [link.number for link in middle.links if link.is_here] == [6]
    assert (middle.previous, middle.next) == ("?page=5", "?page=7")
    assert pager("Pages", 1, 1, str).links == []
    assert (pager("Pages", 1, 2, str).previous, pager("Pages", 2, 2, str).next) == (None, None)


def _expected(**changed: str) -> dict[str, list[str]]:
    kept = {name: value if isinstance(value, list) else [value] for name, value in POSTED.items()}
    return {**kept, **{name: [value] for name, value in changed.items()}}


def _as_sent(markup: str) -> dict[str, list[str]]:
    """What pressing the first button of a kept form sends: every field, and the token in it."""
    page = parse(markup)
    form = next(form for form in page.all("form") if form.get("aria-label") == "What you sent")
    token = next(field.get("value") for field in page.all("input")
                 if form in field.inside and field.get("name") == "csrf_token")
    return {**values(page, form), "csrf_token": [str(token)]}


def test_every_form_of_a_page_says_how_it_is_shown_again(app: Flask) -> None:
    """Otherwise someone whose session ended meets fields that nobody labelled."""
    silent = {
        rule.endpoint for rule in app.url_map.iter_rules()
        if "POST" in (rule.methods or ()) and not is_json_path(rule.rule)
        and declared(app.view_functions[rule.endpoint]) is None
    }

    assert silent == {
        "account.use_link", "account.use_dev_login",  # forms from before there is a session
        "account.sign_out",  # nothing is typed, and without a session nothing is left to end
        "settings.offer_zone",  # a script sends it, and nobody sees the answer
    }


def test_one_button_is_shown_again_with_what_the_page_sent_unseen(
    client: FlaskClient, browser: Start, make: Make
) -> None:
    ended = client.post("/todos/td_1/claim", data={"back": "/todos?page=2"})
    bare = client.post("/settings/device")
    stale = browser(make.human()).post("/settings/device", {"csrf_token": "old"})

    page = parse(ended.text)
    form = next(form for form in page.all("form") if form.get("aria-label") == "What you sent")
    assert [ended.status_code, bare.status_code, stale.status_code] == [401, 401, 403]
    assert values(page, form) == {"back": ["/todos?page=2"]}
    assert not page.all("textarea")
    assert ">Claim the todo</button>" in ended.text
    assert ">Make a sign-in link</button>" in bare.text
    assert ">Make a sign-in link</button>" in stale.text
