"""Every line of the speech rule (accessibility.md 1.3), by a clock that is only a number."""

from __future__ import annotations

import itertools

import pytest

from app.domain.speech import Act, Event, Figures, Speech, step

ADMITTED, FULL = "admitted", "in_flight_full"
EXHAUSTED, PAUSED, UNAVAILABLE = "window_exhausted", "paused", "admission_unavailable"
ALARMS = (EXHAUSTED, PAUSED, UNAVAILABLE)

pytestmark = [pytest.mark.req("REQ-11"), pytest.mark.rule("accessibility.md 1.3")]


def says(state: str = ADMITTED, used: int = 0, *, flying: int = 0, limit: int | None = 100,
         note: str = "") -> Figures:
    words = f"{state}, {used} of {limit} used, {flying} in flight{note}"
    return Figures(state=state, used=used, limit=limit, visible=words, sentence=f"q: {words}")


def opened(first: Figures | None = None, *, queues: int = 1, counts: bool = True) -> Speech:
    """A page that was loaded at 0 with queues that have spent nothing."""
    speech = Speech(at=0, counts=counts)
    for number in range(1, queues + 1):
        speech.begin(number, first or says(), at=0)
    return speech


def said(events: list[Event]) -> list[int]:
    return [event.queue_id for event in events if event.act is Act.SAY]


def shown(events: list[Event]) -> list[int]:
    return [event.queue_id for event in events if event.act is Act.SHOW]


def run_until(speech: Speech, at: float) -> list[tuple[float, Event]]:
    """Looks whenever the rule asks for it, as a stream does, and never otherwise."""
    found = []
    while (due := speech.due_at()) is not None and due <= at:
        found += [(due, event) for event in speech.look({}, at=due)]
    return found


def test_a_page_that_opens_is_shown_every_queue_and_told_nothing() -> None:
    speech = Speech(at=0)

    events = [event for number in (1, 2) for event in speech.begin(number, says(), at=0)]

    assert shown(events) == [1, 2]
    assert said(events) == []
    assert speech.due_at() is None


@pytest.mark.parametrize(("before", "alarm"), [
    (before, alarm) for before in (ADMITTED, FULL, *ALARMS) for alarm in ALARMS
    if before != alarm])
def test_an_alarm_is_said_at_once_with_its_figures(before: str, alarm: str) -> None:
    speech = opened(says(before, 50))

    events = speech.look({1: says(alarm, 100)}, at=0.1)

    assert [event.act for event in events] == [Act.SHOW, Act.SAY]
    assert {event.figures for event in events} == {says(alarm, 100)}


def test_an_alarm_that_goes_on_is_not_said_again() -> None:
    speech = opened()
    speech.look({1: says(EXHAUSTED, 100)}, at=1)

    assert said(speech.look({1: says(EXHAUSTED, 100)}, at=2)) == []
    assert speech.due_at() is None


def test_back_to_admitting_is_said_after_two_seconds_and_once() -> None:
    speech = opened(says(EXHAUSTED, 100))

    assert said(speech.look({1: says(ADMITTED, 0)}, at=10)) == []
    assert said(speech.look({}, at=11.9)) == []
    assert said(speech.look({}, at=12)) == [1]
    assert run_until(speech, 1000) == []


def test_an_alarm_that_was_over_for_less_than_two_seconds_is_not_said_again() -> None:
    speech = opened(says(EXHAUSTED, 100))

    events = speech.look({1: says(ADMITTED, 99)}, at=10)
    events += speech.look({1: says(EXHAUSTED, 100)}, at=11.9)
    events += [event for _, event in run_until(speech, 1000)]

    assert said(events) == []


def test_the_hold_down_begins_anew_with_every_end_of_an_alarm() -> None:
    speech = opened(says(PAUSED))
    speech.look({1: says(ADMITTED)}, at=10)
    speech.look({1: says(PAUSED)}, at=11)
    speech.look({1: says(ADMITTED)}, at=11.5)

    assert said(speech.look({}, at=13.4)) == []
    assert said(speech.look({}, at=13.5)) == [1]


def test_another_alarm_within_the_hold_down_is_said_at_once() -> None:
    speech = opened(says(PAUSED))
    speech.look({1: says(ADMITTED)}, at=10)

    assert said(speech.look({1: says(EXHAUSTED, 100)}, at=10.5)) == [1]


def test_out_of_an_alarm_into_a_full_queue_counts_as_its_end() -> None:
    """Else the reader would go on believing the alarm; at once it is never."""
    speech = opened(says(EXHAUSTED, 100))

    assert said(speech.look({1: says(FULL, 0, flying=5)}, at=1)) == []
    assert said(speech.look({1: says(ADMITTED, 0, flying=4)}, at=2)) == []
    assert said(speech.look({}, at=3)) == [1]


@pytest.mark.rule("accessibility.md B5")
def test_a_queue_that_is_full_twenty_times_is_never_said_at_once() -> None:
    speech = opened()
    events = []
    for flap in range(20):
        events += speech.look({1: says(FULL, 1, flying=5)}, at=flap + 0.5)
        events += speech.look({1: says(ADMITTED, 1, flying=4)}, at=flap + 1)

    assert said(events) == []
    assert [at for at, event in run_until(speech, 1000) if event.act is Act.SAY] == [60.5]


@pytest.mark.parametrize(
    ("limit", "units"), [(0, 5), (1, 5), (50, 5), (60, 6), (100, 10), (999, 99)])
def test_a_step_is_a_tenth_of_the_budget_and_five_units_at_least(limit: int, units: int) -> None:
    assert step(limit) == units


@pytest.mark.rule("accessibility.md B3")
def test_ticks_inside_one_step_say_nothing_for_sixty_seconds() -> None:
    speech = opened(says(used=90))
    events = [event for at in range(1, 10)
              for event in speech.look({1: says(used=90 + at)}, at=at)]

    assert said(events) == []
    assert said(speech.look({}, at=60.9)) == []
    assert said(speech.look({}, at=61)) == [1]
    assert run_until(speech, 1000) == []


def test_a_step_that_is_crossed_is_said_ten_seconds_after_the_last_count() -> None:
    speech = opened(says(used=8))

    assert said(speech.look({1: says(used=9)}, at=20)) == []
    assert said(speech.look({1: says(used=10)}, at=21)) == [1]
    assert said(speech.look({1: says(used=20)}, at=22)) == []
    assert [at for at, event in run_until(speech, 100) if event.act is Act.SAY] == [31]


def test_a_step_back_over_the_line_needs_no_word() -> None:
    speech = opened(says(used=9))
    speech.look({1: says(used=10)}, at=1)
    speech.look({1: says(used=9)}, at=2)

    assert [event.act for _, event in run_until(speech, 1000)] == []


def test_a_change_that_is_undone_within_sixty_seconds_is_never_said() -> None:
    speech = opened()
    speech.look({1: says(flying=1)}, at=5)
    speech.look({1: says(flying=0)}, at=50)

    assert said([event for _, event in run_until(speech, 1000)]) == []


def test_without_a_window_limit_only_time_has_a_count_said() -> None:
    speech = opened(says(limit=None))

    assert said(speech.look({1: says(limit=None, flying=400)}, at=20)) == []
    assert said(speech.look({}, at=80)) == [1]


@pytest.mark.rule("accessibility.md B4")
def test_thirty_ticks_over_twelve_queues_in_a_minute_are_six_sentences_at_most() -> None:
    speech = opened(queues=12)
    used = dict.fromkeys(range(1, 13), 0)
    events = []
    for tick in range(30):
        queue_id = tick % 12 + 1
        used[queue_id] += 10  # a whole step, the worst that may happen
        at = tick * 2.0
        events += [(due, event) for due, event in run_until(speech, at)]
        now = {queue_id: says(used=used[queue_id])}
        events += [(at, event) for event in speech.look(now, at=at)]
    events += run_until(speech, 60)

    instants = [at for at, event in events if event.act is Act.SAY]
    assert 1 <= len(instants) <= 6
    assert all(later - sooner >= 10 for sooner, later in itertools.pairwise(instants))


def test_whoever_has_waited_longest_is_said_first() -> None:
    speech = opened(queues=3)
    speech.look({2: says(used=10)}, at=1)
    speech.look({3: says(used=10), 1: says(used=10)}, at=2)

    assert [(at, event.queue_id) for at, event in run_until(speech, 100)
            if event.act is Act.SAY] == [(10, 2), (20, 1), (30, 3)]


def test_an_alarm_neither_waits_for_counts_nor_makes_them_wait() -> None:
    speech = opened(queues=2)
    assert said(speech.look({1: says(used=10)}, at=10)) == [1]

    assert said(speech.look({2: says(PAUSED)}, at=10.1)) == [2]
    assert said(speech.look({1: says(used=20)}, at=20)) == [1]


def test_figures_are_shown_at_most_once_a_second_for_each_queue() -> None:
    speech = opened(queues=2)
    events = [(at / 10, event) for at in range(1, 51)
              for event in speech.look({1: says(flying=at), 2: says(flying=at)}, at=at / 10)]

    for queue_id in (1, 2):
        assert [at for at, event in events if event.queue_id == queue_id] == [1, 2, 3, 4, 5]


def test_the_last_figures_are_always_shown_within_a_second() -> None:
    speech = opened()
    speech.look({1: says(flying=1)}, at=5)
    assert speech.look({1: says(flying=2)}, at=5.3) == []

    assert run_until(speech, 7) == [(6, Event(Act.SHOW, 1, says(flying=2)))]


def test_every_sentence_comes_with_its_figures_even_within_a_second() -> None:
    speech = opened()
    speech.look({1: says(flying=1)}, at=5)

    events = speech.look({1: says(PAUSED, flying=2)}, at=5.1)

    assert [event.act for event in events] == [Act.SHOW, Act.SAY]


def test_who_wants_status_changes_only_hears_no_count_but_all_of_them_with_a_status() -> None:
    speech = opened(counts=False)
    for at in range(1, 200):
        assert said(speech.look({1: says(used=at % 100)}, at=at)) == []
    assert run_until(speech, 1000) == []

    events = speech.look({1: says(EXHAUSTED, 100, flying=2)}, at=1001)

    assert [event.figures.sentence for event in events if event.act is Act.SAY] == [
        "q: window_exhausted, 100 of 100 used, 2 in flight"]
    assert said(speech.look({1: says(ADMITTED)}, at=1002)) == []
    assert said(speech.look({}, at=1004)) == [1]


@pytest.mark.parametrize("alarm", ALARMS)
def test_an_alarm_that_came_before_the_stream_opened_is_said_when_it_opens(alarm: str) -> None:
    speech = Speech(at=0)

    events = speech.begin(1, says(alarm), at=0, told_state=ADMITTED)

    assert [event.act for event in events] == [Act.SHOW, Act.SAY]


def test_an_alarm_that_ended_before_the_stream_opened_is_said_to_be_over() -> None:
    speech = Speech(at=0)

    assert said(speech.begin(1, says(ADMITTED), at=0, told_state=PAUSED)) == []
    assert [at for at, event in run_until(speech, 100) if event.act is Act.SAY] == [2]


def test_a_page_that_was_away_is_told_its_counts_within_a_minute() -> None:
    speech = Speech(at=0)

    assert said(speech.begin(1, says(used=40), at=0, told_state=ADMITTED, is_fresh=False)) == []
    assert [at for at, event in run_until(speech, 100) if event.act is Act.SAY] == [60]


def test_a_queue_that_is_gone_is_neither_shown_nor_said() -> None:
    speech = opened(queues=2)
    speech.look({1: says(used=50)}, at=5)

    speech.forget(1)
    speech.forget(77)

    assert run_until(speech, 1000) == []
