"""The pages of teams in words: roles, members, queues, invites and group links."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from app.domain.isolating import isolate
from app.domain.teams import may_grant
from app.reads.team_queues import TeamQueueRow
from app.reads.teams import GroupLinkRow, InviteRow, MemberRow, TeamRow
from app.web.present import Instant, instant

OPEN = "open"

# A slug may spell this; the page that makes a team stands there.
_TAKEN = ("new",)

_SHORT = {
    "member": "works the queues",
    "admin": "also sets things up",
    "owner": "also runs the team",
}
_MAY = {
    "member": (
        "You see the team's queues with what they have used, and its endpoints.",
        "You claim todos of the team's queues and add new ones.",
        "You may let your own endpoints drain the team's queues.",
    ),
    "admin": (
        "You make and delete the team's queues, set their budgets and discard their todos.",
        "You vend and revoke the team's endpoints, with their webhooks, routes and hooks.",
        "You invite and remove members and admins, and change their roles.",
    ),
    "owner": (
        "You give and take the owner role, and link groups of the sign-in provider.",
        "You rename the team, transfer it and delete it.",
    ),
}
_STRENGTHS = tuple(_MAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamLine:
    """One row of the list; `href` is None while nothing of the team may be opened."""

    href: str | None
    name: str
    slug: str
    role: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLine:
    """One member; `change` and `remove` are the ways to the acts, None where there is none."""

    anchor: str
    name: str
    role: str
    source: str
    change: str | None
    change_label: str
    remove: str | None
    remove_label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Words, and where they lead; None to nowhere the viewer may go."""

    href: str | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """One queue of the team and what drains it."""

    anchor: str
    href: str
    name: str
    queue: str
    budget: str
    drainers: list[Link]
    delete: str
    delete_label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InviteLine:
    """One invite; `revoke` is None when there is nothing left to revoke."""

    email: str
    role: str
    state: str
    created: Instant | None
    expires: Instant | None
    revoke: str | None
    revoke_label: str
    no_revoke: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    """One group of the sign-in provider and the role its people have."""

    group: str
    role: str
    remove: str
    remove_label: str


def short(role: str) -> str:
    """What a role is for, in three or four words."""
    return _SHORT[role]


def may(role: str) -> list[str]:
    """What a role lets its holder do, that of the weaker roles included."""
    known = _STRENGTHS[: _STRENGTHS.index(role) + 1]
    return [sentence for each in known for sentence in _MAY[each]]


def named(role: str) -> str:
    """A role with its article."""
    return f"a {role}" if role == "member" else f"an {role}"


def path_of(team: TeamRow) -> str:
    """The path of the team's page: by slug, or by id where another page has that address."""
    return f"/teams/{team.id if team.slug in _TAKEN else team.slug}"


def name_of(team: TeamRow) -> str:
    """The team's name inside a sentence."""
    return isolate(team.display_name)


def team_line(team: TeamRow) -> TeamLine:
    """One of the viewer's teams."""
    return TeamLine(
        href=None if team.is_suspended else path_of(team),
        name=team.display_name,
        slug=team.slug,
        role=team.role,
        state="suspended" if team.is_suspended else "active",
    )


def member_line(team: TeamRow, row: MemberRow, viewer: UUID) -> MemberLine:
    """One member, with the acts that the viewer's role in the team allows."""
    name, path = isolate(row.display_name), f"{path_of(team)}/members/{row.human_id}"
    is_self, may_act = row.human_id == viewer, may_grant(team.role, row.role)
    return MemberLine(
        anchor=f"member-{row.human_id}",
        name=f"{name} (you)" if is_self else row.display_name,
        role=row.role,
        source=source_words(row),
        change=path if may_act else None,
        change_label=f"Change role of {name}",
        remove=f"{path}/remove" if may_act and not is_self else None,
        remove_label=f"Remove {name} from {name_of(team)}",
    )


def source_words(row: MemberRow) -> str:
    """What the membership comes from."""
    if row.source != "manual":
        return "by a group at sign-in"
    return "added by hand, and by a group at sign-in" if row.by_group else "added by hand"


def queue_line(team: TeamRow, row: TeamQueueRow, seen: Collection[UUID]) -> QueueLine:
    """One queue of the team; `seen` are the endpoints whose pages the viewer may open."""
    return QueueLine(
        anchor=f"queue-{row.id}",
        href=f"/queues/{row.id}",
        name=row.name,
        queue=row.queue,
        budget="has a budget" if row.has_policy else "no budget",
        drainers=[
            Link(
                href=f"/endpoints/{one.endpoint_id}" if one.endpoint_id in seen else None,
                words=one.slug,
            )
            for one in row.drained_by
        ],
        delete=f"{path_of(team)}/queues/{row.id}/delete",
        delete_label=f"Delete queue {isolate(row.name)}",
    )


def invite_line(team: TeamRow, row: InviteRow, state: str, zone: str | None) -> InviteLine:
    """One invite, times in the viewer's zone or UTC; `state` is OPEN, or how it ended."""
    return InviteLine(
        email=row.email,
        role=row.role,
        state=state,
        created=instant(row.created_at, zone),
        expires=instant(row.expires_at, zone),
        revoke=f"{path_of(team)}/invites/{row.id}/revoke" if state == OPEN else None,
        revoke_label=f"Revoke the invite for {isolate(row.email)}",
        no_revoke=f"{state} already",
    )


def group_line(team: TeamRow, row: GroupLinkRow) -> GroupLine:
    """One group link."""
    return GroupLine(
        group=row.group,
        role=row.role,
        remove=f"{path_of(team)}/groups/{row.id}/remove",
        remove_label=f"Unlink group {isolate(row.group)}",
    )


def counted(number: int, one: str, more: str) -> str:
    """A number with its word."""
    return f"1 {one}" if number == 1 else f"{number} {more}"


def name_of_member(row: MemberRow) -> str:
    """A member's name inside a sentence."""
    return isolate(row.display_name)
