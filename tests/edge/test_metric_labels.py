"""Which label values a series may have: few, and the same in every process of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.edge.metric_labels import OTHER, QueueLabels, source_label
from app.edge.metrics import Metrics
from tests.support.scraping import CLAIMED


def test_the_first_fifty_names_stay_whoever_asks(tmp_path: Path) -> None:
    path = tmp_path / "labels"
    one, other = QueueLabels(path), QueueLabels(path)
    for number in range(60):
        (one if number % 2 else other).label(f"q{number}")

    named = [[each.label(f"q{number}") for number in range(60)] for each in (one, other)]

    assert named[0] == named[1] == [f"q{number}" for number in range(50)] + [OTHER] * 10
    assert QueueLabels(path).label("q7") == "q7"


def test_a_line_that_a_killed_process_left_torn_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "labels"
    QueueLabels(path).label("first")
    with path.open("ab") as file:
        file.write(b'"to')

    assert QueueLabels(path).label("second") == "second"
    assert path.read_bytes() == b'"first"\n"second"\n'


def test_labels_that_cannot_be_shared_are_other(tmp_path: Path) -> None:
    assert QueueLabels(tmp_path / "gone" / "labels").label("a") == OTHER


@pytest.mark.parametrize("name", ["", "x" * 129, "é" * 65, "\ud800", OTHER, None])
def test_what_is_no_label_is_other(name: str | None) -> None:
    assert QueueLabels().label(name) == OTHER


def test_a_label_may_have_128_bytes() -> None:
    assert QueueLabels().label("é" * 64) == "é" * 64


@pytest.mark.parametrize(("source", "label"), [
    ("github", "github"), ("gitea", "gitea"), ("stripe", "stripe"), ("slack", "slack"),
    ("generic", "generic"), ("operator", "operator"), ("dev", "dev"), ("mail", OTHER), ("", OTHER),
])
def test_sources_are_the_ones_we_know(source: str, label: str) -> None:
    assert source_label(source) == label


def test_a_move_that_cannot_be_counted_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    Metrics().moved("switchboard_of_something_total", 1, {"queue": "a"})
    Metrics().moved(CLAIMED, 1, {"queue": "a", "owner": "b"})

    assert caplog.text.count("counter_not_moved") == 2
