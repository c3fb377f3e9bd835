"""The directory of a server's counters: its own, fresh, and gone or taken away afterwards."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from app import measuring


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of this test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def old(folder: Path) -> Path:
    """Makes a directory an hour old."""
    os.utime(folder, times=(time.time() - 3600,) * 2)
    return folder


def test_two_servers_have_two_directories_and_leave_none(temporary: Path) -> None:
    with measuring.directory() as one, measuring.directory() as other:
        assert one != other
        assert list(one.iterdir()) == list(other.iterdir()) == []
        assert one.stat().st_mode & 0o777 == 0o700
        (one / "counter_w0.db").touch()

    assert list(temporary.iterdir()) == []


def test_what_a_killed_server_left_goes_and_a_living_ones_stays(temporary: Path) -> None:
    left = old(Path(tempfile.mkdtemp(prefix="switchboard-metrics-")))
    made_just_now = Path(tempfile.mkdtemp(prefix="switchboard-metrics-"))
    other = old(Path(tempfile.mkdtemp(prefix="somebody-elses-")))
    with measuring.directory() as living:
        old(living)
        with measuring.directory():
            assert not left.exists()
            assert all(each.exists() for each in (living, made_just_now, other))


def test_a_link_is_not_followed(temporary: Path) -> None:
    (temporary / "kept").mkdir()
    kept = old(temporary / "kept")
    link = temporary / "switchboard-metrics-link"
    link.symlink_to(kept)
    os.utime(link, times=(time.time() - 3600,) * 2, follow_symlinks=False)

    with measuring.directory():
        assert kept.exists()


def test_a_process_without_a_directory_counts_for_itself() -> None:
    assert measuring.join({}, "w").folder is None
