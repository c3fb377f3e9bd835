"""What the two streams tell, and to whom: the page's figures, and the bells of agents."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from a11y.support.site import serving
from app.domain.verbs import BASICS
from tests.audit.conftest import Theatre
from tests.support.events import Ended, Events, Frame
from tests.support.make import Make, QueueId, Team

ROLES = ("member", "admin", "owner")


@pytest.fixture
def url(theatre: Theatre) -> Iterator[str]:
    """A server that listens, over the stage."""
    with serving(theatre.db, theatre.listener) as address:
        yield address
    theatre.keeper.put_back()


@pytest.mark.rule("identity.md: Ownership")
@pytest.mark.parametrize("who", ["ann", "stranger", "other owner", *ROLES])
def test_a_page_is_told_of_the_teams_queue_only_where_its_reader_is_in_the_team(
    theatre: Theatre, url: str, who: str
) -> None:
    own, queue = _own_queue(theatre, who), theatre.stage.team.names["queue"]

    with Events(url, theatre.stage.sessions[who]) as events:
        seen = _until(events, f"counts-{own}")
        told = {frame.event for frame in [*seen, *events.quiet(0.3)]}

    assert f"counts-{own}" in told
    of_blue = {event for event in told if event.partition("-")[2] == queue}
    assert of_blue == ({f"counts-{queue}"} if who in ROLES else set())


@pytest.mark.rule("identity.md: Ways in")
@pytest.mark.parametrize("held", ["nothing", "an operator token", "a credential"])
def test_a_page_stream_tells_nobody_else_anything(
    theatre: Theatre, url: str, held: str
) -> None:
    token = {"nothing": None, "an operator token": theatre.stage.tokens["owner"],
             "a credential": theatre.stage.credentials["team's agent"]}[held]  # fmt: skip

    with Events(url, token) as events:
        told = [frame.event for frame in events.rest() if frame.event]

    assert told == ["signed-out"]


@pytest.mark.rule("identity.md: Teams, effective reach per call")
def test_an_agent_is_rung_for_its_own_queue_and_those_it_was_granted_and_no_other(
    theatre: Theatre,
) -> None:
    make, humans = theatre.make, theatre.stage.humans
    blue = theatre.stage.scenes["team"].team
    assert blue is not None
    granted, withheld = make.team_queue(blue, "granted"), make.team_queue(blue, "withheld")
    lanes = {who: make.endpoint(humans[who], verbs=BASICS) for who in ("ann", "member", "stranger")}
    for who in ("member", "stranger"):
        make.grant(lanes[who], granted)  # the stranger's grant is worth nothing: no member
    shared, hidden = _rung(make, granted, blue), _rung(make, withheld, blue)
    own = {who: str(make.todo(lane, rings=True)) for who, lane in lanes.items()}

    for who, lane in lanes.items():
        expected = {own[who]} | ({shared} if who == "member" else set())
        told = _bells(theatre, make.credential(lane), len(expected))
        assert {todo for todo in (shared, hidden, *own.values()) if todo in told} == expected, who
    theatre.keeper.put_back()


def _bells(theatre: Theatre, credential: str, number: int) -> str:
    """The first bells of a stream, as many as it must tell."""
    answer, told = theatre.app.test_client().get(
        "/agent/v1/stream", headers={"Authorization": f"Bearer {credential}"}), ""  # fmt: skip
    for chunk in answer.response:
        told += chunk.decode() if isinstance(chunk, bytes) else chunk
        if told.count("event: doorbell") >= number:
            break
    answer.close()
    return told


def _rung(make: Make, queue: QueueId, team: Team) -> str:
    made = make.todo(queue=queue)
    make.run("update todos set event_id = %s where id = %s", make.event(None, team.id), str(made))
    return str(made)


def _own_queue(theatre: Theatre, who: str) -> str:
    """A queue with a policy that the person may see: the last that their page is told of."""
    if who in ROLES:
        return theatre.stage.team.names["queue"]
    found = theatre.make.value(
        "select max(q.id) from human_queues h join queues q on q.id = h.queue_id"
        " where h.human_id = %s and q.has_policy", theatre.stage.humans[who].id)  # fmt: skip
    return str(found)


def _until(events: Events, last: str) -> list[Frame]:
    """The frames up to one event; all there were when it does not come."""
    with contextlib.suppress(Ended):
        events.named(last)
    return events.seen
