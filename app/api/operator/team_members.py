"""Members of a team by API: list, change a role, remove (operator-api.md, "Teams")."""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api.arguments import Arguments, Text
from app.api.operator.door import asked, asked_or_empty, bp, queried
from app.domain.values import Json
from app.edge.deps import database, human
from app.reads import teams as lists
from app.reads.teams import MemberRow
from app.transactions import team_members


class SetRole(Arguments):
    """Body of PATCH /teams/{slug}/members/{human_id}."""

    role: Text


@bp.get("/teams/<slug>/members")
def list_members(slug: str) -> ResponseReturnValue:
    """Everybody in a team, for any of its members."""
    queried(Arguments)
    rows = lists.list_members(database(), human(), slug)
    return jsonify(members=[_row(row) for row in rows])


@bp.patch("/teams/<slug>/members/<human_id>")
def set_role(slug: str, human_id: str) -> ResponseReturnValue:
    """Give a member another role."""
    role = asked(SetRole).role
    return jsonify(_row(team_members.set_role(database(), human(), slug, human_id, role)))


@bp.delete("/teams/<slug>/members/<human_id>")
def remove_member(slug: str, human_id: str) -> ResponseReturnValue:
    """Remove a member; the leases they held are released."""
    asked_or_empty(Arguments)
    removed = team_members.remove(database(), human(), slug, human_id)
    return jsonify(human_id=str(removed), removed=True)


def _row(member: MemberRow) -> dict[str, Json]:
    return {
        "human_id": str(member.human_id),
        "display_name": member.display_name,
        "role": member.role,
        "source": member.source,
    }
