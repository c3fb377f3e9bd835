"""`team member`, `team invite`, `team group`: who is in a team, and as what."""

from __future__ import annotations

import sys

import click

from app.cli.frame import Branch, agreed, operator, pass_host
from app.cli.host import Host
from app.cli.output import Failure, facts, listed, show, table, word
from app.cli.team_words import SLUG, team_path
from app.domain.teams import LINK_ROLES, ROLES
from app.domain.values import Json

_LINE_LIMIT = 4096  # a link with a token in it is far shorter
_LINK = "/invites/"
NO_INVITE = "No such invite: it is used, revoked, expired or was never one."


@click.group(cls=Branch)
def member() -> None:
    """Who is in a team."""


@member.command("list")
@SLUG
@pass_host
def list_members(host: Host, slug: str) -> None:
    """List the members of a team.

    HUMAN is the id that other commands take.
    """
    _table(host, team_path(slug, "members"), "members",
           ("human_id", "display_name", "role", "source"),
           ("HUMAN", "NAME", "ROLE", "SOURCE"), hint="No members.")  # fmt: skip


@member.command("role")
@SLUG
@click.argument("human")
@click.argument("role", type=click.Choice(ROLES))
@pass_host
def change_role(host: Host, slug: str, human: str, role: str) -> None:
    """Make a member a member, an admin or an owner.

    It holds from their next act on.
    """
    answer = operator(host).patch(team_path(slug, "members", human), {"role": role})
    show(answer, lambda body: [f"{word(body.get('display_name'), human)} is"
                               f" {word(body.get('role'), role)} of {slug}."])


@member.command("remove")
@SLUG
@click.argument("human")
@pass_host
def remove_member(host: Host, slug: str, human: str) -> None:
    """Take a member out of a team.

    What they hold of its queues is released.
    """
    answer = operator(host).delete(team_path(slug, "members", human))
    show(answer, lambda body: [f"{word(body.get('human_id'), human)} is out of {slug}."])


@click.group(cls=Branch)
def invite() -> None:
    """Links that let somebody join a team."""


@invite.command("create")
@SLUG
@click.argument("email")
@click.option("--role", type=click.Choice(ROLES), help="As what they join; member by default.")
@pass_host
def create_invite(host: Host, slug: str, email: str, role: str | None) -> None:
    """Make a link that joins a team.

    It is good once, for 7 days, and shown this once. Nothing is mailed. EMAIL is a label for your
    list; whoever holds the link may use it.
    """
    body: dict[str, Json] = {"email": email, **({"role": role} if role else {})}
    show(operator(host).post(team_path(slug, "invites"), body), _invited)


@invite.command("list")
@SLUG
@pass_host
def list_invites(host: Host, slug: str) -> None:
    """List the invites of a team."""
    names = ("id", "email", "role", "created_at", "expires_at", "accepted_at", "revoked_at")
    _table(host, team_path(slug, "invites"), "invites", names,
           ("ID", "EMAIL", "ROLE", "CREATED", "EXPIRES", "ACCEPTED", "REVOKED"),
           hint="No invites; `switchboard team invite create SLUG EMAIL` makes one.")  # fmt: skip


@invite.command("revoke")
@SLUG
@click.argument("invite_id", metavar="ID")
@click.option("-y", "--yes", "sure", is_flag=True, help="Do not ask.")
@pass_host
def revoke_invite(host: Host, slug: str, invite_id: str, *, sure: bool) -> None:
    """Make the link of an invite worth nothing."""
    server = operator(host)
    if agreed(f"Revoke the invite {invite_id}?", skip=sure):
        answer = server.delete(team_path(slug, "invites", invite_id))
        show(answer, lambda body: [f"{word(body.get('id'), invite_id)} is revoked."])


@invite.command("accept")
@pass_host
def accept_invite(host: Host) -> None:
    """Join a team by a link.

    The link, or the token in it, is read from standard input.
    """
    server, token = operator(host), _read_token()
    try:
        answer = server.post("/invites/accept", {"token": token})
    except Failure as refused:
        if refused.code == "not_found":
            raise Failure(NO_INVITE, body=refused.body) from refused
        raise
    show(answer, lambda body: [f"You are {word(body.get('role'))} of {word(body.get('slug'))}."])


@click.group(cls=Branch)
def group() -> None:
    """Groups of the sign-in provider whose people are in a team."""


@group.command("list")
@SLUG
@pass_host
def list_groups(host: Host, slug: str) -> None:
    """List the groups that are linked to a team."""
    _table(host, team_path(slug, "group-links"), "group_links", ("id", "group", "role"),
           ("ID", "GROUP", "ROLE"),
           hint="No groups; `switchboard team group add SLUG GROUP` links one.")  # fmt: skip


@group.command("add")
@SLUG
@click.argument("name", metavar="GROUP")
@click.option("--role", type=click.Choice(LINK_ROLES), default="member", show_default=True,
              help="As what its people are in the team.")
@pass_host
def add_group(host: Host, slug: str, name: str, role: str) -> None:
    """Let the people of GROUP be in a team.

    Who carried it at their last sign-in is in at once, everybody else from the sign-in that does.
    It must be a group that your own last sign-in carried.
    """
    answer = operator(host).post(team_path(slug, "group-links"), {"group": name, "role": role})
    show(answer, lambda body: [f"{word(body.get('group'), name)} is linked to {slug} as"
                               f" {word(body.get('role'), role)}: {word(body.get('id'))}."])


@group.command("remove")
@SLUG
@click.argument("link_id", metavar="ID")
@pass_host
def remove_group(host: Host, slug: str, link_id: str) -> None:
    """Unlink a group; whoever is in the team by it alone is out at once."""
    answer = operator(host).delete(team_path(slug, "group-links", link_id))
    show(answer, lambda body: [f"{word(body.get('id'), link_id)} is unlinked."])


def _table(
    host: Host, path: str, name: str, keys: tuple[str, ...], heads: tuple[str, ...], *, hint: str
) -> None:
    answer = operator(host).get(path)
    show(answer, lambda body: table(
        heads, [tuple(word(one.get(key)) for key in keys) for one in listed(body, name)], hint=hint
    ))  # fmt: skip


def _invited(body: dict[str, Json]) -> list[str]:
    pairs = [(label, word(body.get(name))) for label, name in (
        ("invite", "id"), ("email", "email"), ("role", "role"), ("expires", "expires_at"),
        ("link", "invite_url"),
    )]  # fmt: skip
    return [*facts(pairs), "Pass the link on now; it is not shown again."]


def _read_token() -> str:
    """The token alone, out of a link or as it is. Raises UsageError when there is none."""
    if sys.stdin.isatty():
        text = str(click.prompt("Invite link", hide_input=True, err=True))
    else:
        text = sys.stdin.readline(_LINE_LIMIT)
    token = text.strip().rpartition(_LINK)[2].strip("/")
    if not token:
        raise click.UsageError("There is no link or token on standard input.")
    return token
