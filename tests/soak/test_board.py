"""A board of 200 queues and a million pending todos: exact, and how long it took."""

from __future__ import annotations

import pytest
from flask import Flask

from tests.bench import board
from tests.support.make import Make
from tests.web.test_board_size import seat

PENDING = 1_000_000


def test_a_million_pending_todos_are_counted_to_the_last(
    app: Flask, make: Make, db_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = board.fill(make, db_url, PENDING)
    client = seat(app, make, filled.human)

    page = client.get("/").text

    assert make.value("select count(*) from todos where state = 'pending'") == PENDING
    assert board.shown(page) == board.counted(make)
    assert len(board.shown(page)) == board.QUEUES
    with capsys.disabled():
        took = board.seconds(lambda: client.get("/"))
        print(f"\n200 queues, {PENDING:,} pending: {took:.3f} s a page")  # noqa: T201
