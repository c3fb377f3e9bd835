"""What every look finds again is logged once a minute."""

from __future__ import annotations

from app.reads.seldom import Seldom


def test_each_thing_is_said_once_a_minute() -> None:
    at = [0.0]
    seldom = Seldom(lambda: at[0])

    assert [seldom.is_due("a"), seldom.is_due("a"), seldom.is_due("b")] == [True, False, True]
    at[0] = 59.9
    assert not seldom.is_due("a")
    at[0] = 60.0
    assert [seldom.is_due("a"), seldom.is_due("a")] == [True, False]
