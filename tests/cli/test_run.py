"""The rules every command keeps: exit codes, usage, --json and --log-level anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from app.cli import switchboard
from app.domain.errors import Unavailable
from tests.cli.conftest import Cli


def leaves(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield words, command
        return
    for name, child in command.commands.items():
        yield from leaves(child, (*words, name))


LEAVES = [*leaves(switchboard)]


@pytest.mark.parametrize("words", [words for words, _ in LEAVES], ids=" ".join)
def test_every_command_takes_json_and_a_log_level(words: tuple[str, ...], cli: Cli) -> None:
    ran = cli(*words, "--json", "--log-level", "debug", "--help")

    assert ran.code == 0
    assert "--json" in ran.out
    assert "--log-level" in ran.out


@pytest.mark.parametrize("words", [words for words, _ in LEAVES], ids=" ".join)
def test_an_unknown_option_is_usage_on_standard_error(words: tuple[str, ...], cli: Cli) -> None:
    ran = cli(*words, "--no-such-option")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: switchboard")


def test_no_command_takes_a_secret_as_an_argument() -> None:
    names = {name for _, leaf in LEAVES for one in leaf.params for name in one.opts}

    assert not {one for one in names if "secret" in one or "password" in one or one == "--token"}


def test_no_words_at_all_is_usage(cli: Cli) -> None:
    assert cli().code == 2


def test_an_unknown_command_is_usage(cli: Cli) -> None:
    ran = cli("frobnicate")

    assert (ran.code, ran.out) == (2, "")
    assert "frobnicate" in ran.err


def test_json_may_stand_before_the_command(cli: Cli) -> None:
    assert json.loads(cli("--json", "version").out) == {"version": "1.2.3"}


def test_flags_may_follow_positionals(cli: Cli) -> None:
    assert json.loads(cli("completion", "bash", "--json").out)["shell"] == "bash"


def test_the_log_level_is_handed_to_the_roof_once(cli: Cli) -> None:
    levels: list[str] = []

    cli("version", "--log-level", "debug", set_log_level=levels.append)

    assert levels == ["debug"]


def test_an_unknown_log_level_is_usage(cli: Cli) -> None:
    assert cli("version", "--log-level", "loud").code == 2


def test_serve_answers_the_code_of_the_server(cli: Cli) -> None:
    assert cli("serve", serve=lambda: 0).code == 0
    assert cli("serve", serve=lambda: 1).code == 1


def test_migrate_names_what_it_applied(cli: Cli) -> None:
    assert cli("migrate", migrate=lambda: ["0001_a", "0002_b"]).out == (
        "applied 0001_a\napplied 0002_b\n"
    )
    assert cli("migrate", migrate=list).out == "Everything is current.\n"
    assert json.loads(cli("migrate", "--json", migrate=lambda: ["0001_a"]).out) == {
        "applied": ["0001_a"]
    }


def test_a_database_that_is_away_is_a_sentence_and_one(cli: Cli) -> None:
    def away() -> list[str]:
        raise Unavailable

    ran = cli("migrate", migrate=away)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"Error: {Unavailable().sentence}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str, cli: Cli) -> None:
    ran = cli("completion", shell)

    assert ran.code == 0
    assert "_SWITCHBOARD_COMPLETE" in ran.out


@pytest.mark.parametrize(
    ("typed", "told"),
    [("endpoint re", ["revoke"]), ("team gr", ["grant", "group"]),
     ("team member r", ["remove", "role"]), ("team member role crew h2 a", ["admin"])],
)  # fmt: skip
def test_the_shell_is_told_the_words_that_fit(
    typed: str, told: list[str], cli: Cli, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("_SWITCHBOARD_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"switchboard {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))

    with pytest.raises(SystemExit) as ended:
        cli()

    assert ended.value.code == 0
    assert capsys.readouterr().out == "".join(f"plain,{word}\n" for word in told)


def test_completion_of_another_shell_is_usage(cli: Cli) -> None:
    assert cli("completion", "tcsh").code == 2


@pytest.mark.parametrize(
    ("short", "long"),
    [("vend", ("endpoint", "vend")), ("endpoints", ("endpoint", "list")),
     ("agents", ("agent", "list"))],
)  # fmt: skip
def test_the_short_spellings_are_the_same_commands(short: str, long: tuple[str, ...]) -> None:
    group = switchboard.commands[long[0]]

    assert isinstance(group, click.Group)
    assert switchboard.commands[short] is group.commands[long[1]]


def test_an_interrupt_ends_with_one_and_no_trace(cli: Cli) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    ran = cli("serve", serve=interrupted)

    assert (ran.code, ran.out) == (1, "")
    assert "Traceback" not in ran.err


def test_a_reader_that_left_is_no_trace() -> None:
    script = "from app.server import main; import sys; sys.exit(main(['completion', 'bash']))"
    read_end, write_end = os.pipe()
    os.close(read_end)

    ran = subprocess.run(
        [sys.executable, "-c", script], stdout=write_end, stderr=subprocess.PIPE, check=False,
        cwd=Path(__file__).parents[2], timeout=60,
    )  # fmt: skip
    os.close(write_end)

    assert (ran.returncode, ran.stderr) == (1, b"")
