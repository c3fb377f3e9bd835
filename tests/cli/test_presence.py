"""Clocking an endpoint in and out, and its shift, from the command line."""

from __future__ import annotations

import pytest

from app.domain.values import Json
from tests.cli.conftest import Cli
from tests.cli.fake import FakeServer, Reply, refused

pytestmark = pytest.mark.usefixtures("logged_in")

OUT: dict[str, Json] = {"presence": "out", "source": "operator", "until": None,
                        "shift": "Mon-Fri 09:00-17:00", "pending": 3}  # fmt: skip
LINES = ["presence  out", "source    operator", "until     -", "shift     Mon-Fri 09:00-17:00",
         "pending   3"]  # fmt: skip


@pytest.mark.parametrize(("words", "method", "path", "body"), [
    (("clock-in", "lane"), "PUT", "presence", {"presence": "in"}),
    (("clock-out", "lane"), "PUT", "presence", {"presence": "out"}),
    (("clock-out", "lane", "--until", "2026-12-24T18:00:00Z"), "PUT", "presence",
     {"presence": "out", "until": "2026-12-24T18:00:00Z"}),
    (("presence", "lane"), "GET", "presence", {}),
    (("shift", "lane"), "GET", "presence", {}),
    (("shift", "lane", "Sat 10:00-12:00"), "PUT", "shift", {"shift": "Sat 10:00-12:00"}),
    (("shift", "lane", ""), "PUT", "shift", {"shift": ""}),
    (("shift", "lane", "--clear"), "PUT", "shift", {"shift": None}),
])  # fmt: skip
def test_each_command_asks_its_route_and_shows_the_presence(
    words: tuple[str, ...], method: str, path: str, body: dict[str, Json], cli: Cli,
    fake: FakeServer,
) -> None:  # fmt: skip
    fake.script = lambda _: Reply(body=OUT)

    ran = cli("endpoint", *words)

    assert (ran.code, ran.out.splitlines()) == (0, LINES)
    assert [(one.method, one.path, one.body) for one in fake.asked] == [
        (method, f"/api/v1/endpoints/lane/{path}", body)]  # fmt: skip


@pytest.mark.parametrize("words", [
    ("clock-in",), ("clock-out",), ("presence",), ("shift",), ("presence", "a", "b"),
    ("shift", "lane", "Sat 10:00-12:00", "--clear"),
])  # fmt: skip
def test_wrong_usage_is_two_and_asks_nothing(
    words: tuple[str, ...], cli: Cli, fake: FakeServer
) -> None:
    ran = cli("endpoint", *words)

    assert (ran.code, ran.out, fake.asked) == (2, "", [])
    assert ran.err.startswith("Usage: ")


def test_a_refused_shift_is_one_and_says_why(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: refused(400, "invalid_argument", "shift: is blank.")

    ran = cli("endpoint", "shift", "lane", "")

    assert (ran.code, ran.out, ran.err) == (1, "", "Error: shift: is blank.\n")
