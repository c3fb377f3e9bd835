"""Every route and method answers every kind of caller what the tables say, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.api.asking import without_id
from tests.audit import rows_api, rows_open, rows_teams, stage
from tests.audit.conftest import Theatre
from tests.audit.rows import HIDDEN, Row, rules_for, rules_of
from tests.audit.stage import Place
from tests.support.recorded import recorded
from tests.web import scene

ROWS: tuple[Row, ...] = (*rows_api.ROWS, *rows_teams.ROWS, *rows_open.ROWS)
AGENTS = ("basic agent", "opted-in agent", "team's agent", "foreign agent")
STREAMS = ("GET /agent/v1/stream",)
FILE = {"file": "app.css", "nothing": "nothing", "slug": "anything"}


def faults(app: Flask) -> list[str]:
    """Routes that no row reaches; a page has its row in the table of pages."""
    pages = {(name.split()[0], rule.rule) for name in scene.TABLE for rule in
             app.url_map.iter_rules(name.split()[1])}  # fmt: skip
    missing = rules_of(app) - rules_for(app, ROWS) - pages
    return sorted(f"{method} {rule} has no row in tests/audit" for method, rule in missing)


def test_every_method_of_every_route_has_a_row(theatre: Theatre) -> None:
    assert faults(theatre.app) == []


@pytest.mark.parametrize(("path", "method"), [
    ("/api/v1/stray", "GET"), ("/api/v1/endpoints", "PATCH"), ("/stray", "POST"),
    ("/agent/v2/claim", "POST"), ("/events", "POST"),
])  # fmt: skip
def test_a_stray_route_or_method_is_found(theatre: Theatre, path: str, method: str) -> None:
    stray = Flask("stray")
    stray.url_map = theatre.app.url_map.__class__([
        rule.empty() for rule in theatre.app.url_map.iter_rules()])  # fmt: skip
    before = faults(stray)

    stray.add_url_rule(path, "stray", methods=[method], view_func=lambda: "")

    assert set(faults(stray)) - set(before) == {f"{method} {path} has no row in tests/audit"}


def answered(answer: TestResponse) -> str:
    """What a row says of an answer: the status, and the code of a refusal."""
    if answer.status_code < 400:
        return str(answer.status_code)
    body = answer.get_json(silent=True) or {}
    return f"{answer.status_code} {body.get('code') or body.get('error', '')}".strip()


def ask(theatre: Theatre, who: str, row: Row, names: Mapping[str, str]) -> TestResponse:
    """A row's request as one caller; `who` is nobody, an agent or a human of the stage."""
    held = {**theatre.stage.credentials, **theatre.stage.tokens}
    path, body = row.fill({**FILE, **names})
    headers = {"Authorization": f"Bearer {held[who]}"} if who in held else {}
    answer = theatre.app.test_client().open(path, method=row.method, json=body, headers=headers)
    if answer.status_code == 200:  # a new stream belongs in test_streams.py
        assert (answer.mimetype == "text/event-stream") == (row.title in STREAMS), row.title
    if row.title not in STREAMS:
        answer.get_data()  # before its file is closed
    answer.close()
    return answer


def cells(row: Row) -> Iterator[tuple[str, str, str]]:
    """Who asks, for whose thing, and what they must be answered."""
    yield "nobody", "team", row.nobody
    yield "stranger", "team", row.foreign
    for agent in AGENTS:
        yield agent, "team", row.agent
    if not row.is_tenants:
        return
    yield "other owner", "team", row.foreign
    for role in ("member", "admin", "owner"):
        expected = getattr(row, role)
        if expected is not None:
            yield role, "team", expected
    if row.own is not None:
        yield "ann", "own", row.own
        yield "owner", "own", row.foreign


@pytest.mark.rule("identity.md: Ownership")
def test_every_caller_is_answered_what_the_tables_say(theatre: Theatre) -> None:
    found = []
    for row in ROWS:
        for who, whose, expected in cells(row):
            answer = ask(theatre, who, row, _place(theatre, whose).names)
            title = f"{row.title} by {who} for {whose}"
            found += [f"{title}: tells {word}" for word in _secrets(theatre, who, whose)
                      if word in answer.text]  # fmt: skip
            if answered(answer) != expected:
                found.append(f"{title}: {answered(answer)}, not {expected}: {answer.text[:150]}")
            changed = theatre.keeper.put_back()
            if answer.status_code >= 400:
                found += [f"{title}: changed {table}" for table in changed]

    assert not found, "\n".join(found)


@pytest.mark.rule("identity.md: Ownership")
def test_the_foreign_reads_and_costs_like_the_unknown(
    theatre: Theatre, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, and by the statements that were run: the same names, the same number."""
    found = []
    for row in ROWS:
        for who, whose, expected in cells(row):
            if expected == HIDDEN and row.is_tenants:
                found += _unlike(theatre, monkeypatch, row, who, _place(theatre, whose))

    assert not found, "\n".join(found)


@pytest.mark.rule("identity.md: Ownership")
def test_one_foreign_thing_among_ones_own_is_like_an_unknown_one(
    theatre: Theatre, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One name of the path or of the body is another's, the rest is the caller's own."""
    found = []
    for row in ROWS:
        if not row.is_tenants or row.foreign == row.own:
            continue
        own, who = (theatre.stage.own, "ann") if row.own else (theatre.stage.other, "other owner")
        for name in _every_name(row):
            foreign = {**own.names, name: theatre.stage.team.names[name]}
            unknown = {**own.names, name: stage.unknown(name, theatre.stage.team)}
            if name not in ("queue_name", "idle_queue", "team_queue"):  # all have one of that name
                found += _compared(theatre, monkeypatch, row, who, (foreign, unknown))
            theatre.keeper.put_back()

    assert not found, "\n".join(found)


def _secrets(theatre: Theatre, who: str, whose: str) -> tuple[str, ...]:
    """The words that an answer to this caller may not hold."""
    is_its = who in ("member", "admin", "owner", "team's agent") if whose == "team" else (
        who in ("ann", "basic agent", "opted-in agent"))  # fmt: skip
    return () if is_its else _place(theatre, whose).words


def _place(theatre: Theatre, whose: str) -> Place:
    return {"own": theatre.stage.own, "team": theatre.stage.team}[whose]


def _every_name(row: Row) -> list[str]:
    in_body = Row(method="", path=str(row.body or "").replace("'", "")).names
    return list(dict.fromkeys([*row.names, *in_body]))


def _unlike(
    theatre: Theatre, patch: pytest.MonkeyPatch, row: Row, who: str, place: Place
) -> list[str]:
    unknown = {name: stage.unknown(name, place) for name in place.names}
    found = _compared(theatre, patch, row, who, (place.names, unknown))
    if "endpoint" in row.names:
        by_slug = {**place.names, "endpoint": place.names["endpoint_slug"]}
        found += _compared(theatre, patch, row, who, (by_slug, unknown))
    return found


def _compared(
    theatre: Theatre, patch: pytest.MonkeyPatch, row: Row, who: str,
    pair: tuple[Mapping[str, str], Mapping[str, str]],
) -> list[str]:  # fmt: skip
    answers, said = [], []
    ask(theatre, who, row, pair[1])  # stamps that are due once a minute are out of the way
    for names in pair:
        with recorded(patch) as texts:
            answers.append(ask(theatre, who, row, names))
        said.append(stage.names_of(texts))
    title, (foreign, unknown) = f"{row.title} by {who}", answers
    found = [f"{title}: reads {foreign.text[:150]}, not {unknown.text[:150]}"] * (
        (foreign.status_code, foreign.data) != (unknown.status_code, unknown.data))
    found += [f"{title}: the headers differ"] * (without_id(foreign) != without_id(unknown))
    return found + [f"{title}: runs {said[0]}, not {said[1]}"] * (said[0] != said[1])
