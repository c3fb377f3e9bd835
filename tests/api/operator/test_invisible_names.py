"""No door takes a name that shows as nothing: people would not know what they look at."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.db.database import Database
from app.domain.callers import Human
from app.domain.errors import InvalidArgument
from app.transactions import people
from tests.support.client import Browser, Caller
from tests.support.make import Make
from tests.support.oauth import CALLBACK

TABLES = ("humans", "teams", "team_invites", "agents", "oauth_tokens", "oauth_clients", "todos")


@pytest.mark.parametrize("name", ["\u200b", " \u202e\u2066 "])
def test_a_name_that_shows_as_nothing_is_refused_at_every_door(
    db: Database, make: Make, client: FlaskClient, operator: Callable[[Human], Caller],
    browser: Callable[[Human], Browser], name: str,
) -> None:  # fmt: skip
    ada, team = make.human("Ada"), make.team("blue")
    make.member(team, ada, "owner")
    lane, api, seat = make.endpoint(ada), operator(ada), browser(ada)

    def kept() -> list[object]:
        counts = [make.value(f"select count(*) from {table}") for table in TABLES]
        return [*counts, make.value("select display_name from teams")]

    before = kept()
    asked: dict[str, TestResponse] = {
        "display_name": api.post("/teams", json={"slug": "green", "display_name": name}),
        "display_name ": api.patch("/teams/blue", json={"display_name": name}),
        "email": api.post("/teams/blue/invites", json={"email": name, "role": "member"}),
        "name": api.post("/endpoints", json={"name": name}),
        "title": api.post(f"/endpoints/{lane.slug}/todos", json={"title": name}),
    }
    pages = [
        seat.post("/teams/new", {"slug": "green", "display_name": name}),
        seat.post("/teams/blue/edit", {"slug": "blue", "display_name": name}),
        seat.post("/teams/blue/invites", {"email": name, "role": "member"}),
        seat.post("/settings/tokens", {"name": name}),
        seat.post("/endpoints/vend/agent", {"name": name}),
    ]
    app = client.post("/oauth/register", json={"client_name": name, "redirect_uris": [CALLBACK]})
    with pytest.raises(InvalidArgument):
        people.create_human(db, display_name=name)

    for field, answer in asked.items():
        assert (answer.status_code, answer.get_json().get("field")) == (400, field.strip()), field
    assert [answer.status_code for answer in pages] == [422] * len(pages)
    assert (app.status_code, app.get_json()["error"]) == (400, "invalid_client_metadata")
    assert kept() == before
