"""`demo` as a person runs it: on an empty data folder, twice, and beside a server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.cluster import new_home
from tests.support.servers import ROOT, free_port
from tests.support.wait import wait_for

pytestmark = pytest.mark.timeout(300)

START_SECONDS = 120.0


@pytest.fixture
def home() -> Iterator[Path]:
    """A data folder of the test's own that the server's account can pass through."""
    folder = new_home()
    yield folder / "data"
    shutil.rmtree(folder)


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """A bare shell on a host of its own."""
    return {
        "PATH": os.environ.get("PATH", os.defpath), "HOME": str(home.parent),
        "SWITCHBOARD_DATA_DIR": str(home), "SWITCHBOARD_ADDR": f"127.0.0.1:{free_port()}",
    }  # fmt: skip


def switchboard(
    environment: Mapping[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app", *words], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=START_SECONDS, check=False,
    )  # fmt: skip


def test_on_an_empty_folder_it_shows_a_budget_a_cap_and_a_pause(
    environment: dict[str, str]
) -> None:
    done = switchboard(environment, "demo", "--seconds", "20")

    assert (done.returncode, done.stderr) == (0, "")
    assert "Started a server" in done.stdout
    assert "5 claims a day" in done.stdout
    assert "demo mail: Queue demo-mail has used up its budget; its todos wait until" in done.stdout
    assert "demo night: Queue demo-night is paused; its todos wait." in done.stdout
    rows = {line.split()[1]: line.split() for line in done.stdout.splitlines()
            if line.startswith("  demo-") and "  demo-" in line[4:]}
    assert rows["demo-mail"][-4:] == ["5", "3", "5", "window_exhausted"]
    assert rows["demo-review"][-4:] == ["6", "0", "-", "admitted"]
    assert rows["demo-night"][-4:] == ["0", "3", "-", "paused"]
    assert "sbo_" not in done.stdout
    assert "sbk_" not in done.stdout
    verified = switchboard(environment, "queue", "budget", "verify", "--json")
    (window,) = json.loads(verified.stdout)["windows"]
    assert (verified.returncode, window["used"], window["marked"]) == (0, 5, 5)


def test_beside_a_server_it_uses_that_one_and_may_be_run_again(
    environment: dict[str, str], home: Path
) -> None:
    log = home.parent / "serve.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "app", "serve"], cwd=ROOT, env=environment,
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
    try:
        wait_for(lambda: "serving address" in log.read_text(), START_SECONDS, what="it serves")
        first = switchboard(environment, "demo", "--seconds", "1")
        second = switchboard(environment, "demo", "--seconds", "1", "--json")
        assert server.poll() is None
    finally:
        server.terminate()
        server.wait(60)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "Using the server at http://127.0.0.1:" in first.stdout
    told = json.loads(second.stdout)
    assert [one["queue"] for one in told["endpoints"]] == ["demo-mail", "demo-review", "demo-night"]
    assert all(one["slug"] not in first.stdout for one in told["endpoints"])


def test_it_keeps_away_from_a_database_that_was_named(cli: Cli) -> None:
    ran = cli("demo", is_embedded=False)

    assert ran.code == 1
    assert "unset SWITCHBOARD_DATABASE_URL" in ran.err


def test_help_says_what_it_does(cli: Cli) -> None:
    assert "three endpoints" in cli("demo", "--help").out
