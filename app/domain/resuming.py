"""What Resume restores: a fact from the audit, never a guess (R68)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from app.domain.errors import InvalidArgument
from app.domain.policy import Policy, parse_policy, policy_body
from app.domain.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The newest audit record of a queue: the policy before and after it, None for none."""

    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class Restore:
    """The policy that was in force before the pause."""

    policy: Policy


@dataclass(frozen=True, slots=True)
class Clear:
    """The pause made the policy, so there was none before."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What was in force cannot be told; `sentence` says why."""

    sentence: str


Resumption: TypeAlias = Restore | Clear | Ask

_UNRECORDED = "The record of changes does not say how this queue came to be paused."
_EDITED = "The budget was changed while the queue was paused."
_BROKEN = "The budget before the pause breaks the rules of today."


def resumed(paused: Policy, newest: Changed | None) -> Resumption:
    """How to end the pause of a policy one of whose limits is 0; never raises.

    Only the newest record can be the transition into 0 with nothing edited since: it must end at
    the policy that is in force, and begin at one that did not pause.
    """
    if newest is None or newest.after != policy_body(paused):
        return Ask(_UNRECORDED)
    if newest.before is None:
        return Clear()
    if not isinstance(newest.before, dict):
        return Ask(_UNRECORDED)
    try:
        before = parse_policy(newest.before)
    except InvalidArgument:
        return Ask(_BROKEN)
    return Ask(_EDITED) if before.pauses else Restore(before)
