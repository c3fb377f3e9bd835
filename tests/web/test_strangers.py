"""Every page and form, asked for by those whom it does not concern: what is another's reads like
what does not exist, word for word, and nothing is changed.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.api.asking import without_id
from tests.support.client import Browser
from tests.support.make import Make
from tests.support.recorded import recorded
from tests.web import scene
from tests.web.scene import TABLE, Row, Scene

Browse = Callable[..., Browser]
SCENES: list[Callable[[Make], Scene]] = [
    lambda make: scene.of_human(make, "ana"), lambda make: scene.of_team(make, "night"),
]  # fmt: skip
# Longer than any id, other numerals and spellings of numbers, nothing at all, and bytes that no
# column holds.
MALFORMED = ("x", "0", "-1", "+1", "1.0", "1e3", "0x1", "9" * 25, "\u0661", "%00", "%0a", "%ff",
             "%ED%A0%80", "%20", "..%2f..", "null", "td_", "TD_" + "0" * 32, "'", "x" * 5000,
             "{00000000-0000-4000-8000-000000000000}")  # fmt: skip


@pytest.fixture(autouse=True)
def _unlimited(app: Flask) -> None:
    scene.without_limits(app)


def ask(seat: Browser, row: Row, path: str, data: dict[str, str], **more: str) -> TestResponse:
    """The request of a row, with the seat's own token."""
    if row.is_post:
        return seat.post(path, dict(data), headers=more)
    return seat.get(path, headers=more)


def tenants() -> Iterator[tuple[str, Row]]:
    """The rows about somebody's thing."""
    return ((name, row) for name, row in TABLE.items() if row.is_tenants)


def test_every_page_and_form_has_a_row_and_every_row_a_page(app: Flask) -> None:
    assert set(scene.rules(app)) == set(TABLE)


@pytest.mark.parametrize("name", [name for name in TABLE if TABLE[name].is_post])
def test_its_owner_may_send_a_form(browser: Browse, make: Make, name: str) -> None:
    """The other answers of the table mean something only because of this one."""
    row, own = TABLE[name], scene.of_human(make, "ana")

    answer = ask(browser(own.human), row, own.path(row), own.data(row))

    assert answer.status_code == row.owner, answer.text


@pytest.mark.parametrize("build", SCENES, ids=["human", "team"])
def test_its_owner_may_open_a_page(browser: Browse, make: Make, build: Callable[[Make], Scene]
                                   ) -> None:  # fmt: skip
    own = build(make)
    seat = browser(own.human)

    pages = {name: row for name, row in TABLE.items() if not row.is_post}

    answered = {}
    for name, row in pages.items():
        with ask(seat, row, own.path(row), {}) as answer:
            answered[name] = answer.status_code

    assert answered == {name: row.owner for name, row in pages.items()}


@pytest.mark.rule("identity.md: Sessions and pages")
def test_nobody_is_led_to_sign_in_and_every_form_is_given_back(
    client: FlaskClient, make: Make
) -> None:
    own = scene.of_human(make, "ana")
    before, faults = scene.everything(make), []

    for name, row in TABLE.items():
        if name == "POST account.use_link":
            continue
        data = own.data(row)
        answer = client.open(own.path(row), method=name.split()[0],
                             data=data if row.is_post else None)  # fmt: skip
        faults += _wrong_to_nobody(name, row, answer, data)
        faults += [f"{name}: tells {word}" for word in own.words
                   if word in answer.text and word not in data.values()]  # fmt: skip

    assert not faults, "\n".join(faults)
    assert scene.everything(make) == before


def _wrong_to_nobody(name: str, row: Row, answer: TestResponse, data: dict[str, str]) -> list[str]:
    found = [f"{name}: {answer.status_code}"] if answer.status_code != row.stranger else []
    if answer.status_code == 302 and answer.headers["Location"] != "/login":
        found.append(f"{name}: leads to {answer.headers['Location']}")
    if answer.status_code == 401:
        found += lost(name, answer, data)
    return found


def lost(name: str, answer: TestResponse, data: dict[str, str]) -> list[str]:
    """The values that a refused form no longer holds; a button that was pressed is none."""
    shown = html.unescape(answer.text)
    return [f"{name}: lost {text}" for field, text in data.items()
            if field != "decision" and text not in shown]  # fmt: skip


@pytest.mark.rule("identity.md: Ownership")
@pytest.mark.parametrize("build", SCENES, ids=["human", "team"])
def test_what_is_anothers_reads_like_what_does_not_exist(
    browser: Browse, make: Make, monkeypatch: pytest.MonkeyPatch, build: Callable[[Make], Scene]
) -> None:
    own = build(make)
    seat = browser(scene.of_human(make, "ben").human)
    seat.get("/")
    before, faults = scene.everything(make), []

    for name, row in tenants():
        data, unknown = own.data(row), row.path.format(**{n: scene.unknown(n) for n in row.names})
        answers, said = [], []
        for path in (own.path(row), unknown):
            with recorded(monkeypatch) as asked:
                answers.append(ask(seat, row, path, data))
            said.append(scene.statements(asked))
        faults += _unlike(name, row, answers, said)
        hurried = ask(seat, row, own.path(row), data, **{"HX-Request": "true"})
        faults += [f"{name}: {hurried.status_code} by htmx"] * (hurried.status_code != row.foreign)

    assert not faults, "\n".join(faults)
    assert scene.everything(make) == before


def _unlike(
    name: str, row: Row, answers: list[TestResponse], said: list[list[str]]
) -> list[str]:
    foreign, unknown = answers
    found = [f"{name}: {foreign.status_code}"] if foreign.status_code != row.foreign else []
    if (foreign.status_code, foreign.data) != (unknown.status_code, unknown.data):
        found.append(f"{name}: the foreign one reads otherwise than the unknown one")
    if without_id(foreign) != without_id(unknown):
        found.append(f"{name}: the headers differ")
    if said[0] != said[1]:
        found.append(f"{name}: asks {said[0]} for the foreign one, {said[1]} for the unknown one")
    return found


@pytest.mark.rule("identity.md: Ownership")
def test_what_cannot_be_an_id_reads_like_what_does_not_exist(
    browser: Browse, make: Make
) -> None:
    own = scene.of_human(make, "ana")
    seat, faults = browser(own.human), []

    for name, row in tenants():
        unknown = ask(seat, row, row.path.format(**{n: scene.unknown(n) for n in row.names}), {})
        for text in MALFORMED:
            path = row.path.format(**dict.fromkeys(row.names, text))
            answer = ask(seat, row, path, own.data(row))
            if (answer.status_code, answer.data) != (unknown.status_code, unknown.data):
                faults.append(f"{name}: {answer.status_code} for {text[:40]!r}")

    assert not faults, "\n".join(faults)


@pytest.mark.rule("identity.md: Who may configure a policy")
@pytest.mark.parametrize("name", [name for name in TABLE if TABLE[name].member is not None])
def test_a_plain_member_of_a_team_may_work_and_no_more(
    browser: Browse, make: Make, name: str
) -> None:
    row, team = TABLE[name], scene.of_team(make, "night")
    assert team.member is not None
    seat = browser(team.member)

    answer = ask(seat, row, team.path(row), team.data(row))

    assert answer.status_code == row.member, answer.text
    if row.member == 404:
        unknown = row.path.format(**{n: scene.unknown(n) for n in row.names})
        assert ask(seat, row, unknown, team.data(row)).data == answer.data


def test_pages_of_ones_own_show_nothing_of_another(browser: Browse, make: Make) -> None:
    own, other = scene.of_human(make, "ana"), scene.of_human(make, "ben")
    seat = browser(other.human)

    told = [f"{name}: {word}" for name, row in TABLE.items() if not (row.is_post or row.is_stream)
            for answer in [ask(seat, row, other.path(row), {})]
            for word in own.words if word in answer.text]  # fmt: skip

    assert not told, "\n".join(told)


@pytest.mark.parametrize("path", ["/todos?queue={}", "/webhooks/new?endpoint={}"])
def test_a_foreign_id_in_the_query_reads_like_an_unknown_one(
    browser: Browse, make: Make, path: str
) -> None:
    # A number that stands nowhere else on the page, so that it can be told apart in the text.
    make.run("alter table queues alter column id restart with 700000001")
    own = scene.of_human(make, "ana")
    name = "queue" if "queue" in path else "endpoint"
    seat = browser(make.human("ben"))

    foreign = seat.get(path.format(own.names[name]))
    unknown = seat.get(path.format(scene.unknown(name)))

    assert foreign.status_code == unknown.status_code
    assert foreign.text.replace(own.names[name], scene.unknown(name)) == unknown.text
