"""Lifetimes of endpoints and default leases, as identity.md and agent-api.md bound them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.errors import InvalidArgument
from app.domain.lifetimes import PRESETS, check_default_lease, parse_lifetime


def test_every_preset_is_a_lifetime() -> None:
    assert [parse_lifetime(preset) for preset in PRESETS] == [
        timedelta(hours=1),
        timedelta(hours=24),
        timedelta(days=7),
        timedelta(days=30),
    ]


@pytest.mark.parametrize(
    ("text", "lifetime"),
    [
        ("90m", timedelta(minutes=90)),
        ("4w", timedelta(weeks=4)),
        ("1m", timedelta(minutes=1)),
        ("3650d", timedelta(days=3650)),
    ],
)
def test_a_number_and_a_unit_is_a_lifetime(text: str, lifetime: timedelta) -> None:
    assert parse_lifetime(text) == lifetime


@pytest.mark.parametrize(
    "text",
    [
        *("", "0h", "-1h", "1", "h", "1y", "1.5h", " 1h", "1h ", "1H", "\u0661h", "01h"),
        *("3651d", "9999999w"),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_lifetime(text)

    assert refused.value.field == "lifetime"


@pytest.mark.parametrize("seconds", [None, 60, 86400])
def test_a_default_lease_in_bounds_is_taken_as_it_is(seconds: int | None) -> None:
    assert check_default_lease(seconds) == seconds


@pytest.mark.parametrize("seconds", [-1, 0, 59, 86401])
def test_a_default_lease_out_of_bounds_is_refused_never_clamped(seconds: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_default_lease(seconds)

    assert refused.value.field == "default_lease_ttl_seconds"
