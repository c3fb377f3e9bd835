"""A large board: exact figures in a number of statements that does not grow with it."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.domain.callers import Human
from tests.bench import board
from tests.support.client import COOKIE
from tests.support.make import Make
from tests.support.recorded import recorded

PENDING = 10_000
MOST_STATEMENTS = 9  # the session, seven for the headers and one for the cards


def seat(app: Flask, make: Make, human: Human) -> FlaskClient:
    """A signed-in browser that takes megabytes as they are, without judging their markup."""
    client = FlaskClient(app, app.response_class)
    client.set_cookie(COOKIE, make.session(human), domain="localhost")
    return client


def test_two_hundred_queues_are_exact_in_as_many_statements_as_one(
    app: Flask, make: Make, db_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled = board.fill(make, db_url, PENDING)
    client = seat(app, make, filled.human)

    with recorded(monkeypatch) as said:
        page = client.get("/").text

    assert make.value("select count(*) from todos where state = 'pending'") == PENDING
    assert board.shown(page) == board.counted(make)
    assert len(board.shown(page)) == board.QUEUES
    assert page.count('class="chip chip--') == 20 * board.QUEUES * 4 // 10
    assert page.count(">Claim<") == 20 * board.QUEUES
    assert page.count('class="tag tag--admission_unavailable"') == board.QUEUES // 10
    assert len([each for each in said if each.startswith("--")]) <= MOST_STATEMENTS
