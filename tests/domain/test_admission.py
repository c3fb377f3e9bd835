"""The decision: what binds, which reason comes first, and when to come back (R3-R5, R23, R56)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import hypothesis.strategies as st
import pytest
from hypothesis import given

from app.domain.admission import (
    UNAVAILABLE,
    Admitted,
    Deferral,
    Reason,
    Usage,
    decide,
    headroom,
    headroom_body,
    sentence,
    slot_hint,
    status_body,
    usage_body,
)
from app.domain.policy import Policy
from app.domain.windows import Window

NOW = datetime(2026, 9, 30, 15, 4, 5, tzinfo=UTC)
STARTED = datetime(2026, 9, 30, 7, 0, tzinfo=UTC)
RESETS = datetime(2026, 10, 1, 7, 0, tzinfo=UTC)
HINT = NOW + timedelta(minutes=3)
DAY = Window("day", "America/Los_Angeles", "00:00")


def policy(max_in_flight: int | None = None, per_day: int | None = None) -> Policy:
    return Policy(max_in_flight=max_in_flight, max_claims_per_window=per_day, window=DAY)


def usage(in_flight: int = 0, used: int | None = 0) -> Usage:
    return Usage(
        in_flight=in_flight,
        used=used,
        window_started_at=STARTED,
        window_resets_at=RESETS,
        slot_hint_at=HINT,
    )


def binding_by_the_book(
    cap: int | None, limit: int | None, in_flight: int, used: int | None
) -> list[str]:
    """R5 and R56 as a table, written out again without a look at the code."""
    if limit is not None and used is None:
        return ["admission_unavailable"]
    rows = [
        ("paused", cap == 0 or limit == 0),
        ("window_exhausted", limit not in (None, 0) and (used or 0) >= (limit or 0)),
        ("in_flight_full", cap not in (None, 0) and in_flight >= (cap or 0)),
    ]
    return [reason for reason, binds in rows if binds]


TABLE = [
    row for row in product((None, 0, 1, 3), (None, 0, 1, 3), (0, 1, 2, 3, 4), (None, 0, 2, 3, 9))
    if row[:2] != (None, None)
]  # fmt: skip


@pytest.mark.rule("R5")
@pytest.mark.rule("R56")
def test_the_first_reason_is_reported_and_the_others_named_over_all_combinations() -> None:
    seen = set()
    for cap, limit, in_flight, used in TABLE:
        decision = decide(policy(cap, limit), usage(in_flight, used))

        shown = (
            [] if isinstance(decision, Admitted) else [decision.reason, *decision.also_binding]
        )
        assert shown == binding_by_the_book(cap, limit, in_flight, used), (cap, limit, in_flight)
        seen.add(tuple(shown))
    assert len(seen) == 8  # none, each of the four, and three that bind together


@pytest.mark.rule("R49")
def test_a_time_is_exact_only_when_the_window_gives_it_over_all_combinations() -> None:
    for cap, limit, in_flight, used in TABLE:
        decision = decide(policy(cap, limit), usage(in_flight, used))
        if isinstance(decision, Admitted):
            continue
        promised = (decision.next_eligible_at, decision.exact)
        assert promised == {
            "admission_unavailable": (None, False),
            "paused": (None, False),
            "window_exhausted": (RESETS, True),
            "in_flight_full": (HINT, False),
        }[decision.reason]


def test_reasons_are_declared_in_the_order_of_precedence() -> None:
    assert list(Reason) == [
        "admission_unavailable", "paused", "window_exhausted", "in_flight_full",
    ]  # fmt: skip


@pytest.mark.rule("R56")
def test_exhausted_and_full_is_exhausted_and_also_full() -> None:
    decision = decide(policy(3, 100), usage(in_flight=3, used=100))

    assert decision == Deferral(
        reason=Reason.WINDOW_EXHAUSTED,
        next_eligible_at=RESETS,
        exact=True,
        also_binding=(Reason.IN_FLIGHT_FULL,),
    )


@pytest.mark.rule("R56")
@pytest.mark.parametrize(
    ("cap", "limit", "also"),
    [
        (0, None, ()),
        (0, 0, ()),
        (None, 0, ()),
        (0, 5, (Reason.WINDOW_EXHAUSTED,)),
        (5, 0, (Reason.IN_FLIGHT_FULL,)),
    ],
)
def test_a_pause_absorbs_the_limit_that_is_0(
    cap: int | None, limit: int | None, also: tuple[Reason, ...]
) -> None:
    assert decide(policy(cap, limit), usage(in_flight=5, used=5)) == Deferral(
        reason=Reason.PAUSED, also_binding=also
    )


@pytest.mark.req("REQ-1", "Zero pauses the queue")
@pytest.mark.rule("R17")
@pytest.mark.parametrize(("cap", "limit"), [(0, None), (None, 0), (0, 100), (100, 0), (0, 0)])
def test_zero_pauses_an_idle_queue(cap: int | None, limit: int | None) -> None:
    assert decide(policy(cap, limit), usage()) == Deferral(reason=Reason.PAUSED)


@pytest.mark.rule("R3")
@pytest.mark.parametrize(
    ("cap", "others", "admitted"),
    [
        (1, 0, True),  # takeover of the only claim: the candidate is not among the others
        (1, 1, False),  # another pending todo; or B's takeover, cap lowered to 1 under live A
        (2, 1, True),  # live A and lapsed B: takeover of B
        (2, 2, False),  # and pending C beside them
        (10, 9, True),
        (10, 10, False),  # raised from 5 to 10 with 10 claimed
        (10, 11, False),
    ],
)
def test_a_claim_is_refused_at_or_above_the_cap(cap: int, others: int, *, admitted: bool) -> None:
    decision = decide(policy(cap), usage(in_flight=others))

    assert isinstance(decision, Admitted) is admitted


@pytest.mark.req("REQ-10", "Lowering mid-window")
def test_a_limit_below_the_usage_admits_nothing_until_the_window_ends() -> None:
    decision = decide(policy(per_day=50), usage(used=60))

    assert status_body(decision) == {
        "state": "deferred",
        "reason": "window_exhausted",
        "next_eligible_at": "2026-10-01T07:00:00Z",
        "exact": True,
    }
    assert usage_body(policy(per_day=50), usage(used=60))["remaining"] == 0


@pytest.mark.rule("R18")
def test_a_window_without_a_limit_is_never_exhausted() -> None:
    assert decide(policy(5), usage(used=10**9)) == Admitted()


@pytest.mark.req("REQ-9", "A policy that cannot be evaluated")
@pytest.mark.parametrize("cap", [None, 0, 5])
@pytest.mark.parametrize(
    "unknown",
    [
        Usage(in_flight=0),
        Usage(in_flight=9, used=0),
        Usage(in_flight=0, window_started_at=STARTED, window_resets_at=RESETS),
    ],
)
def test_a_window_limit_without_its_usage_fails_closed_and_stands_alone(
    cap: int | None, unknown: Usage
) -> None:
    assert decide(policy(cap, 5), unknown) is UNAVAILABLE
    assert decide(policy(cap, 5), unknown) == Deferral(
        reason=Reason.ADMISSION_UNAVAILABLE, next_eligible_at=None, exact=False, also_binding=()
    )


POLICIES = st.builds(
    policy,
    st.none() | st.integers(0, 10_000),
    st.none() | st.integers(0, 1_000_000),
)
USAGES = st.builds(usage, st.integers(0, 20_000), st.none() | st.integers(0, 2_000_000))


@given(limits=POLICIES, seen=USAGES)
def test_an_admitted_claim_never_passes_a_limit(limits: Policy, seen: Usage) -> None:
    if decide(limits, seen) != Admitted():
        return
    if limits.max_in_flight is not None:
        assert seen.in_flight + 1 <= limits.max_in_flight
    if limits.max_claims_per_window is not None:
        assert seen.used is not None
        assert seen.used + 1 <= limits.max_claims_per_window


@given(limits=POLICIES, seen=USAGES)
def test_a_refusal_is_always_earned(limits: Policy, seen: Usage) -> None:
    decision = decide(limits, seen)
    if isinstance(decision, Admitted):
        return
    assert (
        limits.pauses
        or (limits.max_in_flight is not None and seen.in_flight >= limits.max_in_flight)
        or (limits.max_claims_per_window is not None
            and (seen.used is None or seen.used >= limits.max_claims_per_window))
    )  # fmt: skip
    assert list(decision.also_binding) == sorted(decision.also_binding, key=list(Reason).index)
    assert decision.reason not in decision.also_binding


@pytest.mark.rule("R23")
def test_the_hint_is_the_earliest_live_lease_or_now_and_one_reaper_round() -> None:
    lease = NOW + timedelta(minutes=5)

    assert slot_hint(lease, NOW) == lease + timedelta(seconds=30)
    assert slot_hint(None, NOW) == NOW + timedelta(seconds=30)


@pytest.mark.rule("R23")
def test_a_full_cap_gives_the_hint_and_never_promises_it() -> None:
    decision = decide(policy(1), usage(in_flight=1))

    assert status_body(decision) == {
        "state": "deferred",
        "reason": "in_flight_full",
        "next_eligible_at": "2026-09-30T15:07:05Z",
        "exact": False,
    }


@pytest.mark.rule("R49")
@pytest.mark.parametrize(
    "deferral", [UNAVAILABLE, Deferral(reason=Reason.PAUSED)], ids=lambda each: each.reason
)
def test_a_reason_without_a_time_still_says_that_none_is_exact(deferral: Deferral) -> None:
    assert status_body(deferral) == {
        "state": "deferred",
        "reason": str(deferral.reason),
        "next_eligible_at": None,
        "exact": False,
    }


def test_an_admitted_status_is_one_word() -> None:
    assert status_body(Admitted()) == {"state": "admitted"}


@pytest.mark.req("REQ-7", "Headroom on a successful claim")
def test_headroom_is_the_six_numbers_after_the_claim() -> None:
    left = headroom(policy(3, 100), in_flight=2, used=73, resets_at=RESETS)

    assert list(headroom_body(left).items()) == [
        ("max_in_flight", 3),
        ("in_flight", 2),
        ("max_claims_per_window", 100),
        ("used", 73),
        ("remaining", 27),
        ("window_resets_at", "2026-10-01T07:00:00Z"),
    ]


@pytest.mark.rule("R42")
def test_headroom_without_a_window_limit_has_nulls_for_the_window() -> None:
    left = headroom(policy(3), in_flight=2, used=7, resets_at=RESETS)

    assert headroom_body(left) == {
        "max_in_flight": 3,
        "in_flight": 2,
        "max_claims_per_window": None,
        "used": None,
        "remaining": None,
        "window_resets_at": None,
    }


@pytest.mark.rule("R42")
def test_headroom_without_a_cap_still_counts_what_is_in_flight() -> None:
    left = headroom(policy(per_day=5), in_flight=4, used=1, resets_at=RESETS)

    assert (left.max_in_flight, left.in_flight, left.remaining) == (None, 4, 4)


@pytest.mark.rule("R42")
def test_a_lowered_limit_never_shows_a_negative_rest() -> None:
    left = headroom(policy(per_day=50), in_flight=0, used=60, resets_at=RESETS)

    assert (left.used, left.remaining) == (60, 0)


@pytest.mark.rule("R42")
def test_usage_shows_the_window_only_when_its_limit_is_in_force() -> None:
    assert usage_body(policy(3, 100), usage(3, 100)) == {
        "in_flight": 3,
        "used": 100,
        "remaining": 0,
        "window_started_at": "2026-09-30T07:00:00Z",
        "window_resets_at": "2026-10-01T07:00:00Z",
    }
    assert usage_body(policy(3), usage(1, 7)) == {
        "in_flight": 1,
        "used": None,
        "remaining": None,
        "window_started_at": None,
        "window_resets_at": None,
    }


def test_every_refusal_is_a_sentence_that_names_the_queue() -> None:
    sentences = {
        reason: sentence("lane-m", Deferral(reason=reason, next_eligible_at=RESETS))
        for reason in Reason
    }

    assert sentences[Reason.PAUSED] == "Queue lane-m is paused."
    assert "2026-10-01T07:00:00Z" in sentences[Reason.WINDOW_EXHAUSTED]
    assert len(set(sentences.values())) == len(Reason)
    assert all(said.startswith("Queue lane-m ") for said in sentences.values())
