"""Team queues: made and deleted by an admin or owner of the team (operator-api.md, "Teams")."""

from __future__ import annotations

from app.db.database import Database, run, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import Conflict, NotFound
from app.domain.queues import check_queue_name
from app.reads import team_queues
from app.reads.team_queues import TeamQueueRow
from app.transactions import team_changes

SQL = load("team_queues")


def create(db: Database, human: Human, ref: str, name: str) -> tuple[TeamQueueRow, bool]:
    """Make a queue of the team, or find it: the row, and whether it is new.

    Raises NotFound outside the team, RoleRequired for a plain member, InvalidArgument on `name`,
    Unavailable.
    """
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, "admin")
        checked = check_queue_name(name, field="name")
        params = {"human_id": human.id, "team_id": team.id, "name": checked}
        is_new = run(conn, SQL["insert_queue"], params) == 1
        row = team_queues.read(conn, human, team, checked)
        if is_new:
            team_changes.audit(conn, team.id, human.id, "queue_created", queue=checked)
    if is_new:
        team_changes.note("queue_created", team.id, human.id, queue=checked)
    return row, is_new


def delete(db: Database, human: Human, ref: str, name: str) -> int:
    """Delete a queue of the team that holds no live todo; its id.

    Raises NotFound, RoleRequired for a plain member, Conflict while it holds a pending, claimed or
    parked todo, Unavailable.
    """
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, "admin")
        row = team_queues.read(conn, human, team, name)
        params = {"human_id": human.id, "queue_id": row.id}
        value(conn, SQL["lock_queue"], params)
        if value(conn, SQL["read_has_live_todo"], params):
            raise Conflict("The queue still holds todos that are not finished.")
        if run(conn, SQL["delete_queue"], params) == 0:
            raise NotFound
        team_changes.audit(conn, team.id, human.id, "queue_deleted", queue=row.name)
    team_changes.note("queue_deleted", team.id, human.id, queue=row.name)
    db.feed.changed(row.id)
    return row.id
