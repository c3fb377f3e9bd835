"""Which limits of a policy that is not saved yet would close its queue at once (board.md)."""

from __future__ import annotations

from app.domain.admission import Admitted, Deferral, Reason, Usage, decide
from app.domain.policy import Policy


def closing(old: Policy | None, new: Policy, usage: Usage) -> tuple[Reason, ...]:
    """The reasons that the change brings about: a limit of 0, or one set at or below its usage.

    `usage` is what `new` would be judged by. A limit that stays as it is warns of nothing, however
    full it is.
    """
    decision = decide(new, usage)
    if isinstance(decision, Admitted):
        return ()
    return tuple(reason for reason in _binding(decision) if _is_news(reason, old, new))


def _binding(decision: Deferral) -> tuple[Reason, ...]:
    return (decision.reason, *decision.also_binding)


def _is_news(reason: Reason, old: Policy | None, new: Policy) -> bool:
    if old is None:
        return True
    if reason is Reason.PAUSED:
        return not old.pauses
    if reason is Reason.IN_FLIGHT_FULL:
        return old.max_in_flight != new.max_in_flight
    was = (old.max_claims_per_window, old.window)
    return was != (new.max_claims_per_window, new.window)
