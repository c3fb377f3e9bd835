"""The team queues of an endpoint's page in words: what it drains, what it could, what ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wtforms import SelectChoice

from app.domain.isolating import isolate
from app.domain.verbs import ADMISSION
from app.reads.endpoint_pages import Granted
from app.reads.team_choices import Reachable

SECTION = "team-queues"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainedLine:
    """A team queue the endpoint drains, with the page that asks before it is taken away."""

    href: str
    name: str
    remove: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamQueuesView:
    """The section of an endpoint's page; `nothing` says why there is none to grant, or is empty.
    `means` says what a grant lets the agent do.
    """

    lines: list[DrainedLine]
    choices: list[SelectChoice]
    nothing: str
    means: str


def team_queues_view(row: Granted, found: Sequence[Reachable]) -> TeamQueuesView:
    """What an endpoint drains of teams, and what its configurer may grant it besides."""
    choices = [
        SelectChoice(value=str(each.queue_id), label=isolate(each.queue))
        for each in found
        if not each.is_granted
    ]
    return TeamQueuesView(
        lines=[_line(row, each) for each in found if each.is_granted],
        choices=choices,
        nothing="" if choices else _nothing(row, found),
        means=_means(row),
    )


def removal_lines(slug: str, chosen: Reachable) -> list[str]:
    """What taking a team queue away will do, sentence by sentence."""
    queue = isolate(chosen.queue)
    return [
        f"{slug} does not drain {queue} any more: its next call there is refused.",
        _held(slug, chosen),
        f"The todos of {queue} stay, for whoever else works it. You can grant it again.",
    ]


def _held(slug: str, chosen: Reachable) -> str:
    if not chosen.held:
        return f"{slug} holds no todo of it now."
    todos, goes = ("todo", "goes") if chosen.held == 1 else ("todos", "go")
    return (
        f"{chosen.held} {todos} of it that {slug} holds {goes} back to pending, with no attempt"
        " spent. Units of a budget that were charged stay charged."
    )


def _line(row: Granted, each: Reachable) -> DrainedLine:
    return DrainedLine(
        href=f"/queues/{each.queue_id}",
        name=each.queue,
        remove=f"/endpoints/{row.id}/team-queues/{each.queue_id}/remove",
        label=f"Take {isolate(each.queue)} away from {row.slug}",
    )


def _means(row: Granted) -> str:
    """A team's endpoint may change the budget of what it drains (identity.md, "Who may configure a
    policy").
    """
    said = "The endpoint may then claim its todos with the verbs it has."
    if row.team is None or set(ADMISSION).isdisjoint(row.verbs):
        return said
    return f"{said} Its agent can then change that queue's budget too."


def _nothing(row: Granted, found: Sequence[Reachable]) -> str:
    if found:
        return "It drains every team queue that you may grant it."
    if row.team is not None:
        return f"Team {isolate(row.team)} has no queue yet."
    return "You are in no team that has a queue. An admin of a team makes its queues."
