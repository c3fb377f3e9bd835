"""Every page and form as every role of a team, as another team's owner, and with an agent's keys.

The table is that of `tests/web/scene.py`, where a page without a row fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from werkzeug.test import TestResponse

from tests.api.asking import without_id
from tests.audit import stage
from tests.audit.conftest import Theatre
from tests.audit.rows import NAME
from tests.audit.stage import Place
from tests.support.client import COOKIE
from tests.support.recorded import recorded
from tests.web.scene import TABLE, Row

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ROLES = ("member", "admin", "owner")


def cells(name: str, row: Row) -> Iterator[tuple[str, int]]:
    """Who asks for the team's thing, and what they are answered."""
    yield "stranger", row.foreign
    yield "other owner", row.foreign
    if row.member is None:
        return
    yield "member", row.member
    yield "admin", row.owner if row.admin is None else row.admin
    yield "owner", row.owner


def ask(
    theatre: Theatre, who: str, name: str, names: Mapping[str, str],
    data: Mapping[str, str] | None = None,
) -> TestResponse:  # fmt: skip
    """A row's request by somebody signed in, with the form's token, and `data` if not the row's."""
    row, session = TABLE[name], theatre.stage.sessions[who]
    client = theatre.app.test_client()
    client.set_cookie(COOKIE, session, domain="localhost")
    posted = _posted(theatre, row, session, data)
    return _whole(row, client.open(row.path.format(**names), method=name.split()[0], data=posted))


@pytest.mark.rule("identity.md: Teams")
def test_every_role_is_answered_what_the_table_of_pages_says(theatre: Theatre) -> None:
    found, names = [], theatre.stage.team.names
    for name, row in TABLE.items():
        for who, expected in cells(name, row):
            answer = ask(theatre, who, name, names)
            changed = theatre.keeper.put_back()
            title = f"{name} by {who}"
            if answer.status_code != expected:
                found.append(f"{title}: {answer.status_code}, not {expected}")
            if answer.status_code >= 400:
                found += [f"{title}: changed {table}" for table in changed]
            if who not in ROLES and "{app}" not in row.path:  # an app's name is nobody's
                found += [f"{title}: tells {word}" for word in theatre.stage.team.words
                          if word in answer.text]  # fmt: skip

    assert not found, "\n".join(found)


@pytest.mark.rule("identity.md: Ownership")
def test_a_page_hidden_from_a_role_reads_and_costs_like_one_that_is_not_there(
    theatre: Theatre, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, place = [], theatre.stage.team
    unknown = {name: stage.unknown(name, place) for name in place.names}
    for name, row in TABLE.items():
        for who, expected in cells(name, row):
            if expected == 404 and row.is_tenants:
                fault = _unlike(theatre, monkeypatch, name, who, (place.names, unknown))
                found += [f"{name} by {who}: {each}" for each in fault]
    theatre.keeper.put_back()

    assert not found, "\n".join(found)


@pytest.mark.rule("identity.md: Ownership")
def test_a_foreign_thing_in_a_form_is_like_an_unknown_one(
    theatre: Theatre, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address names the caller's own, and one field what is another's."""
    found, (own, team) = [], (theatre.stage.other, theatre.stage.team)
    for name, row in TABLE.items():
        for field in NAME.findall(" ".join((row.data or {}).values())):
            foreign, unknown = (_one_as(theatre, row, own, field, text) for text in (
                team.names[field], stage.unknown(field, team)))  # fmt: skip
            answers, said = [], []
            for data in (foreign, unknown):
                with recorded(monkeypatch) as texts:
                    answers.append(ask(theatre, "other owner", name, own.names, data))
                said.append(stage.names_of(texts))
                found += [f"{name}: changed {each}" for each in theatre.keeper.put_back()]
            read = [_ID.sub("an id", answer.text) for answer in answers]  # each form has its own
            found += [f"{name}: {field} reads otherwise"] * (read[0] != read[1])
            found += [f"{name}: {field} runs {said[0]}, not {said[1]}"] * (said[0] != said[1])

    assert not found, "\n".join(found)


@pytest.mark.rule("identity.md: Ways in")
@pytest.mark.parametrize("held", ["a credential", "an operator token"])
def test_no_token_opens_a_page_neither_as_a_bearer_nor_as_a_cookie(
    theatre: Theatre, held: str
) -> None:
    token = (theatre.stage.credentials["team's agent"] if held == "a credential"
             else theatre.stage.tokens["owner"])  # fmt: skip
    found, names = [], theatre.stage.team.names
    for name, row in TABLE.items():
        if name == "POST account.use_link":  # the link is its own proof
            continue
        client = theatre.app.test_client()
        client.set_cookie(COOKIE, token, domain="localhost")
        data = _posted(theatre, row, token)
        answer = _whole(row, client.open(
            row.path.format(**names), method=name.split()[0], data=data,
            headers={"Authorization": f"Bearer {token}"}))  # fmt: skip
        if answer.status_code != row.stranger:
            found.append(f"{name}: {answer.status_code}, not {row.stranger}")

    assert not found, "\n".join(found)
    assert theatre.keeper.put_back() == set()


def _unlike(
    theatre: Theatre, patch: pytest.MonkeyPatch, name: str, who: str,
    pair: tuple[Mapping[str, str], Mapping[str, str]],
) -> list[str]:  # fmt: skip
    answers, said = [], []
    for names in pair:
        with recorded(patch) as texts:
            answers.append(ask(theatre, who, name, names))
        said.append(stage.names_of(texts))
    foreign, unknown = answers
    found = ["it reads otherwise"] * (
        (foreign.status_code, foreign.data) != (unknown.status_code, unknown.data))
    found += ["the headers differ"] * (without_id(foreign) != without_id(unknown))
    return found + [f"runs {said[0]}, not {said[1]}"] * (said[0] != said[1])


def _posted(
    theatre: Theatre, row: Row, session: str, data: Mapping[str, str] | None = None
) -> dict[str, str] | None:
    if not row.is_post:
        return None
    return {"csrf_token": stage.csrf(session),
            **(data or theatre.stage.scenes["team"].data(row))}  # fmt: skip


def _one_as(
    theatre: Theatre, row: Row, own: Place, field: str, text: str
) -> dict[str, str]:
    """The row's data for the caller's own things, with one of them another."""
    scene = theatre.stage.scenes["other"]
    return replace(scene, names={**own.names, field: text}).data(row)


def _whole(row: Row, answer: TestResponse) -> TestResponse:
    if answer.status_code == 200:  # a new stream belongs in test_streams.py
        assert (answer.mimetype == "text/event-stream") == row.is_stream, row.path
    if not row.is_stream:
        answer.get_data()
    answer.close()
    return answer
