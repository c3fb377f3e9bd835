"""`team`: make, change and end teams, and say what an endpoint drains of theirs."""

from __future__ import annotations

import click

from app.cli.frame import Branch, agreed, operator, pass_host, present, segment
from app.cli.host import Host
from app.cli.output import facts, listed, show, table, word
from app.cli.team_words import SLUG, TeamQueueName, team_path
from app.domain.queues import TeamQueue
from app.domain.values import Json

_SWITCH = {"on": True, "off": False}


@click.group(cls=Branch)
def team() -> None:
    """Teams: people who share queues, endpoints and budgets."""


@team.command("list")
@pass_host
def list_teams(host: Host) -> None:
    """List the teams you are in, and as what."""
    show(
        operator(host).get("/teams"),
        lambda body: table(
            ("SLUG", "NAME", "ROLE", "STATE"),
            [
                (word(one.get("slug")), word(one.get("display_name")), word(one.get("role")),
                 _state(one))
                for one in listed(body, "teams")
            ],
            hint="No teams yet; `switchboard team create SLUG` makes one.",
        ),
    )  # fmt: skip


@team.command("show")
@SLUG
@pass_host
def show_team(host: Host, slug: str) -> None:
    """Show one team with its counts; SLUG may be its id."""
    show(operator(host).get(team_path(slug)), _detail)


@team.command("create")
@SLUG
@click.option("--name", metavar="N", help="What people read; the slug when it is not given.")
@pass_host
def create(host: Host, slug: str, name: str | None) -> None:
    """Make a team and be its owner.

    A slug is 3 to 40 lowercase letters, digits and single hyphens.
    """
    body = present({"slug": slug, "display_name": name})
    answer = operator(host).post("/teams", body)
    show(answer, lambda made: [f"{word(made.get('slug'), slug)} is made; you are its owner."])


@team.command("edit")
@SLUG
@click.option("--slug", "new_slug", metavar="S",
              help="A new slug; the old one is out of use for 30 days.")
@click.option("--name", metavar="N", help="What people read.")
@click.option("--members-create-webhooks", "webhooks", type=click.Choice([*_SWITCH]),
              help="Whether members may make webhooks for team queues.")
@pass_host
def edit(
    host: Host, slug: str, new_slug: str | None, name: str | None, webhooks: str | None
) -> None:
    """Change a team; what you do not name stays."""
    body: dict[str, Json] = present({"slug": new_slug, "display_name": name})
    if webhooks is not None:
        body["members_create_webhooks"] = _SWITCH[webhooks]
    if not body:
        raise click.UsageError("Name what to change: --slug, --name, --members-create-webhooks.")
    show(operator(host).patch(team_path(slug), body), _facts)


@team.command("delete")
@SLUG
@click.option("-y", "--yes", "sure", is_flag=True, help="Do not ask.")
@pass_host
def delete(host: Host, slug: str, *, sure: bool) -> None:
    """Delete a team without active endpoints and open todos.

    Its slug rests for 30 days.
    """
    server = operator(host)
    if agreed(f"Delete the team {slug} for good?", skip=sure):
        answer = server.delete(team_path(slug))
        show(answer, lambda body: [f"{word(body.get('slug'), slug)} is deleted."])


@team.command("leave")
@SLUG
@pass_host
def leave(host: Host, slug: str) -> None:
    """Leave a team; what you hold of its queues is released.

    What your endpoints hold of them is released, too.
    """
    answer = operator(host).post(team_path(slug, "leave"))
    show(answer, lambda body: [f"You left {word(body.get('slug'), slug)}."])


@team.command("transfer")
@SLUG
@click.argument("human")
@pass_host
def transfer(host: Host, slug: str, human: str) -> None:
    """Make the member HUMAN owner in your place.

    HUMAN is an id of `team member list`. You stay admin.
    """
    answer = operator(host).post(team_path(slug, "transfer"), {"human_id": human})
    show(answer, lambda body: [f"{human} owns {word(body.get('slug'), slug)};"
                               f" you are {word(body.get('role'))}."])


@team.command("grant")
@click.argument("ref")
@click.argument("queue", type=TeamQueueName())
@pass_host
def grant(host: Host, ref: str, queue: TeamQueue) -> None:
    """Let the endpoint REF drain a team's queue.

    QUEUE is written team:SLUG/NAME.
    """
    answer = operator(host).put(_grant_path(ref, queue), {})
    show(answer, lambda body: [f"{ref} drains {word(body.get('queue'), str(queue))}."])


@team.command("ungrant")
@click.argument("ref")
@click.argument("queue", type=TeamQueueName())
@pass_host
def ungrant(host: Host, ref: str, queue: TeamQueue) -> None:
    """Let REF drain a team's queue no more.

    What it holds of it is released.
    """
    answer = operator(host).delete(_grant_path(ref, queue))
    show(answer, lambda body: [f"{ref} does not drain {word(body.get('queue'), str(queue))}."])


def _grant_path(ref: str, queue: TeamQueue) -> str:
    return f"/endpoints/{segment(ref)}/team-queues/{segment(queue.slug)}/{segment(queue.name)}"


def _state(one: dict[str, Json]) -> str:
    return "suspended" if one.get("suspended") is True else "active"


def _facts(body: dict[str, Json]) -> list[str]:
    return facts(_pairs(body))


def _detail(body: dict[str, Json]) -> list[str]:
    counts = [(name, word(body.get(name))) for name in ("members", "queues", "endpoints")]
    return facts([*_pairs(body), *counts])


def _pairs(body: dict[str, Json]) -> list[tuple[str, str]]:
    may = body.get("members_create_webhooks") is True
    return [
        ("team", word(body.get("slug"))),
        ("id", word(body.get("id"))),
        ("name", word(body.get("display_name"))),
        ("your role", word(body.get("role"))),
        ("state", _state(body)),
        ("members create webhooks", "on" if may else "off"),
    ]
