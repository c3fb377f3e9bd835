"""What Resume restores, from the newest record alone (R68)."""

from __future__ import annotations

import pytest

from app.domain.policy import Policy, policy_body
from app.domain.resuming import Ask, Changed, Clear, Restore, resumed
from app.domain.values import Json
from app.domain.windows import Window

DAY = Window("day", "UTC", "00:00")
OPEN = Policy(max_in_flight=5, max_claims_per_window=100, window=DAY)
BY_CAP = Policy(max_in_flight=0, max_claims_per_window=100, window=DAY)
BY_WINDOW = Policy(max_in_flight=5, max_claims_per_window=0, window=DAY)
ROOMY = Policy(max_in_flight=None, max_claims_per_window=7, window=DAY)


@pytest.mark.parametrize("paused", [BY_CAP, BY_WINDOW])
@pytest.mark.parametrize("before", [OPEN, ROOMY])
def test_the_policy_before_the_pause_comes_back_whichever_limit_was_set_to_0(
    paused: Policy, before: Policy
) -> None:
    newest = Changed(before=policy_body(before), after=policy_body(paused))

    assert resumed(paused, newest) == Restore(before)


def test_a_pause_that_made_the_policy_is_ended_by_a_clear() -> None:
    alone = Policy(max_in_flight=0)

    assert resumed(alone, Changed(before=None, after=policy_body(alone))) == Clear()


@pytest.mark.parametrize("newest", [
    None,
    Changed(before=policy_body(BY_WINDOW), after=policy_body(BY_CAP)),
    Changed(before=policy_body(OPEN), after=policy_body(BY_WINDOW)),
    Changed(before=policy_body(OPEN), after=None),
    Changed(before="broken", after=policy_body(BY_CAP)),
    Changed(before={"max_in_flight": -1}, after=policy_body(BY_CAP)),
    Changed(before={**policy_body(OPEN), "window": {"period": "day", "tz": "Mars/Olympus",
                                                    "start": "00:00"}},
            after=policy_body(BY_CAP)),
])
def test_what_the_record_does_not_tell_is_asked(newest: Changed | None) -> None:
    found = resumed(BY_CAP, newest)

    assert isinstance(found, Ask)
    assert found.sentence.endswith(".")


def test_an_edit_while_paused_says_so() -> None:
    edited: Json = policy_body(BY_WINDOW)
    found = resumed(BY_CAP, Changed(before=edited, after=policy_body(BY_CAP)))

    assert found == Ask("The budget was changed while the queue was paused.")
