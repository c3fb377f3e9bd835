"""The processes of a server count in slots: none counts over another, none begins again at zero."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from app.edge import metric_slots
from app.edge.metrics import VARIABLE, Metrics
from tests.support.scraping import CLAIMED

COUNT = """
import sys
from pathlib import Path
from app.edge import metrics
made = metrics.join(Path(sys.argv[1]), "w")
for _ in range(int(sys.argv[2])):
    made.moved("switchboard_todos_claimed_total", 1, {"queue": sys.argv[3]})
print(made.process, flush=True)
sys.stdin.read()
"""


class Counting:
    """A process that counts so many claims in a slot of the folder, and holds the slot."""

    def __init__(self, folder: Path, times: int, queue: str = "lane-m") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", COUNT, str(folder), str(times), queue],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, VARIABLE: str(folder)})
        self.slot = self._words().readline().strip()

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        self.process.kill()
        self.process.communicate()

    def _words(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout


@pytest.fixture
def started() -> Iterator[list[Counting]]:
    """The processes of a test, ended after it."""
    made: list[Counting] = []
    yield made
    for each in made:
        each.kill()


def claims(folder: Path) -> dict[str, float]:
    """What the slots of a folder sum up to, by queue."""
    (family,) = [each for each in Metrics(folder).counted() if f"{each.name}_total" == CLAIMED]
    return {sample.labels["queue"]: sample.value for sample in family.samples}


def test_a_slot_is_free_the_moment_its_holder_is_killed_and_counts_on(
    tmp_path: Path, started: list[Counting]
) -> None:
    started += [Counting(tmp_path, 3), Counting(tmp_path, 4)]
    started[0].kill()
    held = [(each.slot, each.pid) for each in metric_slots.holders(tmp_path)]

    started.append(Counting(tmp_path, 5))

    assert [each.slot for each in started] == ["w0", "w1", "w0"]
    assert held == [("w1", started[1].process.pid)]
    assert claims(tmp_path) == {"lane-m": 12}
    assert len(list(tmp_path.glob("counter_*.db"))) == 2


def test_files_that_a_kill_left_empty_or_half_made_hide_no_others(
    tmp_path: Path, started: list[Counting]
) -> None:
    started.append(Counting(tmp_path, 3))
    (tmp_path / "counter_w1.db").touch()
    (tmp_path / "counter_w2.db").write_bytes(bytes(1 << 16))

    assert claims(tmp_path) == {"lane-m": 3}
    started += [Counting(tmp_path, 1), Counting(tmp_path, 1)]
    assert claims(tmp_path) == {"lane-m": 5}


def test_processes_share_the_queues_that_have_a_label(
    tmp_path: Path, started: list[Counting]
) -> None:
    labels = Metrics(tmp_path).queues
    for number in range(49):
        labels.label(f"queue {number}")

    started += [Counting(tmp_path, 1, "the last one"), Counting(tmp_path, 1, "too many")]

    assert claims(tmp_path) == {"the last one": 1, "__other__": 1}
