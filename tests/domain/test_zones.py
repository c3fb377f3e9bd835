"""Zones: only the embedded database counts, and no name reaches the file system."""

from __future__ import annotations

import subprocess
import sys
import zoneinfo
from pathlib import Path

import pytest

from app.domain import zones
from app.domain.zones import UnknownZone, zone, zone_names

ROOT = Path(__file__).resolve().parents[2]
NOT_ZONES = [
    *("localtime", "Factory", "posixrules", "posix/UTC", "right/UTC", "America", "America/", ""),
    *("../x", "../etc/passwd", "/etc/x", "/etc/localtime", "/usr/share/zoneinfo/UTC", "./UTC"),
    *("america/los_angeles", "utc ", " UTC", "Mars/Olympus", "UTC\0", "UTC\n", "zone.tab"),
    *("zones", "tzdata.zi", "__init__.py", "America/Los_Angeles/x", "\ud800", "\u00fc", "x" * 999),
]


def test_the_search_path_of_the_host_is_empty() -> None:
    assert zoneinfo.TZPATH == ()


@pytest.mark.parametrize("name", NOT_ZONES)
def test_a_name_that_is_not_in_the_embedded_list_is_unknown(name: str) -> None:
    with pytest.raises(UnknownZone):
        zone(name)


@pytest.mark.parametrize(
    "name", ["UTC", "America/Los_Angeles", "EST5EDT", "Etc/GMT+12", "Asia/Kathmandu", "GB"]
)
def test_a_member_of_the_embedded_list_is_a_zone(name: str) -> None:
    assert zone(name).key == name


def test_every_name_of_the_list_can_be_opened() -> None:
    assert len(zone_names()) > 400
    assert {zone(name).key for name in zone_names()} == zone_names()


@pytest.mark.parametrize(
    "fault",
    [zoneinfo.ZoneInfoNotFoundError("gone"), ValueError("bad"), OSError("io"),
     IsADirectoryError("directory"), PermissionError("no")],
)  # fmt: skip
def test_whatever_the_loader_raises_is_an_unknown_zone(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(name: str) -> None:
        raise fault

    monkeypatch.setattr(zones, "ZoneInfo", breaks)
    zone.cache_clear()

    with pytest.raises(UnknownZone):
        zone("UTC")


def test_a_zone_directory_of_the_host_changes_nothing(tmp_path: Path) -> None:
    # Pitfall C11, and a host that lies: its Los Angeles is no zone at all, and it knows Mars.
    for name in ("America/Los_Angeles", "Mars/Olympus"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"TZif of another world")
    script = (
        "from datetime import datetime; from app.domain.zones import zone, zone_names;"
        "at = datetime(2026, 1, 1, tzinfo=zone('America/Los_Angeles'));"
        "print(at.utcoffset().total_seconds(), 'Mars/Olympus' in zone_names(), len(zone_names()))"
    )

    shown = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONTZPATH": str(tmp_path), "TZ": "Asia/Tokyo"},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert shown.stdout.split() == ["-28800.0", "False", str(len(zone_names()))]


@pytest.mark.parametrize(("typed", "meant"), [
    ("europe/berlin", "Europe/Berlin"),
    ("berlin", "Europe/Berlin"),
    ("New York", "America/New_York"),
    ("America/Los_Angelos", "America/Los_Angeles"),
    (" utc ", "UTC"),
    ("PT", "America/Los_Angeles"),
    ("Mars/Olympus", None),
    ("", None),
    ("\ud800\0", None),
    ("x" * 100_000, None),
])
def test_a_slip_of_the_hand_finds_the_zone_that_was_meant(typed: str, meant: str | None) -> None:
    assert zones.suggest(typed) == meant


def test_every_suggestion_is_a_zone_and_every_zone_suggests_itself() -> None:
    assert all(zones.suggest(name.upper()) is not None for name in zone_names())
    assert {zones.suggest(name) for name in zone_names()} == zone_names()
