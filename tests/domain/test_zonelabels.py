"""What a time is called: short for the eye, in full for the ear (board.md, "Queue header")."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.zonelabels import (
    clock_words,
    past_words,
    spoken_words,
    spoken_zone,
    viewer_words,
    zone_label,
)

PT = "America/Los_Angeles"
NOW = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)  # a Monday, 14:00 in Los Angeles
MIDNIGHT = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
JULY = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(("tz", "winter", "summer", "spoken"), [
    ("America/Los_Angeles", "PT", "PT", "Pacific time"),
    ("America/Denver", "MT", "MT", "Mountain time"),
    ("America/Chicago", "CT", "CT", "Central time"),
    ("America/New_York", "ET", "ET", "Eastern time"),
    ("Europe/Berlin", "CET", "CEST", "CET"),
    ("Asia/Tokyo", "JST", "JST", "JST"),
    ("UTC", "UTC", "UTC", "UTC"),
    (None, "UTC", "UTC", "UTC"),
    ("Etc/GMT+5", "Etc/GMT+5", "Etc/GMT+5", "GMT+5 time"),
    ("America/Sao_Paulo", "America/Sao_Paulo", "America/Sao_Paulo", "Sao Paulo time"),
    ("Mars/Olympus", "UTC", "UTC", "UTC"),
])
def test_a_zone_is_called_by_its_label_its_abbreviation_or_its_name(
    tz: str | None, winter: str, summer: str, spoken: str
) -> None:
    assert (zone_label(tz, NOW), zone_label(tz, JULY)) == (winter, summer)
    assert spoken_zone(tz, NOW) == spoken


@pytest.mark.parametrize(("ahead", "seen", "heard", "viewer"), [
    (timedelta(0), "14:00 PT", "14:00 Pacific time", "23:00 your time"),
    (timedelta(hours=10), "00:00 PT", "midnight Pacific time", "09:00 your time"),
    (timedelta(hours=24), "14:00 PT", "14:00 Pacific time", "23:00 your time"),
    (timedelta(hours=24, seconds=1), "Tue 14:00 PT", "Tuesday 14:00 Pacific time",
     "Tue 23:00 your time"),
    (timedelta(days=6, hours=10), "Mon 00:00 PT", "Monday 00:00 Pacific time",
     "Mon 09:00 your time"),
])
def test_a_time_more_than_24_hours_away_has_its_weekday(
    ahead: timedelta, seen: str, heard: str, viewer: str
) -> None:
    assert clock_words(NOW + ahead, PT, NOW) == seen
    assert spoken_words(NOW + ahead, PT, NOW) == heard
    assert viewer_words(NOW + ahead, "Europe/Berlin", NOW) == viewer


def test_a_viewer_without_a_zone_is_told_utc() -> None:
    assert viewer_words(MIDNIGHT, None, NOW) == "08:00 UTC"
    assert viewer_words(MIDNIGHT, "UTC", NOW) == "08:00 your time"
    assert past_words(NOW, None, NOW) == "22:00 UTC"


def test_a_past_time_has_its_date_when_it_was_another_day_for_the_viewer() -> None:
    earlier = datetime(2026, 11, 30, 7, 59, tzinfo=UTC)

    assert past_words(earlier, "Europe/Berlin", NOW) == "08:59"
    assert past_words(earlier, PT, NOW) == "23:59 on 29 Nov 2026"
    assert past_words(earlier, None, NOW + timedelta(days=1)) == "07:59 UTC on 30 Nov 2026"


def test_the_weekday_is_that_of_the_zone_it_is_said_in() -> None:
    thursday = datetime(2026, 12, 3, 8, 0, tzinfo=UTC)

    assert clock_words(thursday, PT, NOW) == "Thu 00:00 PT"
    assert clock_words(thursday, "Pacific/Kiritimati", NOW) == "Thu 22:00 Pacific/Kiritimati"
    assert clock_words(thursday, "Pacific/Honolulu", NOW) == "Wed 22:00 HST"
