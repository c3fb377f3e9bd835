"""Shifts: what the grammar takes and refuses, and who is in when, through changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidArgument
from app.domain.presence import PresenceFacts, Source, presence
from app.domain.shifts import Shift, parse_shift, stored_shift


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def edges(shift: Shift, since: str, count: int) -> list[str]:
    found, instant = [], at(since)
    for _ in range(count):
        after = shift.next_boundary(instant)
        assert after is not None
        instant = after
        found.append(f"{instant:%m-%d %H:%M} {'in' if shift.covers(instant) else 'out'}")
    return found


@pytest.mark.parametrize("text", [
    "", "   ", "TZ=Europe/Berlin ", "Mon", "09:00", "09:00-", "9:00-17:00", "09:00-17:0",
    "09:00-25:00", "24:00-09:00", "09:60-10:00", "09:00-09:00", "Mo 09:00-17:00",
    "mon 09:00-17:00", "Mon- 09:00-17:00", "Mon-Tue-Wed 09:00-17:00", "Mon,,Tue 09:00-17:00",
    "TZ=Mars/Olympus 09:00-17:00", "TZ=America 09:00-17:00", "TZ=../etc 09:00-17:00",
    "09:00-17:00;", ";09:00-17:00", "Mon 09:00-17:00 Tue 09:00-17:00", "09:00-17:00\n",
    "٠٩:00-17:00", "Mon 09:00-17:00" + " " * 600,
])  # fmt: skip
def test_what_is_no_shift_is_refused_by_the_field(text: str) -> None:
    if text.strip() == "09:00-17:00":
        assert parse_shift(text).tz == "UTC"  # surrounding space is forgiven
        return
    with pytest.raises(InvalidArgument) as refused:
        parse_shift(text)
    assert refused.value.field == "shift"
    assert refused.value.sentence.startswith("shift: ")


def test_an_office_week() -> None:
    shift = parse_shift("TZ=Europe/Berlin Mon-Fri 09:00-17:00")

    assert edges(shift, "2026-11-27T12:00", 3) == ["11-27 16:00 out", "11-30 08:00 in",
                                                   "11-30 16:00 out"]


def test_the_start_belongs_to_it_and_the_end_does_not() -> None:
    shift = parse_shift("CRON_TZ=UTC 09:00-17:00")

    assert shift.covers(at("2026-11-30T09:00"))
    assert shift.covers(at("2026-11-30T16:59:59"))
    assert not shift.covers(at("2026-11-30T17:00"))
    assert not shift.covers(at("2026-11-30T08:59:59"))


@pytest.mark.parametrize(("text", "says"), [
    ("Europe/Berlin Mon-Fri 09:00-17:00", "as in TZ=Europe/Berlin Mon-Fri 09:00-17:00."),
    ("UTC 09:00-17:00", "as in TZ=UTC Mon-Fri 09:00-17:00."),
    ("Mon-Fri 9-17", "'Mon-Fri 9-17' is not a window like Mon-Fri 09:00-17:00."),
])  # fmt: skip
def test_a_zone_without_its_prefix_is_refused_with_the_way_to_write_it(
    text: str, says: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_shift(text)
    assert refused.value.sentence.endswith(says)


def test_a_night_shift_belongs_to_the_day_it_begins_on() -> None:
    shift = parse_shift("Fri 22:00-06:00")

    assert edges(shift, "2026-11-30T12:00", 2) == ["12-04 22:00 in", "12-05 06:00 out"]


def test_ranges_wrap_and_lists_add_up() -> None:
    days = parse_shift("Sat-Mon,Wed 09:00-10:00").stretches[0].days

    assert days == {5, 6, 0, 2}


def test_windows_that_touch_are_one() -> None:
    shift = parse_shift("09:00-12:00; 12:00-24:00")

    assert edges(shift, "2026-11-30T10:00", 2) == ["12-01 00:00 out", "12-01 09:00 in"]


def test_all_day_every_day_has_no_boundary() -> None:
    assert parse_shift("00:00-24:00").next_boundary(at("2026-11-30T10:00")) is None


def test_a_start_in_the_gap_begins_when_the_clock_jumps() -> None:
    shift = parse_shift("TZ=Europe/Berlin 02:30-04:00")

    assert edges(shift, "2026-03-28T12:00", 2) == ["03-29 01:00 in", "03-29 02:00 out"]


def test_a_clock_set_back_brings_the_shift_twice() -> None:
    shift = parse_shift("TZ=Europe/Berlin 02:30-03:30")

    assert edges(shift, "2026-10-24T12:00", 4) == [
        "10-25 00:30 in", "10-25 01:00 out", "10-25 01:30 in", "10-25 02:30 out"]


TEXTS = st.sampled_from([
    "TZ=America/New_York Mon-Fri 01:30-03:00; Sun 22:00-02:00",
    "TZ=Australia/Lord_Howe 01:45-02:15",
    "TZ=Africa/Casablanca 02:30-23:00", "Sat-Sun 00:00-24:00", "TZ=America/Havana 00:00-01:00",
])  # fmt: skip


@given(TEXTS, st.integers(0, 2 * 365 * 24 * 60))
def test_nothing_changes_before_the_next_boundary_and_something_does_there(
    text: str, minutes: int
) -> None:
    shift, since = parse_shift(text), at("2026-01-01T00:00") + timedelta(minutes=minutes)
    edge = shift.next_boundary(since)
    assert edge is not None
    assert shift.covers(edge) != shift.covers(since)
    assert shift.covers(edge - timedelta(seconds=1)) == shift.covers(since)
    span = edge - since
    for part in range(1, 20):
        assert shift.covers(since + span * part / 20) == shift.covers(since)


# --- presence ------------------------------------------------------------------------------------

OFFICE = "TZ=UTC Mon-Fri 09:00-17:00"
MONDAY = "2026-11-30T"


def test_without_shift_or_override_everyone_is_in() -> None:
    found = presence(PresenceFacts(), at(f"{MONDAY}12:00"))

    assert (found.word, found.source, found.until) == ("in", Source.DEFAULT, None)


def test_a_shift_decides_until_its_next_boundary() -> None:
    found = presence(PresenceFacts(shift=OFFICE), at(f"{MONDAY}18:00"))

    assert (found.word, found.source) == ("out", Source.SHIFT)
    assert found.until == at("2026-12-01T09:00")


@pytest.mark.parametrize(("now", "word", "source"), [
    ("12:00", "out", Source.AGENT),
    ("16:59", "out", Source.AGENT),
    ("17:00", "out", Source.SHIFT),
    ("20:00", "out", Source.SHIFT),
])
def test_an_override_ends_at_the_first_boundary_whatever_until_says(
    now: str, word: str, source: Source
) -> None:
    facts = PresenceFacts(
        shift=OFFICE, presence_override="out", override_by="agent",
        override_set_at=at(f"{MONDAY}11:00"), override_until=at(f"{MONDAY}23:00"),
    )
    found = presence(facts, at(f"{MONDAY}{now}"))

    assert (found.word, found.source) == (word, source)


def test_an_override_ends_at_until_and_names_who_set_it() -> None:
    facts = PresenceFacts(
        presence_override="out", override_by="operator:7", override_set_at=at(f"{MONDAY}11:00"),
        override_until=at(f"{MONDAY}13:00"),
    )
    before, after = (presence(facts, at(f"{MONDAY}{time}")) for time in ("12:59", "13:00"))

    assert (before.word, before.source, before.until) == (
        "out", Source.OPERATOR, at(f"{MONDAY}13:00"))
    assert (after.word, after.source) == ("in", Source.DEFAULT)


def test_a_stored_shift_that_is_not_understood_counts_as_none() -> None:
    assert stored_shift("TZ=Gone/Zone 09:00-17:00") is None
    assert presence(PresenceFacts(shift="TZ=Gone/Zone 09:00-17:00"), at(f"{MONDAY}20:00")).is_in
