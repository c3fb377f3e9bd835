"""Is another's thing told from an unknown one by the clock: medians of many requests, interleaved.

What is compared exactly elsewhere (bytes, and the statements that ran) is measured here on a real
server. The numbers are reported; only a difference that nobody could miss fails.
"""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pytest
import urllib3

from app.domain.verbs import GRANTABLE
from tests.support.client import COOKIE
from tests.support.rounds import rounds
from tests.support.servers import Fleet
from tests.web import scene

PAIRS = rounds(60, 1000)
STRANGERS = 40  # each has a bucket of requests of their own
# A share of the time itself, and what a busy machine adds to any median, in seconds.
SHARE, SLACK = 0.5, 0.003

_http = urllib3.PoolManager(retries=False, timeout=30)
Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """Somebody with nothing, in each way in which one may ask."""

    api: Headers
    page: Headers
    agent: Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A request by its method, its path with one `{}` for the thing, and who it is asked as."""

    method: str
    path: str
    thing: str
    headers: Callable[[Stranger], Headers]
    body: bytes | None = None

    @property
    def title(self) -> str:
        """How it is reported."""
        return f"{self.method} {self.path}"


def _api(method: str, path: str, thing: str, body: bytes | None = None) -> Door:
    return Door(method=method, path=f"/api/v1{path}", thing=thing, body=body,
                headers=lambda stranger: stranger.api)  # fmt: skip


def _page(path: str, thing: str) -> Door:
    return Door(method="GET", path=path, thing=thing, headers=lambda stranger: stranger.page)


def _verb(verb: str, argument: str, thing: str) -> Door:
    body = f'{{"{argument}": "%s"}}'.encode()
    return Door(method="POST", path=f"/agent/v1/{verb}", thing=thing, body=body,
                headers=lambda stranger: stranger.agent)  # fmt: skip


DOORS = (
    _api("GET", "/endpoints/{}/presence", "endpoint"),
    _api("PATCH", "/endpoints/{}", "endpoint", b'{"default_lease_ttl_seconds": 90}'),
    _api("GET", "/todos/{}", "todo"),
    _api("POST", "/todos/{}/retry", "todo", b"{}"),
    _api("GET", "/webhooks/{}/routes", "webhook"),
    _api("GET", "/admission/endpoint:{}/inbox", "endpoint"),
    _api("PUT", "/admission/endpoint:{}/inbox", "endpoint", b'{"max_in_flight": 1}'),
    _api("GET", "/teams/{}/members", "team"),
    _api("DELETE", "/teams/{}", "team"),
    _page("/queues/{}", "queue"),
    _page("/queues/{}/budget", "queue"),
    _page("/todos/{}", "todo"),
    _page("/teams/{}", "team"),
    _verb("get_todo", "id", "todo"),
    _verb("claim", "id", "todo"),
    _verb("list_todos", "queue", "team_queue"),
)


@pytest.mark.rule("identity.md: Ownership, by the clock")
def test_the_foreign_takes_as_long_as_the_unknown(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    server, make = fleet.add(), fleet.make
    blue = scene.of_team(make, "blue")
    things = {**blue.names, "team_queue": "team:blue/inbox"}
    strangers = [_stranger(fleet) for _ in range(STRANGERS)]
    report, far = [], []

    for door in DOORS:
        foreign, unknown = _medians(server.url, door, strangers, things[door.thing])
        line = f"{door.title}: foreign {foreign * 1000:.2f} ms, unknown {unknown * 1000:.2f} ms"
        report.append(line)
        if abs(foreign - unknown) > SHARE * min(foreign, unknown) + SLACK:
            far.append(line)

    told = f"medians of {PAIRS} interleaved pairs\n" + "\n".join(report)
    with capsys.disabled():
        print(f"\n{told}")  # noqa: T201
    assert not far, f"apart: {far}\n{told}"


def _medians(
    url: str, door: Door, strangers: list[Stranger], foreign: str
) -> tuple[float, float]:
    """Seconds that the foreign thing takes and that the unknown one takes."""
    took: dict[str, list[float]] = {foreign: [], _unknown(door.thing): []}
    asked = _pairs(tuple(took), strangers)
    for thing, stranger in asked:
        path, body = url + door.path.format(thing), door.body
        if body is not None and b"%s" in body:
            body = body.replace(b"%s", thing.encode())
        headers = {"Content-Type": "application/json", **door.headers(stranger)}
        began = time.perf_counter()
        answer = _http.request(door.method, path, body=body, headers=headers, redirect=False)
        seconds = time.perf_counter() - began
        if answer.status == 429:  # admission writes: one a second of each human (R43)
            continue
        assert answer.status == 404, (door.title, answer.status, answer.data[:200])
        took[thing].append(seconds)
    first, second = (statistics.median(found) for found in took.values())
    return first, second


def _pairs(
    things: tuple[str, ...], strangers: list[Stranger]
) -> Iterator[tuple[str, Stranger]]:
    """Both things by turns, each first as often as the other, each pair by one stranger."""
    for number in range(PAIRS):
        order = things if number % 2 else things[::-1]
        for thing in order:
            yield thing, strangers[number % len(strangers)]


def _stranger(fleet: Fleet) -> Stranger:
    make = fleet.make
    human = make.human()
    lane = make.endpoint(human, verbs=GRANTABLE)
    return Stranger(
        api={"Authorization": f"Bearer {make.operator_token(human)}"},
        page={"Cookie": f"{COOKIE}={make.session(human)}"},
        agent={"Authorization": f"Bearer {make.credential(lane)}"},
    )


def _unknown(thing: str) -> str:
    spelled = {"team": "nobody", "team_queue": "team:nobody/inbox", "queue": "999999999",
               "todo": f"td_{uuid.uuid4().hex}"}  # fmt: skip
    return spelled.get(thing, str(uuid.uuid4()))
