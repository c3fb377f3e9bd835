"""Who has left a team learns nothing of it any more: not even what it is called now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from werkzeug.test import TestResponse

from app.domain.callers import Endpoint
from app.domain.verbs import GRANTABLE
from app.transactions import team_members
from tests.audit import test_pages, test_routes, test_verbs
from tests.audit.conftest import Theatre
from tests.audit.rows_verbs import ROWS as VERBS
from tests.web.scene import TABLE

NOW = "ultramarine"  # what the team is called since Ann left it


@pytest.fixture(scope="module")
def lane(theatre: Theatre) -> Endpoint:
    """Ann's endpoint, with all that an admin could tie to team blue; then she was removed.

    Her webhooks deliver to the team's queue, her endpoint drains it, and one delivery came.
    """
    make, people, team = theatre.make, theatre.stage.humans, theatre.stage.scenes["team"].team
    assert team is not None
    make.member(team, people["ann"], "admin")
    shared = make.team_queue(team, "drained")
    lane = make.endpoint(people["ann"], verbs=GRANTABLE)
    make.grant(lane, shared)
    hook = make.webhook(lane, "generic", team_queue=shared, secret=None)
    make.run("update endpoint_webhooks set target_team_queue_id = %s, target_queue = %s"
             " where id = %s", int(shared), shared.name, theatre.stage.own.names["webhook"])
    sent = theatre.app.test_client().post(f"/webhooks/w/{hook.token}", json={"title": "night"})
    assert sent.get_json()["todos"][0]["team"] == team.slug
    team_members.remove(theatre.db, people["owner"], team.slug, str(people["ann"].id))
    make.run("update teams set slug = %s, display_name = %s where id = %s", NOW, NOW, team.id)
    theatre.keeper.keep()
    return lane


def told(theatre: Theatre, title: str, answer: TestResponse) -> Iterator[str]:
    """The fault of an answer that says what the team is called, in its body or a header."""
    if NOW in answer.text or NOW in str(answer.headers):
        yield f"{title}: {answer.status_code} {answer.text[:300]}"
    theatre.keeper.put_back()


def everything(theatre: Theatre) -> Iterator[Mapping[str, str]]:
    """Ann's own things, the team's by their ids, and hers beside the team's."""
    own, team = theatre.stage.own.names, theatre.stage.scenes["team"].team
    assert team is not None
    by_id = {"team": str(team.id), "scope": f"team:{team.id}", "budget": f"team:{team.id}"}
    theirs = {**theatre.stage.team.names, **by_id}
    yield {**theirs, **own, "team": by_id["team"]}
    yield theirs


@pytest.mark.rule("identity.md: Teams, effective reach per call")
@pytest.mark.usefixtures("lane")
def test_no_route_and_no_page_tells_who_has_left_what_the_team_is_called(
    theatre: Theatre
) -> None:
    found: list[str] = []
    for names in everything(theatre):
        for row in test_routes.ROWS:
            answer = test_routes.ask(theatre, "ann", row, names)
            found += told(theatre, row.title, answer)
        own = replace(theatre.stage.scenes["own"], names=names)
        for name, page in TABLE.items():
            if "{invitation}" in page.path or page.is_stream:  # an invitation lets her come back
                continue
            answer = test_pages.ask(theatre, "ann", name, names, own.data(page))
            found += told(theatre, name, answer)

    assert not found, "\n".join(found)


@pytest.mark.rule("identity.md: Teams, effective reach per call")
def test_no_verb_tells_the_endpoint_of_who_has_left_and_no_sender_of_a_delivery(
    theatre: Theatre, lane: Endpoint
) -> None:
    make, credential, found = theatre.make, theatre.make.credential(lane), []
    [(token, webhook)] = make.rows(
        "select ingest_token, id from endpoint_webhooks where endpoint_id = %s", lane.id)
    held = str(make.todo(lane, state="claimed"))
    theatre.keeper.keep()
    for queue in ("inbox", "team:blue/drained"):
        names = {"queue": queue, "team_queue": queue, "todo": held, "held": held,
                 "webhook": str(webhook), "hook": str(webhook)}  # fmt: skip
        for row in VERBS:
            asked = test_verbs.call(theatre, credential, row, names)
            found += [f"{row.verb}: {asked.body}"] * (NOW in str((asked.body, asked.headers)))
            theatre.keeper.put_back()
    sent = theatre.app.test_client().post(f"/webhooks/w/{token}", json={"title": "day"})
    found += told(theatre, "a delivery", sent)

    assert not found, "\n".join(found)
