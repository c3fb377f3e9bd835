"""What every change of a team does: lock its row, write down who did what, say so in the log.

Locks are taken in one order by everybody: the human whose teams are counted, the links of all
teams, the team, its invite, then todos in id order, then memberships.
"""

from __future__ import annotations

from uuid import UUID

from app.db import journal
from app.db.database import Connection, Database, jsonb, one, run, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound, RoleRequired, TeamCeilingReached
from app.domain.references import endpoint_reference
from app.domain.teams import rank
from app.domain.values import Json
from app.reads.teams import MemberRow, TeamRow

SQL = load("team_changes")


def lock(conn: Connection, human: Human, ref: str, role: str) -> TeamRow:
    """Hold the team's row until the commit: two changes of one team come one after the other.

    The role is read after the lock was had, so a change that was waited for counts. Raises
    NotFound outside the team, RoleRequired below `role`, Unavailable.
    """
    params = {"human_id": human.id, **endpoint_reference(ref)}
    value(conn, SQL["lock_team"], params)
    team = one(conn, SQL["read_locked_team"], params, TeamRow)
    if team is None:
        raise NotFound
    if rank(team.role) < rank(role):
        raise RoleRequired
    return team


def member(conn: Connection, team_id: UUID, human_id: UUID | None) -> MemberRow:
    """A human of the locked team with the strongest role held there. Raises NotFound."""
    params = {"team_id": team_id, "human_id": human_id}
    found = one(conn, SQL["read_member"], params, MemberRow)
    if found is None:
        raise NotFound
    return found


def has_other_owner(conn: Connection, team_id: UUID, human_id: UUID) -> bool:
    """Whether somebody beside `human_id` is owner of the locked team."""
    params = {"team_id": team_id, "human_id": human_id}
    return bool(value(conn, SQL["read_has_other_owner"], params))


def put_member(conn: Connection, team_id: UUID, human_id: UUID, role: str) -> None:
    """Write the manual membership of the locked team, or change its role."""
    params = {"team_id": team_id, "human_id": human_id, "role": role}
    run(conn, SQL["upsert_member"], params)


def require_place(db: Database, conn: Connection, human: Human) -> None:
    """Hold the human's row and raise TeamCeilingReached when one team more would be too many.

    Counted are teams created or joined; what a group of the provider gives is not for the human
    to refuse, so it takes no place. Exact: two acts of one human come one after the other.
    """
    params = {"human_id": human.id}
    value(conn, SQL["lock_human"], params)
    joined = value(conn, SQL["count_joined"], params)
    if not isinstance(joined, int) or joined >= db.most_teams_per_human:
        raise TeamCeilingReached


def audit(
    conn: Connection, team_id: UUID, actor_id: UUID, action: str, /, **detail: Json
) -> None:
    """Write one row of the team's record, in the transaction of the change itself."""
    params = {
        "team_id": team_id, "actor_id": actor_id, "action": action, "detail": jsonb(detail)
    }  # fmt: skip
    run(conn, SQL["append_audit"], params)


def note(action: str, team_id: UUID, actor_id: UUID, **facts: object) -> None:
    """After the commit: the change in the log."""
    journal.note(action, team_id=team_id, human_id=actor_id, **facts)
