"""Tables without borders, and nothing a server says can drive the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

import click
import pytest

from app.cli import Host, switchboard
from app.cli.output import colourful, facts, table, word
from tests.cli.conftest import Cli
from tests.cli.fake import FakeServer, Reply, ok


def test_columns_are_padded_with_two_spaces_and_lines_end_where_the_text_ends() -> None:
    assert table(("A", "LONGER"), [("1", "x"), ("22222", "y")], hint="-") == [
        "A      LONGER", "1      x", "22222  y",
    ]  # fmt: skip


def test_an_empty_table_is_its_hint_alone() -> None:
    assert table(("A",), [], hint="Nothing yet.") == ["Nothing yet."]


def test_wide_characters_count_as_two_columns() -> None:
    assert table(("A", "B"), [("東京", "x"), ("abcd", "y")], hint="-")[1:] == [
        "東京  x", "abcd  y",
    ]  # fmt: skip


def test_facts_are_aligned_and_escaped() -> None:
    assert facts([("a", "x\x1b[2J"), ("long", "y")]) == ["a     x\\u001b[2J", "long  y"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), ("", "-"), ([], "-"), (["a", "b"], "a,b"), (True, "yes"), (0, "0"),
     ({"a": 1}, '{"a": 1}')],
)  # fmt: skip
def test_a_value_becomes_a_word(value: object, shown: str) -> None:
    assert word(value) == shown


@pytest.mark.usefixtures("logged_in")
def test_a_table_escapes_what_the_server_says(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(agents=[{"id": "1", "name": "\x1b]0;owned\x07"}])

    ran = cli("agents")

    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\\u001b]0;owned\\u0007" in ran.out


@pytest.mark.usefixtures("logged_in")
def test_json_is_the_body_reindented_only(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(text='{"agents":[],"big":1.50,"later":{}}')

    assert cli("agents", "--json").out == '{\n  "agents": [],\n  "big": 1.50,\n  "later": {}\n}\n'


@pytest.mark.usefixtures("logged_in")
def test_an_error_goes_to_standard_error_with_its_field(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: Reply(
        status=400, text='{"error":"Out of bounds.","code":"invalid_argument","field":"limit"}'
    )

    ran = cli("agents")
    as_json = cli("agents", "--json")

    assert (ran.code, ran.out, ran.err) == (1, "", "Error: Out of bounds. (field limit)\n")
    assert (as_json.code, as_json.out) == (1, "")
    assert '"field": "limit"' in as_json.err


@pytest.mark.usefixtures("logged_in")
def test_nothing_is_coloured_when_piped(cli: Cli, fake: FakeServer) -> None:
    fake.script = lambda _: ok(endpoints=[{"slug": "a", "state": "active", "queues": ["q"]}])

    assert "\x1b" not in cli("endpoints").out


def test_no_list_of_commands_cuts_what_it_says_of_one(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    groups = [*_groups(switchboard)]
    cut = []
    for words in groups:
        lines = cli(*words, "-h").out.partition("\nCommands:\n")[2].splitlines()
        assert lines, words
        cut += [(*words, line) for line in lines if "..." in line]

    assert cut == []
    assert {(), ("team",), ("queue", "budget"), ("team", "invite")} <= {*groups}


def _groups(group: click.Group, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of a group and of every group in it."""
    yield words
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _groups(command, *words, name)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)  # fmt: skip
def test_colour_is_for_terminals_that_want_it(
    environment: dict[str, str], host: Host, *, coloured: bool
) -> None:
    with click.Context(switchboard, obj=replace(host, environment=environment)):
        assert colourful(Terminal()) is coloured
        assert not colourful(io.StringIO())


def test_colour_does_not_move_a_column(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("done", "x"), ("claimed", "y")]
    plain = table(("STATE", "B"), rows, hint="-")

    with click.Context(switchboard, obj=host):
        monkeypatch.setattr("sys.stdout", Terminal())
        coloured = table(("STATE", "B"), rows, hint="-")

    assert coloured != plain
    assert [click.unstyle(line) for line in coloured] == plain
