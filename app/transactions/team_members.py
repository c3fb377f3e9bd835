"""Members of a team: their roles changed, and they themselves removed (identity.md, "Teams")."""

from __future__ import annotations

from uuid import UUID

from app.db.database import Connection, Database
from app.domain.callers import Human
from app.domain.errors import Conflict, LastOwner
from app.domain.references import parse_uuid
from app.domain.teams import check_role, rank, require_grant
from app.reads.teams import MemberRow
from app.transactions import membership, team_changes


def set_role(db: Database, human: Human, ref: str, member_id: str, role: str) -> MemberRow:
    """Give a member another role; the member as they are now.

    Raises NotFound for who is no member, RoleRequired, RoleCeiling from or to a role above one's
    own, LastOwner, InvalidArgument on `role`, Conflict for a role below what a group gives.
    """
    wanted = check_role(role)
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, "admin")
        before = team_changes.member(conn, team.id, parse_uuid(member_id))
        require_grant(team.role, before.role, wanted)
        if before.role == "owner" and wanted != "owner":
            _require_other_owner(conn, team.id, before.human_id)
        if before.role != wanted:
            team_changes.put_member(conn, team.id, before.human_id, wanted)
            team_changes.audit(
                conn,
                team.id,
                human.id,
                "role_changed",
                human_id=str(before.human_id),
                role=[before.role, wanted],
            )
        after = team_changes.member(conn, team.id, before.human_id)
        if rank(after.role) > rank(wanted):
            raise Conflict(
                f"A group of the sign-in provider gives this person the role {after.role}."
            )
    if before.role != wanted:
        team_changes.note("role_changed", team.id, human.id, member=after.human_id, role=wanted)
    return after


def remove(db: Database, human: Human, ref: str, member_id: str) -> UUID:
    """Remove a member, whatever their membership comes from, and release what they held; their id.

    All in one transaction; one bell after it. A group of the sign-in provider brings them back at
    their next sign-in: remove them from the group, or the link. Raises NotFound, RoleRequired,
    RoleCeiling, LastOwner.
    """
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, "admin")
        member = team_changes.member(conn, team.id, parse_uuid(member_id))
        require_grant(team.role, member.role)
        if member.role == "owner":
            _require_other_owner(conn, team.id, member.human_id)
        lost = membership.remove_entirely(conn, team.id, member.human_id)
        team_changes.audit(
            conn,
            team.id,
            human.id,
            "member_removed",
            human_id=str(member.human_id),
            role=member.role,
            released=len(lost.released),
        )
    membership.announce(db, lost)
    team_changes.note("member_removed", team.id, human.id, member=member.human_id)
    return member.human_id


def _require_other_owner(conn: Connection, team_id: UUID, human_id: UUID) -> None:
    if not team_changes.has_other_owner(conn, team_id, human_id):
        raise LastOwner
