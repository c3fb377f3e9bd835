"""A human's teams, and what its members may know of one (operator-api.md, "Teams")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Connection, Database, many, one, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound, RoleRequired
from app.domain.references import endpoint_reference, parse_uuid
from app.domain.teams import rank
from app.domain.values import Json

SQL = load("team_list")


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamRow:
    """A team as one of its members sees it; `role` is theirs."""

    id: UUID
    slug: str
    display_name: str
    role: str
    members_create_webhooks: bool
    is_suspended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamDetail:
    """A team, and how many humans, team queues and active endpoints it has."""

    team: TeamRow
    members: int
    queues: int
    endpoints: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One human of a team with the strongest role held there, and the source it comes from.

    `by_group`: a group of the sign-in provider puts them in the team, whatever else does.
    """

    human_id: UUID
    display_name: str
    role: str
    source: str
    by_group: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InviteRow:
    """An invite as admins see it; `email` is a label, the link was the proof. `is_backed`: whoever
    made it may still give the role, without which nobody is let in by it.
    """

    id: UUID
    email: str
    role: str
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None
    revoked_at: datetime | None
    is_backed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLinkRow:
    """A group of the sign-in provider whose holders have a role in the team."""

    id: UUID
    group: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One change of the team: who made it, what it was, and its facts. `subject_name` is what
    the human it is about is called now, in the team still or not; None when it is about nobody.
    """

    at: datetime
    action: str
    actor_human_id: UUID
    actor_name: str | None
    subject_name: str | None
    detail: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    members: int
    queues: int
    endpoints: int


def list_teams(db: Database, human: Human) -> list[TeamRow]:
    """The human's own teams by slug, suspended ones included."""
    with db.reading() as conn:
        return many(conn, SQL["list_teams"], {"human_id": human.id}, TeamRow)


def get_team(db: Database, human: Human, ref: str) -> TeamDetail:
    """One of the human's teams by slug or id, counted. Raises NotFound, Unavailable."""
    with db.reading() as conn:
        team = find(conn, human, ref)
        counts = one(conn, SQL["count_parts"], _ids(human, team), _Counts)
    if counts is None:
        raise NotFound
    return TeamDetail(
        team=team, members=counts.members, queues=counts.queues, endpoints=counts.endpoints
    )


def get_row(db: Database, human: Human, ref: str, role: str) -> TeamRow:
    """The team alone, for an act on it. Raises NotFound, RoleRequired below `role`, Unavailable."""
    with db.reading() as conn:
        return require(conn, human, ref, role)


def find(conn: Connection, human: Human, ref: str) -> TeamRow:
    """The team as the human's; NotFound outside of it, as for an unknown or suspended one."""
    params = {"human_id": human.id, **endpoint_reference(ref)}
    team = one(conn, SQL["read_team"], params, TeamRow)
    if team is None:
        raise NotFound
    return team


def require(conn: Connection, human: Human, ref: str, role: str) -> TeamRow:
    """As `find`; RoleRequired for a member whose role is below `role`."""
    team = find(conn, human, ref)
    if rank(team.role) < rank(role):
        raise RoleRequired
    return team


def list_members(db: Database, human: Human, ref: str) -> list[MemberRow]:
    """Everybody in the team, the strongest first, then by name. Raises NotFound."""
    with db.reading() as conn:
        return many(conn, SQL["list_members"], _ids(human, find(conn, human, ref)), MemberRow)


def is_only_owner(db: Database, human: Human, ref: str, member_id: UUID) -> bool:
    """Whether the member is the one owner who could run the team. Raises NotFound outside of it."""
    with db.reading() as conn:
        params = {**_ids(human, find(conn, human, ref)), "member_id": member_id}
        return bool(value(conn, SQL["read_is_only_owner"], params))


def list_invites(db: Database, human: Human, ref: str) -> list[InviteRow]:
    """The team's invites, newest first, for an admin. Raises NotFound, RoleRequired."""
    with db.reading() as conn:
        team = require(conn, human, ref, "admin")
        return many(conn, SQL["list_invites"], _ids(human, team), InviteRow)


def list_group_links(db: Database, human: Human, ref: str) -> list[GroupLinkRow]:
    """The team's group links by group, for an admin. Raises NotFound, RoleRequired."""
    with db.reading() as conn:
        team = require(conn, human, ref, "admin")
        return many(conn, SQL["list_group_links"], _ids(human, team), GroupLinkRow)


def did(db: Database, human: Human, team_id: str, action: str) -> bool:
    """Whether the human's own act of the last hour is in the record of the team by that id.

    For a form that arrives twice, also of a team they are not in any more. It tells of nobody
    else's act, nor whether there is such a team.
    """
    params = {"human_id": human.id, "team_id": parse_uuid(team_id), "action": action}
    with db.reading() as conn:
        return bool(value(conn, SQL["read_own_act"], params))


def recent_audit(db: Database, human: Human, ref: str) -> list[AuditRow]:
    """The newest 50 changes of the team, for an admin. Raises NotFound, RoleRequired."""
    with db.reading() as conn:
        team = require(conn, human, ref, "admin")
        return many(conn, SQL["list_audit"], _ids(human, team), AuditRow)


def _ids(human: Human, team: TeamRow) -> dict[str, object]:
    return {"human_id": human.id, "team_id": team.id}
