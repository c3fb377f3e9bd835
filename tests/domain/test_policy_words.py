"""Policies and their changes in words: every clause true, "no limit" and never null."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.domain import policy_words
from app.domain.forecast import spans
from app.domain.policy import Policy, policy_body
from app.domain.values import Json
from app.domain.windows import Window

LA_DAY = Window("day", "America/Los_Angeles", "00:00")
DAILY = Policy(max_in_flight=5, max_claims_per_window=100, window=LA_DAY)


@pytest.mark.parametrize(("policy", "words"), [
    (DAILY, "at most 100 claims a day, from 00:00 America/Los_Angeles; at most 5 at once"),
    (Policy(max_in_flight=2), "at most 2 at once"),
    (Policy(max_in_flight=2, window=LA_DAY), "at most 2 at once"),
    (Policy(max_in_flight=0), "at most 0 at once, which pauses the queue"),
    (Policy(max_claims_per_window=0, window=LA_DAY),
     "at most 0 claims a day, from 00:00 America/Los_Angeles, which pauses the queue"),
    (Policy(max_claims_per_window=1, window=Window("week", "UTC", "09:00", "Mon")),
     "at most 1 claim a week, from Mon 09:00 UTC"),
    (Policy(max_claims_per_window=20, window=Window("hour", "Asia/Kathmandu", "07:15")),
     "at most 20 claims an hour, from minute 15, Asia/Kathmandu"),
])
def test_a_policy_is_said_in_words(policy: Policy, words: str) -> None:
    assert policy_words.in_words(policy) == words
    assert policy_words.body_in_words(policy_body(policy)) == words


def body(**changes: Json) -> dict[str, Json]:
    return {**policy_body(DAILY), **changes}


@pytest.mark.parametrize(("before", "after", "words"), [
    (body(), body(max_claims_per_window=50), ["claims per window from 100 to 50"]),
    (body(), body(max_in_flight=None), ["in-flight cap from 5 to no limit"]),
    (body(), body(max_in_flight=0), ["in-flight cap from 5 to 0, which pauses the queue"]),
    (body(), body(window={"period": "week", "tz": "UTC", "start": "09:00", "weekday": "Mon"}),
     ["period from day to week", "zone from America/Los_Angeles to UTC",
      "start from 00:00 to 09:00", "weekday from none to Mon"]),
    (body(), body(max_claims_per_window=None, window=None),
     ["claims per window from 100 to no limit",
      "window from a day from 00:00 America/Los_Angeles to none"]),
    (None, body(), ["budget set: at most 100 claims a day, from 00:00 America/Los_Angeles;"
                    " at most 5 at once"]),
    (body(), None, ["budget cleared; it was: at most 100 claims a day,"
                    " from 00:00 America/Los_Angeles; at most 5 at once"]),
    (body(max_in_flight="<b>", window={"tz": "Mars/Olympus"}), None,
     ["budget cleared; it was: claims per window 100; in-flight cap <b>;"
      " none from none Mars/Olympus"]),
    (body(), body(), []),
])
def test_a_change_is_said_part_by_part(before: Json, after: Json, words: list[str]) -> None:
    assert list(policy_words.changed(before, after)) == words


def test_two_versions_are_compared_setting_by_setting() -> None:
    assert policy_words.parts(Policy(max_in_flight=5)) == (
        ("In-flight cap", "5"), ("Claims per window", "no limit"), ("Period", "none"),
        ("Zone", "none"), ("Start", "none"), ("Weekday", "none"))
    assert dict(policy_words.parts(DAILY))["Zone"] == "America/Los_Angeles"
    assert dict(policy_words.parts(None))["In-flight cap"] == "no limit"


@pytest.mark.parametrize(("window", "at", "words"), [
    (LA_DAY, "2026-10-31T12:00Z", "24 hours"),
    (LA_DAY, "2026-11-01T12:00Z", "25 hours, as the clocks go back"),
    (LA_DAY, "2026-03-08T12:00Z", "23 hours, as the clocks go forward"),
    (Window("hour", "Australia/Lord_Howe", "00:00"), "2026-04-04T14:10Z",
     "1 hour 30 minutes, as the clocks go back"),
    (Window("hour", "America/Los_Angeles", "00:30"), "2026-03-08T09:40Z",
     "30 minutes, as the clocks go forward"),
    (Window("week", "America/Los_Angeles", "09:00", "Mon"), "2026-10-27T12:00Z",
     "7 days 1 hour, as the clocks go back"),
    (Window("week", "UTC", "09:00", "Mon"), "2026-10-27T12:00Z", "7 days"),
])
def test_a_windows_length_is_named(window: Window, at: str, words: str) -> None:
    span = spans(window, datetime.fromisoformat(at).astimezone(UTC), 1)[0]

    assert policy_words.length_in_words(span, window.period) == words
