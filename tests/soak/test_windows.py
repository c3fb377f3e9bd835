"""Every window of two years, of every distinct zone, against the walked wall clock (R21)."""

from __future__ import annotations

import pytest

from tests.domain import tiling


@pytest.mark.rule("R21")
@pytest.mark.parametrize("tz", tiling.distinct_zones())
def test_every_window_of_two_years_begins_where_the_last_one_ended(tz: str) -> None:
    # Four hourly definitions of 17,520 hours each are most of it.
    assert tiling.assert_tiles(tz, tiling.FIRST, tiling.LAST) > 70_000
