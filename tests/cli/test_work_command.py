"""What a worker does with COMMAND: what it gives it, and what it makes of how it ends."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from app.domain.values import Json
from tests.cli.conftest import Cli
from tests.cli.fake import Asked, FakeServer, Reply, ok, refused
from tests.cli.test_work_claims import agent_server, claimed


def ran_once(cli: Cli, fake: FakeServer, *command: str, verb: str = "complete") -> dict[str, Json]:
    """Work one todo with COMMAND, and answer the body of how it was settled."""
    fake.script = agent_server(iter([claimed()]))
    cli("work", "--once", "--", *command)
    assert fake.verbs()[-1] == verb
    return fake.asked[-1].body


def shell(text: str) -> tuple[str, str, str]:
    return "sh", "-c", text


def test_output_that_is_json_is_the_result(cli: Cli, fake: FakeServer) -> None:
    assert ran_once(cli, fake, "echo", '{"a": [1, null]}')["result"] == {"a": [1, None]}


@pytest.mark.parametrize("text", ["all done", "NaN", '{"a":1,"a":2}', '"\\u0000"', "[" * 100])
def test_other_output_is_the_result_as_text(text: str, cli: Cli, fake: FakeServer) -> None:
    assert ran_once(cli, fake, "printf", "%s", text)["result"] == text


def test_no_output_is_no_result(cli: Cli, fake: FakeServer) -> None:
    assert "result" not in ran_once(cli, fake, "true")


def test_output_that_is_not_text_is_made_text(cli: Cli, fake: FakeServer) -> None:
    assert ran_once(cli, fake, "printf", r"a\377b\000c")["result"] == "a\ufffdb\ufffdc"


def test_output_is_bounded_and_says_so(cli: Cli, fake: FakeServer) -> None:
    body = ran_once(cli, fake, sys.executable, "-c", "print('x' * 3_000_000)")

    assert body["result"] == "x" * 256 * 1024
    assert body["summary"] == "The output was cut after 262144 bytes."


def test_output_that_grows_when_sent_still_fits_a_request(cli: Cli, fake: FakeServer) -> None:
    body = ran_once(cli, fake, sys.executable, "-c", "print(chr(1) * 250_000)")

    assert set(body["result"]) == {"\x01"}
    assert int(fake.asked[-1].headers["Content-Length"]) < 1024 * 1024


def test_a_failure_is_summed_up_by_the_end_of_its_error_output(
    cli: Cli, fake: FakeServer
) -> None:
    script = "printf 'x%.0s' $(seq 5000) >&2; printf 'é%.0s' $(seq 1000) >&2; echo end >&2; exit 3"

    body = ran_once(cli, fake, *shell(script), verb="fail")

    assert str(body["summary"]).endswith("ééé" + "end")
    assert 2000 < len(str(body["summary"]).encode()) <= 2048
    assert body["lease_token"] == "fence"


@pytest.mark.parametrize(
    ("script", "summary"),
    [("exit 3", "The command ended with exit code 3."),
     ("kill -9 $$", "The command ended with signal 9.")],
)  # fmt: skip
def test_a_silent_failure_is_summed_up_by_how_it_ended(
    script: str, summary: str, cli: Cli, fake: FakeServer
) -> None:
    assert ran_once(cli, fake, *shell(script), verb="fail")["summary"] == summary


def test_a_failed_todo_says_what_comes_next(cli: Cli, fake: FakeServer) -> None:
    row: Json = {"id": "td_1", "queue": "inbox", "next_retry_at": "2026-09-30T15:04:35Z"}
    fake.script = agent_server(iter([claimed()]), fail=Reply(body=row))

    ran = cli("work", "--once", "--", "false")

    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "failed  td_1  inbox  retried at 2026-09-30T15:04:35Z"


def test_a_command_that_is_not_there_fails_the_todo_and_ends_the_worker(
    cli: Cli, fake: FakeServer
) -> None:
    fake.script = agent_server(iter([claimed(), claimed(2)]))

    ran = cli("work", "--", "no-such-command-here")

    assert ran.code == 1
    assert "no-such-command-here cannot be started: No such file or directory" in ran.err
    assert [one.body["summary"] for one in fake.of("fail")] == [
        "no-such-command-here cannot be started: No such file or directory"
    ]


def test_a_command_that_is_not_executable_fails_the_todo(
    cli: Cli, fake: FakeServer, tmp_path: Path
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a program\n")
    path.chmod(stat.S_IRUSR)

    body = ran_once(cli, fake, str(path), verb="fail")

    assert "Permission denied" in str(body["summary"])


def test_the_environment_names_the_todo_and_hides_our_credentials(
    cli: Cli, fake: FakeServer
) -> None:
    fake.script = agent_server(iter([claimed()]))
    given = {"PATH": os.environ["PATH"], "KEPT": "1", "SWITCHBOARD_ENDPOINT_TOKEN": "sbk_worker",
             "SWITCHBOARD_DATABASE_URL": "postgres://x"}  # fmt: skip

    cli("work", "--once", "--", "env", environment=given)

    lines = set(str(fake.of("complete")[0].body["result"]).splitlines())
    assert {line for line in lines if line.startswith(("SWITCHBOARD_", "KEPT"))} == {
        "KEPT=1", "SWITCHBOARD_TODO_ID=td_1", "SWITCHBOARD_QUEUE=inbox", "SWITCHBOARD_ATTEMPT=1",
        f"SWITCHBOARD_URL={fake.url}",
    }  # fmt: skip


def test_a_command_need_not_read_its_input(cli: Cli, fake: FakeServer) -> None:
    big: Json = {"id": "td_1", "queue": "q", "payload": "x" * 1_000_000}
    fake.script = agent_server(iter([ok(todo=big)]))

    cli("work", "--once", "--", "true")

    assert fake.verbs()[-1] == "complete"


def test_what_a_command_leaves_running_does_not_hold_its_todo(
    cli: Cli, fake: FakeServer, tmp_path: Path
) -> None:
    pipe = tmp_path / "held"
    os.mkfifo(pipe)

    body = ran_once(cli, fake, *shell(f"cat {pipe} & echo started"))
    with pipe.open("wb"):  # lets the leftover end
        assert body["result"] == "started\n"


def test_a_refused_result_is_left_out_and_the_todo_completed(cli: Cli, fake: FakeServer) -> None:
    answer = agent_server(iter([claimed()]))

    def picky(asked: Asked) -> Reply | None:
        if asked.verb == "complete" and "result" in asked.body:
            return refused(400, "invalid_argument", "Not this result.")
        return answer(asked)

    fake.script = picky

    ran = cli("work", "--once", "--", "echo", "1")

    assert "Not this result." in ran.out
    assert [set(one.body) for one in fake.of("complete")] == [
        {"id", "lease_token", "result"}, {"id", "lease_token"},
    ]  # fmt: skip


@pytest.mark.parametrize("trouble", [refused(503, "unavailable"), Reply(dropped=True)])
def test_a_result_is_delivered_again_until_it_is_taken(
    trouble: Reply, cli: Cli, fake: FakeServer
) -> None:
    answer, troubles = agent_server(iter([claimed()])), iter([trouble, trouble])
    fake.script = lambda asked: (
        (next(troubles, None) if asked.verb == "complete" else None) or answer(asked)
    )

    ran = cli("work", "--once", "--", "echo", "1")

    assert len(fake.of("complete")) == 3
    assert ran.out.splitlines()[-1] == "done  td_1  inbox"


def test_a_lease_lost_before_the_end_is_said(cli: Cli, fake: FakeServer) -> None:
    gone = refused(409, "conflict", "Another one holds it.")
    fake.script = agent_server(iter([claimed()]), complete=gone)

    ran = cli("work", "--once", "--", "true")

    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "lost  td_1  inbox  Another one holds it."


def test_a_credential_that_died_meanwhile_ends_the_worker(cli: Cli, fake: FakeServer) -> None:
    dead = refused(401, "unauthenticated", "No more.")
    fake.script = agent_server(iter([claimed(), claimed(2)]), complete=dead)

    ran = cli("work", "--", "true")

    assert (ran.code, ran.err) == (1, "Error: No more.\n")
    assert len(fake.of("claim_next")) == 1
