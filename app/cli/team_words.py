"""What the team commands share: a team's place in a path, and how a team's queue is written."""

from __future__ import annotations

import click

from app.cli.frame import segment
from app.domain.queues import TeamQueue, parse_team_queue

SLUG = click.argument("slug")
"""The team a command is about, by slug or id."""


class TeamQueueName(click.ParamType[TeamQueue]):
    """`team:SLUG/NAME`; a name may contain more slashes (R50)."""

    name = "team:SLUG/NAME"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> TeamQueue:
        """Its two parts. Anything else is wrong usage."""
        if isinstance(value, TeamQueue):
            return value
        found = parse_team_queue(str(value))
        if found is None:
            self.fail(f"{str(value)!r} names no team's queue; write team:SLUG/NAME.", param, ctx)
        return found

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """How usage names it."""
        return self.name


def team_path(slug: str, *rest: str) -> str:
    """The path of a team below /api/v1, and of what is under it; no word can leave its place."""
    return "/".join(["/teams", *(segment(one) for one in (slug, *rest))])
