"""Who a notice wakes: one waiter per group, handed on until the work is gone; none is lost."""

from __future__ import annotations

from app.db.changes import Change
from app.db.watches import Watch, Watches
from tests.support.race import all_returned, together
from tests.support.wait import wait_for

READY = Change(ready=frozenset({1}))


def watch(watches: Watches, *queue_ids: int, group: str | None = None) -> Watch:
    return Watch(watches, frozenset(queue_ids), group)


def test_ready_and_reopened_wake_and_changed_does_not() -> None:
    watches = Watches()
    with watch(watches, 1, 2) as waiter:
        watches.notice(Change(changed=frozenset({1})))
        assert not waiter.wait(0)
        watches.notice(Change(ready=frozenset({2})))
        assert waiter.wait(0)
        assert not waiter.wait(0)
        watches.notice(Change(reopened=frozenset({1})))
        assert waiter.wait(0)
        watches.notice(Change(ready=frozenset({3})))
        assert not waiter.wait(0)
        watches.notice(Change(everything=True))
        assert waiter.wait(0)


def test_a_notice_before_the_first_wait_is_not_lost() -> None:
    watches = Watches()
    with watch(watches, 1) as waiter:
        watches.notice(READY)

        assert waiter.wait(0)


def test_waiters_without_a_group_are_all_woken() -> None:
    watches = Watches()
    with watch(watches, 1) as one, watch(watches, 1) as other:
        watches.notice(READY)

        assert one.wait(0)
        assert other.wait(0)


def test_one_waiter_of_a_group_is_woken_and_the_next_notice_wakes_the_next() -> None:
    watches = Watches()
    with watch(watches, 1, group="a") as one, watch(watches, 1, group="a") as other:
        watches.notice(READY)
        assert one.wait(0)
        assert not other.signal.is_set()
        watches.notice(READY)
        watches.notice(READY)
        assert other.wait(0)


def test_who_claims_hands_on_and_who_finds_nothing_does_not() -> None:
    watches = Watches()
    one, two, three, four = (watch(watches, 1, group="a") for _ in range(4))
    for each in (one, two, three, four):
        each.__enter__()
    watches.notice(READY)
    assert one.wait(0)  # and claims
    one.__exit__(None, None, None)

    assert two.wait(0)
    assert three.wait(0)
    assert not four.signal.is_set()
    assert not two.wait(0)  # found nothing: came back to wait
    two.__exit__(None, None, None)
    assert not four.signal.is_set()
    three.__exit__(None, None, None)
    assert four.wait(0)


def test_a_waiter_that_leaves_with_an_unseen_notice_hands_it_on() -> None:
    watches = Watches()
    one, two = watch(watches, 1, group="a"), watch(watches, 1, group="a")
    one.__enter__()
    two.__enter__()
    watches.notice(READY)
    one.__exit__(None, None, None)

    assert two.wait(0)


def test_a_waiter_that_is_asleep_is_woken_before_one_that_is_busy() -> None:
    watches = Watches()
    busy, asleep = watch(watches, 1, group="a"), watch(watches, 1, group="a")
    with busy, asleep:
        woken = together(2, lambda number: _sleep_or_notice(watches, asleep, number))

    assert all_returned(woken) == [True, True]


def _sleep_or_notice(watches: Watches, asleep: Watch, number: int) -> bool:
    if number == 0:
        return asleep.wait(20)
    wait_for(lambda: asleep.is_waiting)
    watches.notice(READY)
    return True


def test_nothing_is_left_behind() -> None:
    watches = Watches()
    with watch(watches, 1, 2, group="a"), watch(watches, 2):
        pass

    watches.notice(Change(everything=True))
    assert watches._groups == {}
    assert watches._by_queue == {}


def test_a_clock_that_was_moved_wakes_one_waiter_of_each_group_with_a_timer() -> None:
    watches = Watches()
    one, two, plain, other = (watch(watches, 1, group=name) for name in ("a", "a", "b", "c"))
    for each in (one, two, other):
        each.expect_timer(expected=True)
    for each in (one, two, plain, other):
        each.__enter__()

    watches.notice(Change())

    assert one.wait(0)
    assert other.wait(0)
    assert not two.signal.is_set()
    assert not plain.wait(0)
    one.__exit__(None, None, None)  # it found something: the next one looks too
    assert two.wait(0)


def test_news_of_others_is_seen_by_a_timer_when_its_wait_ends_and_not_before() -> None:
    watches = Watches()
    with watch(watches, 1) as waiter, watch(watches, 1) as plain:
        waiter.expect_timer(expected=True)

        watches.notice(Change(changed=frozenset({7})))

        assert not waiter.signal.is_set()
        assert waiter.wait(0)
        assert not waiter.wait(0)
        assert not plain.wait(0)


def test_news_that_came_before_no_timer_was_found_to_be_needed_rests() -> None:
    watches = Watches()
    with watch(watches, 1) as waiter:
        waiter.expect_timer(expected=True)
        watches.notice(Change(changed=frozenset({7})))
        waiter.expect_timer(expected=False)

        assert not waiter.wait(0)
