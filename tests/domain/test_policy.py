"""Policies are read and refused by one set of rules, new or stored (REQ-1, R17-R19, R55)."""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from app.domain.errors import InvalidArgument
from app.domain.policy import (
    Policy,
    PolicyBroken,
    parse_policy,
    parse_reason,
    policy_body,
    stored_policy,
)
from app.domain.values import Json
from app.domain.windows import WEEKDAYS, Window
from app.domain.zones import zone_names

DAY: dict[str, Json] = {"period": "day", "tz": "America/Los_Angeles", "start": "00:00"}
WEEK: dict[str, Json] = {"period": "week", "tz": "UTC", "start": "09:00", "weekday": "Mon"}


def day(**changes: Json) -> dict[str, Json]:
    """A policy of 100 a day, its window changed; a change to None takes the key away."""
    window = {key: value for key, value in (DAY | changes).items() if value is not None}
    return {"max_claims_per_window": 100, "window": window}


@dataclass(frozen=True, slots=True)
class Refused:
    """A policy and the one field it is refused for."""

    field: str
    raw: dict[str, Json]


NUMBERS: list[Json] = [
    *(-1, 10**30, 1.0, 1.5, float("inf"), "5", "", True, False, [], {}, [1]),
]  # fmt: skip
REFUSED = [
    *(Refused("max_in_flight", {"max_in_flight": bad}) for bad in (*NUMBERS, 10_001)),
    *(Refused("max_claims_per_window", day() | {"max_claims_per_window": bad})
      for bad in (*NUMBERS, 1_000_001)),
    # Neither limit.
    *(Refused("max_in_flight", raw) for raw in (
        {}, {"max_in_flight": None}, {"max_in_flight": None, "max_claims_per_window": None},
        {"window": dict(DAY)}, {"window": {"period": "never"}}, {"window": None}, {"window": 5},
    )),
    # A window.
    Refused("window", {"max_claims_per_window": 1}),
    Refused("window", {"max_claims_per_window": 0, "window": None}),
    *(Refused("window", {"max_in_flight": 1, "window": bad})
      for bad in (5, "day", [], True, [dict(DAY)])),
    Refused("window.period", {"max_in_flight": 1, "window": {}}),
    *(Refused("window.period", day(period=bad))
      for bad in (None, "Day", "DAY", "month", "", 1, True, ["day"], {}, "day ", "d\0ay")),
    *(Refused("window.tz", day(tz=bad))
      for bad in (None, "Mars/Olympus", "america/los_angeles", "America", "localtime", "Factory",
                  "../x", "/etc/x", "../etc/passwd", "", "UTC ", "UTC\0", "+01:00", "\ud800", 0,
                  ["UTC"], {"UTC": 1})),
    *(Refused("window.start", day(start=bad))
      for bad in (None, "0:00", "00:0", "24:00", "23:60", "12:00:00", " 12:00", "12:00\n", "1200",
                  "-1:00", "\u0661\u0662:\u0660\u0660", "12.00", "noon", "", 0, 1200, ["12:00"])),
    *(Refused("window.weekday", {"max_claims_per_window": 1, "window": WEEK | {"weekday": bad}})
      for bad in (None, "mon", "MON", "Monday", "Mo", "", 1, True, ["Mon"], "Mon ")),
    Refused("window.weekday", {
        "max_claims_per_window": 1,
        "window": {key: value for key, value in WEEK.items() if key != "weekday"},
    }),
    Refused("window.weekday", day(weekday="Mon")),
    Refused("window.weekday", day(period="hour", weekday="Mon")),
    # A window that is not used is judged all the same (R18).
    Refused("window.tz", {"max_in_flight": 1, "window": DAY | {"tz": "Mars/Olympus"}}),
    # Unknown keys come before everything else.
    Refused("max_inflight", {"max_inflight": 1}),
    Refused("reason", day() | {"reason": "why"}),
    Refused("revision", {"max_in_flight": "5", "revision": 1}),
    Refused("window.offset", {"max_in_flight": "5", "window": DAY | {"offset": 0}}),
    Refused("window.Tz", {"window": {"Tz": "UTC"}}),
    Refused("zone", {"window": {"Tz": "UTC"}, "zone": "UTC"}),
    # The first field that fails is the one that is named.
    Refused("max_in_flight", {"max_in_flight": -1, "max_claims_per_window": -1, "window": 5}),
    Refused("max_claims_per_window", {"max_claims_per_window": -1, "window": 5}),
    Refused("window.period", {"max_in_flight": 1, "window": {"period": "x", "tz": "x"}}),
    Refused("window.tz", {"max_in_flight": 1, "window": {"period": "day", "tz": "x"}}),
    Refused("window.start", {
        "max_in_flight": 1,
        "window": {"period": "week", "tz": "UTC", "start": "9", "weekday": "x"},
    }),
]  # fmt: skip


@pytest.mark.rule("R19")
@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: ascii(refused.raw)[:80])
def test_a_policy_is_refused_naming_the_first_field_that_fails(refused: Refused) -> None:
    with pytest.raises(InvalidArgument) as fault:
        parse_policy(refused.raw)

    assert fault.value.field == refused.field
    assert refused.field in fault.value.sentence


@pytest.mark.rule("R19")
def test_a_policy_without_a_limit_is_told_of_both() -> None:
    with pytest.raises(InvalidArgument) as fault:
        parse_policy({"window": dict(DAY)})

    assert "max_in_flight" in fault.value.sentence
    assert "max_claims_per_window" in fault.value.sentence


@pytest.mark.req("REQ-1", "Unknown zone is refused")
def test_a_zone_that_is_not_known_is_refused_naming_it() -> None:
    with pytest.raises(InvalidArgument) as fault:
        parse_policy(day(tz="Mars/Olympus"))

    assert (fault.value.code, fault.value.field) == ("invalid_argument", "window.tz")


def test_an_unknown_key_is_named_within_bounds() -> None:
    with pytest.raises(InvalidArgument) as fault:
        parse_policy({"x" * 9999: 1})

    assert len(fault.value.sentence) < 200


@pytest.mark.req("REQ-1", "A daily budget")
def test_a_daily_budget_is_read() -> None:
    policy = parse_policy(day())

    assert policy == Policy(
        max_claims_per_window=100, window=Window("day", "America/Los_Angeles", "00:00")
    )
    assert policy.window_limit_in_force
    assert not policy.pauses


@pytest.mark.parametrize(("low", "high"), [(0, 10_000), (1, 9_999)])
def test_the_limits_reach_from_nothing_to_their_ceilings(low: int, high: int) -> None:
    for value in (low, high):
        assert parse_policy({"max_in_flight": value}).max_in_flight == value
    for value in (low, high * 100):
        raw = day() | {"max_claims_per_window": value}
        assert parse_policy(raw).max_claims_per_window == value


@pytest.mark.rule("R17")
@pytest.mark.parametrize(
    ("raw", "pauses"),
    [
        ({"max_in_flight": 0}, True),
        (day() | {"max_claims_per_window": 0}, True),
        (day() | {"max_in_flight": 0}, True),
        ({"max_in_flight": 5, "max_claims_per_window": 0, "window": dict(DAY)}, True),
        ({"max_in_flight": 0, "max_claims_per_window": 0, "window": dict(DAY)}, True),
        ({"max_in_flight": 1}, False),
        (day() | {"max_in_flight": 1}, False),
    ],
)
def test_a_limit_of_0_pauses_whatever_the_other_is(raw: dict[str, Json], *, pauses: bool) -> None:
    assert parse_policy(raw).pauses is pauses


@pytest.mark.rule("R18")
def test_a_window_without_a_window_limit_is_kept_and_not_in_force() -> None:
    raw: dict[str, Json] = {"max_in_flight": 3, "max_claims_per_window": None, "window": dict(DAY)}

    policy = parse_policy(raw)

    assert policy_body(policy) == raw
    assert not policy.window_limit_in_force
    assert parse_policy({"max_in_flight": 3, "window": None}).window is None


def test_a_missing_key_is_null_and_a_null_weekday_is_none() -> None:
    assert parse_policy({"max_in_flight": 3}) == parse_policy(
        {"max_in_flight": 3, "max_claims_per_window": None, "window": None}
    )
    assert parse_policy({"max_in_flight": 3, "window": DAY | {"weekday": None}}).window == Window(
        "day", "America/Los_Angeles", "00:00"
    )


def test_the_body_has_a_weekday_only_for_a_week() -> None:
    weekly = parse_policy({"max_claims_per_window": 1, "window": dict(WEEK)})
    daily = parse_policy(day())

    assert policy_body(weekly)["window"] == WEEK
    assert policy_body(daily)["window"] == DAY


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
POLICIES = st.one_of(
    st.builds(Policy, max_in_flight=st.integers(0, 10_000), window=st.none() | WINDOWS),
    st.builds(
        Policy,
        max_in_flight=st.none() | st.integers(0, 10_000),
        max_claims_per_window=st.integers(0, 1_000_000),
        window=WINDOWS,
    ),
)


@given(policy=POLICIES)
@settings(max_examples=200, deadline=None)
def test_a_policy_sent_back_or_stored_is_the_same_policy(policy: Policy) -> None:
    window = policy.window

    assert parse_policy(policy_body(policy)) == policy
    assert policy == stored_policy(
        policy.max_in_flight,
        policy.max_claims_per_window,
        window and window.period,
        window and window.tz,
        window and window.start,
        window and window.weekday,
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["day", "week", "hour", "UTC", "00:00", "Mon"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["period", "tz", "start", "weekday", "max_in_flight", "window"])
        | st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(raw=st.dictionaries(
    st.sampled_from(["max_in_flight", "max_claims_per_window", "window"]) | st.text(max_size=5),
    JSON, max_size=4,
))  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_any_json_is_a_policy_or_refused_by_name(raw: dict[str, Json]) -> None:
    read = _read(raw)

    if isinstance(read, Policy):
        assert parse_policy(policy_body(read)) == read
    else:
        assert read.field is not None
        assert read.sentence.startswith((read.field, "Unknown key: "))


def _read(raw: dict[str, Json]) -> Policy | InvalidArgument:
    try:
        return parse_policy(raw)
    except InvalidArgument as refusal:
        return refusal


@pytest.mark.rule("R22")
@pytest.mark.parametrize("tz", ["Mars/Olympus", "localtime", "America", "../x", ""])
def test_a_stored_zone_that_is_not_known_is_an_unknown_zone(tz: str) -> None:
    with pytest.raises(PolicyBroken) as broken:
        stored_policy(None, 5, "day", tz, "00:00", None)

    assert broken.value.kind == "unknown_zone"


@pytest.mark.parametrize(
    "row",
    [
        (None, None, None, None, None, None),
        (None, 5, None, None, None, None),
        (-1, None, None, None, None, None),
        (10_001, None, None, None, None, None),
        (None, 5, "day", None, "00:00", None),
        (None, 5, "day", "UTC", "24:00", None),
        (None, 5, "day", "UTC", "00:00", "Mon"),
        (None, 5, "week", "UTC", "00:00", None),
        (None, 5, "month", "Mars/Olympus", "00:00", None),
        (5, None, None, None, None, "Mon"),
    ],
)
def test_a_stored_row_that_breaks_a_rule_is_an_invalid_policy(
    row: tuple[int | None, int | None, str | None, str | None, str | None, str | None],
) -> None:
    with pytest.raises(PolicyBroken) as broken:
        stored_policy(*row)

    assert broken.value.kind == "invalid_policy"


@pytest.mark.rule("R55")
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, None),
        ("", None),
        (" \t\n", None),
        ("incident 12", "incident 12"),
        ("x" * 500, "x" * 500),
        ("\u00fc" * 500, "\u00fc" * 500),
    ],
)
def test_a_reason_is_text_or_nothing(raw: Json, reason: str | None) -> None:
    assert parse_reason(raw) == reason


@pytest.mark.rule("R55")
@pytest.mark.parametrize("raw", ["x" * 501, " " * 501, 5, True, [], {}, "a\0b", "\ud800"])
def test_a_reason_that_cannot_be_kept_is_refused(raw: Json) -> None:
    with pytest.raises(InvalidArgument) as fault:
        parse_reason(raw)

    assert fault.value.field == "reason"
