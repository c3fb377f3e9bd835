"""Every row of the tables of words: status, figures, chips and faults (board.md)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.domain import phrases
from app.domain.admission import UNAVAILABLE, Admitted, Decision, Deferral, Reason
from app.domain.policy import Policy
from app.domain.windows import Window

PT = "America/Los_Angeles"
NOW = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)
MIDNIGHT = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
FAR = datetime(2026, 12, 7, 8, 0, tzinfo=UTC)
PAUSED = Deferral(reason=Reason.PAUSED)


def spent(at: datetime = MIDNIGHT) -> Deferral:
    return Deferral(reason=Reason.WINDOW_EXHAUSTED, next_eligible_at=at, exact=True)


def full(at: datetime | None = NOW) -> Deferral:
    return Deferral(reason=Reason.IN_FLIGHT_FULL, next_eligible_at=at)


@pytest.mark.parametrize(("decision", "word"), [
    (Admitted(), "Admitting"),
    (spent(), "Budget used up"),
    (full(), "At limit"),
    (PAUSED, "Paused"),
    (UNAVAILABLE, "Unavailable"),
])
def test_every_status_has_its_word(decision: Decision, word: str) -> None:
    assert phrases.WORDS[phrases.state_of(decision)] == word


def test_every_reason_has_a_word_and_a_place_in_the_order() -> None:
    every = {phrases.ADMITTED, *Reason}

    assert set(phrases.WORDS) == every
    assert sorted(every, key=phrases.URGENCY.__getitem__) == [
        "admission_unavailable", "paused", "window_exhausted", "in_flight_full", "admitted"]


@pytest.mark.parametrize(("deferral", "tz", "text"), [
    (spent(), PT, "deferred · budget · eligible 00:00 PT"),
    (spent(FAR), PT, "deferred · budget · eligible Mon 00:00 PT"),
    (full(), PT, "deferred · in flight · about 14:00 PT (estimate)"),
    (full(), None, "deferred · in flight · about 22:00 UTC (estimate)"),
    (full(None), PT, "deferred · in flight"),
    (PAUSED, PT, "deferred · paused"),
    (UNAVAILABLE, PT, "deferred · budget unavailable"),
])
def test_a_chip_says_the_reason_and_when(deferral: Deferral, tz: str | None, text: str) -> None:
    assert phrases.chip_words(deferral, tz, NOW) == text


@pytest.mark.parametrize(("used", "limit", "text"), [
    (0, 100, "0 of 100 used"), (100, 100, "100 of 100 used"), (60, 50, "60 of 50 used"),
    (12, 0, "12 used, limit 0"), (0, 0, "0 used, limit 0"), (0, None, "no limit on claims"),
])
def test_units_are_said_of_their_limit(used: int, limit: int | None, text: str) -> None:
    assert phrases.used_words(used, limit) == text


@pytest.mark.parametrize(("in_flight", "cap", "text"), [
    (2, 5, "2 of 5 in flight"), (6, 5, "6 of 5 in flight"),
    (2, None, "2 in flight, no limit"), (2, 0, "2 in flight, limit 0"),
])
def test_todos_in_flight_are_said_of_their_cap(in_flight: int, cap: int | None, text: str) -> None:
    assert phrases.in_flight_words(in_flight, cap) == text


@pytest.mark.parametrize(("used", "limit", "warns"), [
    (79, 100, False), (80, 100, True), (99, 100, True), (100, 100, False), (120, 100, False),
    (7, 9, False), (8, 9, True), (0, 0, False), (5, None, False), (None, 5, False), (4, 5, True),
    (0, 1, False),
])
def test_80_percent_of_a_window_is_nearly_used_up(
    used: int | None, limit: int | None, *, warns: bool
) -> None:
    assert phrases.is_nearly_used_up(used, limit) is warns


def test_a_reset_is_said_in_both_zones() -> None:
    assert phrases.resets_words(MIDNIGHT, PT, "Europe/Berlin", NOW) == (
        "resets 00:00 PT (09:00 your time)")
    assert phrases.resets_words(FAR, PT, None, NOW) == "resets Mon 00:00 PT (Mon 08:00 UTC)"
    assert phrases.spoken_resets_words(MIDNIGHT, PT, "Europe/Berlin", NOW) == (
        "resets at midnight Pacific time, 09:00 your time")


def test_other_limits_that_bind_are_said_in_their_order() -> None:
    both = Deferral(reason=Reason.PAUSED,
                    also_binding=(Reason.WINDOW_EXHAUSTED, Reason.IN_FLIGHT_FULL))

    assert phrases.also_words(both) == ["also budget used up", "also at limit"]
    assert phrases.also_words(spent()) == phrases.also_words(Admitted()) == []


@pytest.mark.parametrize(("kind", "text"), [
    ("unknown_zone", "the time zone of the budget is not known here, so no claim is admitted"),
    ("invalid_policy", "the budget breaks a rule, so no claim is admitted"),
    (None, "the budget cannot be read, so no claim is admitted"),
])
def test_a_budget_that_cannot_be_judged_says_why(kind: str | None, text: str) -> None:
    assert phrases.unavailable_words(kind) == text


@pytest.mark.parametrize(("kind", "text"), [
    ("lock_timeout", "claims refused at 14:00: budget busy"),
    ("gate_timeout", "claims refused at 14:00: budget busy"),
    ("database", "claims refused at 14:00: database error"),
    ("invalid_policy", "claims refused at 14:00: budget not valid"),
    ("unknown_zone", "claims refused at 14:00: time zone not known"),
])
def test_a_recent_fault_says_when_and_what(kind: str, text: str) -> None:
    assert phrases.refused_words(kind, NOW, PT, NOW) == text


@pytest.mark.parametrize(("who", "reason", "text"), [
    ("Ana", "deploy freeze", "paused by Ana at 22:00 UTC: deploy freeze"),
    ("Ana", None, "paused by Ana at 22:00 UTC"),
    (None, "two\nlines ", "paused at 22:00 UTC: two lines"),
])
def test_a_pause_says_who_when_and_why(who: str | None, reason: str | None, text: str) -> None:
    assert phrases.paused_words(who, NOW, reason, None, NOW) == text


def test_times_of_a_policy_are_in_its_windows_zone() -> None:
    window = Window("day", PT, "00:00")

    assert phrases.zone_of(Policy(max_claims_per_window=1, window=window)) == PT
    assert phrases.zone_of(Policy(max_in_flight=1)) is None
    assert phrases.zone_of(None) is None


def test_a_reset_whose_two_times_are_the_same_words_is_said_once() -> None:
    at, now = datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 11, 30, 12, tzinfo=UTC)

    assert phrases.resets_words(at, "UTC", None, now) == "resets 00:00 UTC"
    assert phrases.spoken_resets_words(at, "UTC", None, now) == "resets at midnight UTC"
    assert phrases.resets_words(at, "UTC", "UTC", now) == "resets 00:00 UTC (00:00 your time)"
