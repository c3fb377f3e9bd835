"""Records of policy changes in words: who, when, what and why (accessibility.md 4.4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.domain import policy_words
from app.domain.isolating import isolate
from app.reads.budgets import Change
from app.web.present import Instant
from app.web.queue_times import moment


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLine:
    """One record; `what` is one clause per setting, `reason` "none given" when there is none."""

    at: Instant
    who: str
    what: tuple[str, ...]
    reason: str


def lines(changes: Iterable[Change], zone: str | None) -> list[ChangeLine]:
    """Records in the order they come, times in the viewer's zone or UTC."""
    return [
        ChangeLine(
            at=moment(change.at, zone),
            who=who(change),
            what=policy_words.changed(change.before, change.after),
            reason=change.reason or "none given",
        )
        for change in changes
    ]


def who(change: Change) -> str:
    """The human, and the endpoint when an agent wrote: "Ana, through endpoint lane-m-worker"."""
    name = change.human_name or "A person who has left"
    if change.endpoint_id is None:
        return name
    if change.endpoint_slug is None:
        return f"{isolate(name)}, through an endpoint that is deleted"
    return f"{isolate(name)}, through endpoint {change.endpoint_slug}"
