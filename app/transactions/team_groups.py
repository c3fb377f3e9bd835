"""Groups of the sign-in provider that make members (identity.md, "Teams").

What counts of a human are the groups of their last sign-in through the provider, as stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from app.db import minting
from app.db.database import Connection, Database, many, one, run, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import Conflict, GroupNotHeld, NotFound
from app.domain.references import parse_uuid
from app.domain.teams import LINK_ROLES, check_group, check_role
from app.reads.teams import GroupLinkRow
from app.transactions import membership, team_changes
from app.transactions.membership import Given, Lost, Membership

SQL = load("team_groups")

_SOURCE = "oidc_group"
# Any fixed number nobody else locks; spelled from the letters "group".
_LINKS_LOCK = 0x67726F7570


def add(db: Database, human: Human, ref: str, group: str, role: str) -> GroupLinkRow:
    """Let the holders of a group be member or admin of the team.

    Everybody whose last sign-in carried the group is in at once, in the same transaction, and
    nobody else: who was removed from the team and holds another linked group stays out until they
    sign in again. Raises NotFound, RoleRequired, GroupNotHeld unless the human's own last sign-in
    carried it, Conflict on `group` for one that is linked already, InvalidArgument naming the
    field.
    """
    name, wanted = check_group(group), check_role(role, roles=LINK_ROLES)
    with db.transaction() as conn:
        value(conn, SQL["lock_links"], {"key": _LINKS_LOCK})
        team = team_changes.lock(conn, human, ref, "owner")
        if not value(conn, SQL["read_is_held"], {"human_id": human.id, "group": name}):
            raise GroupNotHeld
        params = {"id": minting.new_id(), "team_id": team.id, "group": name, "role": wanted}
        link = one(conn, SQL["insert_link"], params, GroupLinkRow)
        if link is None:
            raise Conflict("group: it is linked to this team already.", field="group")
        team_changes.audit(
            conn, team.id, human.id, "group_linked", id=str(link.id), group=name, role=wanted
        )  # fmt: skip
        given = _settle(conn, many(conn, SQL["read_let_in"], params, Given), human.id)
    for each in given:
        membership.announce(db, each)
    team_changes.note("group_linked", team.id, human.id, link=link.id, role=wanted)
    return link


def remove(db: Database, human: Human, ref: str, link_id: str) -> UUID:
    """Delete a link; whom no other link keeps is out at once, and what they held is released.

    Who holds another linked group keeps the strongest role of those, but never a stronger one than
    they had. All in one transaction; one bell after it. Raises NotFound, RoleRequired.
    """
    with db.transaction() as conn:
        value(conn, SQL["lock_links"], {"key": _LINKS_LOCK})
        team = team_changes.lock(conn, human, ref, "owner")
        params = {"id": parse_uuid(link_id), "team_id": team.id}
        link = one(conn, SQL["delete_link"], params, GroupLinkRow)
        if link is None:
            raise NotFound
        team_changes.audit(
            conn, team.id, human.id, "group_unlinked", id=str(link.id), group=link.group
        )  # fmt: skip
        unlinked = {"team_id": team.id, "group": link.group}
        lost = _settle(conn, many(conn, SQL["read_let_down"], unlinked, Given), human.id)
    for each in lost:
        membership.announce(db, each)
    team_changes.note("group_unlinked", team.id, human.id, link=link.id)
    return link.id


def sync(conn: Connection, human_id: UUID, groups: Sequence[str]) -> list[Lost]:
    """Make a human's memberships by group what the links say of the groups of this sign-in.

    Call it at every sign-in through the provider, in its transaction, after the groups were stored;
    hand what it returns to `membership.announce` after the commit. Of several linked groups of one
    team the strongest role counts. Raises Unavailable.
    """
    value(conn, SQL["lock_links_shared"], {"key": _LINKS_LOCK})
    params = {"human_id": human_id, "groups": list(groups)}
    due = many(conn, SQL["read_due_of_human"], params, Given)
    if not due:
        return []
    conn.execute(SQL["lock_teams"], {"team_ids": [each.team_id for each in due]})
    # In its own statement after the locks: what was waited for may have changed it.
    return _settle(conn, many(conn, SQL["read_due_of_human"], params, Given), human_id)


def _settle(conn: Connection, due: Sequence[Given], actor_id: UUID) -> list[Lost]:
    """Write what is due, each with a row of the team's record; what to announce."""
    gone = [
        Membership(team_id=each.team_id, human_id=each.human_id)
        for each in due
        if each.role is None
    ]
    lost = Lost(is_member_still=True)
    if gone:
        lost = membership.remove_many(conn, gone, (_SOURCE,))
    # A group may hold thousands: two statements for all of them.
    params = {
        "team_ids": [each.team_id for each in due],
        "human_ids": [each.human_id for each in due],
        "roles": [each.role for each in due],
        "actor_id": actor_id,
    }
    run(conn, SQL["upsert_members"], params)
    run(conn, SQL["append_audits"], params)
    return [replace(lost, given=tuple(due))] if due else []
