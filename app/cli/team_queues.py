"""`team queue`: the queues a team shares."""

from __future__ import annotations

import click

from app.cli.frame import Branch, agreed, operator, pass_host
from app.cli.host import Host
from app.cli.output import Answer, listed, show, table, word
from app.cli.team_words import SLUG, team_path
from app.domain.queues import TeamQueue
from app.domain.values import Json


@click.group(cls=Branch)
def queue() -> None:
    """Queues that a team shares.

    Its endpoints, and those of its members, may drain them.
    """


@queue.command("list")
@SLUG
@pass_host
def list_queues(host: Host, slug: str) -> None:
    """List the queues of a team and the endpoints that drain them."""
    show(
        operator(host).get(team_path(slug, "queues")),
        lambda body: table(
            ("ID", "QUEUE", "BUDGET", "ENDPOINTS"),
            [_row(one) for one in listed(body, "queues")],
            hint="No queues; `switchboard team queue create SLUG NAME` makes one.",
        ),
    )


@queue.command("create")
@SLUG
@click.argument("name")
@pass_host
def create(host: Host, slug: str, name: str) -> None:
    """Make a queue of a team; nothing happens when it is there already."""
    answer = operator(host).post(team_path(slug, "queues"), {"name": name})
    made = "is made" if answer.status == 201 else "was there already"
    named = str(TeamQueue(slug, name))
    show(answer, lambda body: [f"{word(body.get('queue'), named)} {made}."])


@queue.command("delete")
@SLUG
@click.argument("name")
@click.option("-y", "--yes", "sure", is_flag=True, help="Do not ask.")
@pass_host
def delete(host: Host, slug: str, name: str, *, sure: bool) -> None:
    """Delete a queue that holds no open todo, with its budget."""
    server, named = operator(host), str(TeamQueue(slug, name))
    if agreed(f"Delete {named} for good?", skip=sure):
        answer = server.delete(team_path(slug, "queues", name))
        show(answer, lambda _: [f"{named} is deleted."])


def push_to_team(host: Host, slug: str, name: str, body: dict[str, Json]) -> Answer:
    """POST a todo into the queue `name` of a team; `body` names no queue."""
    return operator(host).post(team_path(slug, "queues", name, "todos"), body)


def _row(one: dict[str, Json]) -> tuple[str, ...]:
    return (
        word(one.get("id")),
        word(one.get("queue")),
        word(one.get("has_policy")),
        word([each.get("slug") for each in listed(one, "drained_by")]),
    )
