"""Every command of the CLI, run by everybody who may be logged in, on a server that listens."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from a11y.support.site import serving
from app.cli import Host, run, switchboard
from app.cli.credentials import Credentials, save
from tests.audit import stage
from tests.audit.conftest import Theatre
from tests.audit.rows_commands import HIDDEN, ON_THE_HOST, ROWS, CommandRow

Answered = tuple[int, str, str]


def commands(group: click.Command, above: tuple[str, ...] = ()) -> Iterator[str]:
    """The name of every command of a tree."""
    if not isinstance(group, click.Group):
        yield " ".join(above)
        return
    for name, command in group.commands.items():
        yield from commands(command, (*above, name))


def command_of(row: CommandRow) -> str:
    """The command that a row runs, by the tree."""
    node: click.Command = switchboard
    words = []
    for word in row.words:
        if not isinstance(node, click.Group):
            break
        node = node.commands[word]
        words.append(word)
    return " ".join(words)


def faults() -> list[str]:
    """Commands without a row and without a reason, and reasons that are none any longer."""
    known = set(commands(switchboard))
    rows = {command_of(row) for row in ROWS}
    return sorted([*(f"{name} has no row" for name in known - rows - ON_THE_HOST.keys()),
                   *(f"{name} has a reason and is gone" for name in ON_THE_HOST.keys() - known)])


def test_every_command_has_a_row() -> None:
    assert faults() == []


def test_a_stray_command_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    group = switchboard.commands["todo"]
    assert isinstance(group, click.Group)
    monkeypatch.setitem(group.commands, "stray", click.Command("stray"))

    assert faults() == ["todo stray has no row"]


@dataclass(frozen=True, slots=True)
class Shell:
    """A command line of somebody who is logged in, or of nobody."""

    theatre: Theatre
    url: str
    folder: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    def run(self, who: str, row: CommandRow, names: Mapping[str, str]) -> Answered:
        """The exit code and what was printed on either side."""
        held = {**self.theatre.stage.tokens, **self.theatre.stage.credentials}
        host = _host(self.url, self.folder / "credentials.json")
        assert host.credentials_path is not None
        host.credentials_path.unlink(missing_ok=True)
        if who in held:
            save(host, Credentials(url=self.url, token=held[who]))
        self.patch.setattr(sys, "stdin", io.StringIO(row.stdin))
        self.capture.readouterr()
        code = run(row.fill(names), host)
        out, err = self.capture.readouterr()
        return code, out, err


@pytest.fixture
def shell(
    theatre: Theatre, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Shell]:
    """Over a server that listens for the length of the test."""
    with serving(theatre.db, theatre.listener) as url:
        yield Shell(theatre, url, tmp_path, capsys, monkeypatch)


@pytest.mark.rule("cli.md: Rules for every command")
def test_every_command_comes_to_what_the_table_says(shell: Shell) -> None:
    found, theatre = [], shell.theatre
    for row in ROWS:
        for who, whose, expected in cells(row):
            place = theatre.stage.own if whose == "own" else theatre.stage.team
            asked = shell.run(who, row, place.names)
            changed = theatre.keeper.put_back()
            title = f"{row.command} by {who} for {whose}"
            if outcome(asked) != expected:
                found.append(f"{title}: {outcome(asked)}, not {expected}: {asked}")
            if asked[0] != 0:
                found += [f"{title}: changed {table}" for table in changed]

    assert not found, "\n".join(found)


@pytest.mark.rule("identity.md: Ownership")
def test_what_is_anothers_prints_what_an_unknown_thing_prints(shell: Shell) -> None:
    found, place = [], shell.theatre.stage.team
    unknown = {name: stage.unknown(name, place) for name in place.names}
    for row in ROWS:
        for who, whose, expected in cells(row):
            if expected == HIDDEN and whose == "team" and row.is_tenants:
                one, other = (shell.run(who, row, names) for names in (place.names, unknown))
                if one != other:
                    found.append(f"{row.command} by {who}: {one}, not {other}")

    assert not found, "\n".join(found)


def cells(row: CommandRow) -> Iterator[tuple[str, str, str]]:
    """Who runs it, for whose thing, and what it comes to."""
    yield "nobody", "team", row.nobody
    yield "team's agent", "team", row.agent
    yield "stranger", "team", row.foreign
    if row.is_tenants:
        yield "other owner", "team", row.foreign
    if row.team is not None:
        yield from zip(("member", "admin", "owner"), ("team",) * 3, row.team, strict=True)
    if row.own is not None:
        yield "ann", "own", row.own


def outcome(asked: Answered) -> str:
    """What a row says of an end: the exit code, and the code of the API's refusal."""
    code, _, err = asked
    if code == 0:
        return "0"
    told = json.loads(err) if err.startswith("{") else {}
    return f"{code} {told.get('code', '')}".strip()


def _host(url: str, credentials: Path) -> Host:
    return Host(
        version="1.2.3", base_url=url, local_url=url, is_embedded=True, default_url=url,
        credentials_path=credentials, endpoint_token=None, log_level="info", environment={},
        set_log_level=lambda _: None, serve=_never, migrate=_never, open_database=_never,
        ground=_never, new_ground=_never, spawn=_never,
    )  # fmt: skip


def _never(*_: object) -> Callable[..., None]:
    raise AssertionError("this command must not touch the server's own machine")
