"""Windows tile time on local clocks, through every gap and every repeat (REQ-5, R20, R21)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from app.domain import zones
from app.domain.wallclock import first_instant, local_time
from app.domain.windows import WEEKDAYS, Span, Window, window_at
from app.domain.zones import UnknownZone, zone, zone_names
from tests.domain import tiling
from tests.domain.vectors import VECTORS, Vector

LA = "America/Los_Angeles"
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def transitions_of() -> dict[str, list[datetime]]:
    return {tz: tiling.transitions(tz) for tz in tiling.distinct_zones()}


@pytest.mark.rule("R21")
@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_the_window_of_a_vector_is_found_from_every_instant_in_it(vector: Vector) -> None:
    for starts_at, ends_at in pairwise(vector.instants()):
        middle = starts_at + (ends_at - starts_at) / 2

        for instant in (starts_at, starts_at + tiling.TICK, middle, ends_at - tiling.TICK):
            assert window_at(vector.window, instant) == Span(starts_at, ends_at)


@pytest.mark.req("REQ-5", "A Pacific day")
def test_a_pacific_day_ends_at_the_next_pacific_midnight() -> None:
    exhausted_at = datetime(2026, 9, 30, 17, 0, tzinfo=zone(LA))

    span = window_at(Window("day", LA, "00:00"), exhausted_at)

    assert span.ends_at == datetime(2026, 10, 1, 0, 0, tzinfo=zone(LA))
    assert window_at(Window("day", LA, "00:00"), span.ends_at).starts_at == span.ends_at


@pytest.mark.req("REQ-5", "The fall-back day")
def test_the_fall_back_day_is_one_window_of_25_hours() -> None:
    day = Window("day", LA, "00:00")
    noon = datetime(2026, 11, 1, 12, 0, tzinfo=zone(LA))

    span = window_at(day, noon)

    assert span.ends_at - span.starts_at == 25 * HOUR
    assert {window_at(day, span.starts_at + hours * HOUR) for hours in range(25)} == {span}


@pytest.mark.req("REQ-5", "Hourly window")
@pytest.mark.parametrize("start", ["00:30", "07:30", "23:30"])
def test_hour_windows_begin_at_half_past_whatever_the_hour_of_start(start: str) -> None:
    hourly = Window("hour", "UTC", start)
    first = datetime(2026, 9, 30, 0, 0, tzinfo=UTC)

    starts = tiling.boundaries(hourly, first, first + 24 * HOUR)

    assert starts == [first + HOUR / 2 + hours * HOUR for hours in range(24)]


@pytest.mark.parametrize(
    ("tz", "midnight", "twice"),
    [("America/New_York", "2026-11-01T04:00", "2026-11-01T05:00"),
     ("Europe/Paris", "2026-10-24T22:00", "2026-10-25T00:00")],
)  # fmt: skip
def test_the_repeated_hour_is_one_window_of_two_hours(
    tz: str, midnight: str, twice: str
) -> None:
    first, repeated = (datetime.fromisoformat(at).replace(tzinfo=UTC) for at in (midnight, twice))
    hourly = Window("hour", tz, "00:00")

    starts = [first, *tiling.boundaries(hourly, first, first + 25 * HOUR)]

    lengths = {start: end - start for start, end in pairwise(starts)}
    assert len(lengths) == 24  # windows in a day of 25 hours, none of them closed to claims
    assert lengths.pop(repeated) == 2 * HOUR
    assert set(lengths.values()) == {HOUR}


@pytest.mark.rule("R21")
def test_a_clock_put_back_before_a_label_that_has_begun_stays_in_its_window() -> None:
    hourly = Window("hour", LA, "00:30")
    ten_past_one_again = datetime(2026, 11, 1, 9, 10, tzinfo=UTC)

    assert window_at(hourly, ten_past_one_again) == Span(
        datetime(2026, 11, 1, 8, 30, tzinfo=UTC), datetime(2026, 11, 1, 10, 30, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    ("minute", "short"), [("00", [30]), ("15", [45, 45]), ("30", [30]), ("45", [30])]
)
def test_a_half_hour_shift_makes_one_long_hour_and_a_short_stretch(
    minute: str, short: list[int]
) -> None:
    hourly = Window("hour", "Australia/Lord_Howe", f"00:{minute}")
    autumn = datetime(2026, 4, 4, 15, 0, tzinfo=UTC)
    spring = datetime(2026, 10, 3, 15, 30, tzinfo=UTC)

    def odd_lengths(around: datetime) -> list[int]:
        starts = tiling.boundaries(hourly, around - 6 * HOUR, around + 6 * HOUR)
        minutes = [(end - start) // timedelta(minutes=1) for start, end in pairwise(starts)]
        return [length for length in minutes if length != 60]

    assert odd_lengths(autumn) == [90]
    assert odd_lengths(spring) == short


@pytest.mark.rule("R21")
def test_windows_tile_time_four_days_around_every_transition_of_every_zone(
    transitions_of: dict[str, list[datetime]],
) -> None:
    for tz, transitions in transitions_of.items():
        for at in transitions:
            assert tiling.assert_tiles(tz, at - tiling.AROUND, at + tiling.AROUND) > 800


@pytest.mark.rule("R21")
def test_windows_tile_time_at_forty_random_instants_of_every_zone(
    transitions_of: dict[str, list[datetime]],
) -> None:
    for tz in transitions_of:
        for window in tiling.definitions(tz):
            for instant in tiling.random_instants(tz):
                span = window_at(window, instant)
                assert span.starts_at <= instant < span.ends_at
                tiling.assert_is_a_window(window, span)
                assert window_at(window, span.ends_at).starts_at == span.ends_at


def test_the_distinct_zones_stand_for_all_of_them(
    transitions_of: dict[str, list[datetime]],
) -> None:
    assert 50 < len(transitions_of) < len(zone_names())
    assert sum(map(len, transitions_of.values())) > 100
    assert set(transitions_of) <= zone_names()


WINDOWS = st.builds(
    lambda period, tz, hour, minute, weekday: Window(
        period, tz, f"{hour:02}:{minute:02}", weekday if period == "week" else None
    ),
    st.sampled_from(["hour", "day", "week"]),
    st.sampled_from(sorted(zone_names())),
    st.integers(0, 23),
    st.integers(0, 59),
    st.sampled_from(WEEKDAYS),
)
INSTANTS = st.datetimes(datetime(1971, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(window=WINDOWS, instant=INSTANTS)
@settings(max_examples=400, deadline=None)
def test_any_instant_lies_in_exactly_one_window(window: Window, instant: datetime) -> None:
    span = window_at(window, instant)

    assert span.starts_at <= instant < span.ends_at
    assert window_at(window, span.starts_at) == span
    assert window_at(window, span.ends_at - tiling.TICK) == span
    assert window_at(window, span.ends_at).starts_at == span.ends_at
    assert window_at(window, span.starts_at - tiling.TICK).ends_at == span.starts_at


@given(window=WINDOWS, instant=INSTANTS, hours=st.integers(-12, 14))
@settings(max_examples=100, deadline=None)
def test_the_zone_an_instant_is_written_in_does_not_matter(
    window: Window, instant: datetime, hours: int
) -> None:
    elsewhere = instant.astimezone(timezone(timedelta(hours=hours)))

    assert window_at(window, elsewhere) == window_at(window, instant)


@given(window=WINDOWS, instant=INSTANTS)
@settings(max_examples=200, deadline=None)
def test_a_window_starts_when_the_wall_clock_passes_its_label(
    window: Window, instant: datetime
) -> None:
    starts_at = window_at(window, instant).starts_at
    place = zone(window.tz)

    reading, before = (local_time(at, place) for at in (starts_at, starts_at - tiling.TICK))

    assert starts_at.microsecond == 0
    assert starts_at.utcoffset() == timedelta(0)
    if before + tiling.TICK == reading:  # the clock did not jump: it shows the start itself
        assert reading.minute == int(window.start[3:])
        assert window.period == "hour" or f"{reading:%H:%M}" == window.start
        assert window.weekday is None or WEEKDAYS[reading.weekday()] == window.weekday


def test_a_label_is_itself_its_first_occurrence_or_the_end_of_its_gap() -> None:
    place = zone(LA)

    once = first_instant(datetime(2026, 6, 1, 12, 0), place)  # noqa: DTZ001
    twice = first_instant(datetime(2026, 11, 1, 1, 30), place)  # noqa: DTZ001
    never = first_instant(datetime(2026, 3, 8, 2, 30), place)  # noqa: DTZ001

    assert once == datetime(2026, 6, 1, 19, 0, tzinfo=UTC)
    assert twice == datetime(2026, 11, 1, 8, 30, tzinfo=UTC)
    assert never == datetime(2026, 3, 8, 10, 0, tzinfo=UTC)


def test_a_window_in_a_zone_that_is_not_known_has_no_span() -> None:
    with pytest.raises(UnknownZone):
        window_at(Window("day", "Mars/Olympus", "00:00"), datetime(2026, 1, 1, tzinfo=UTC))


def test_a_zone_that_the_database_lost_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "zone_names", lambda: frozenset({"UTC"}))
    zone.cache_clear()

    with pytest.raises(UnknownZone):
        window_at(Window("day", LA, "00:00"), datetime(2026, 1, 1, tzinfo=UTC))

    zone.cache_clear()
