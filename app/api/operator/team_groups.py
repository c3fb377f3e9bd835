"""Group links of a team by API: list, add, delete (operator-api.md, "Teams")."""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api.arguments import Arguments, Text
from app.api.operator.door import asked, asked_or_empty, bp, queried
from app.domain.values import Json
from app.edge.deps import database, human
from app.reads import teams as lists
from app.reads.teams import GroupLinkRow
from app.transactions import team_groups


class AddLink(Arguments):
    """Body of POST /teams/{slug}/group-links; the role is member or admin."""

    group: Text
    role: Text


@bp.get("/teams/<slug>/group-links")
def list_group_links(slug: str) -> ResponseReturnValue:
    """The groups whose holders are in a team, for its admins."""
    queried(Arguments)
    rows = lists.list_group_links(database(), human(), slug)
    return jsonify(group_links=[_row(row) for row in rows])


@bp.post("/teams/<slug>/group-links")
def add_group_link(slug: str) -> ResponseReturnValue:
    """Let the holders of a group be in the team, at once."""
    body = asked(AddLink)
    return jsonify(_row(team_groups.add(database(), human(), slug, body.group, body.role))), 201


@bp.delete("/teams/<slug>/group-links/<link_id>")
def remove_group_link(slug: str, link_id: str) -> ResponseReturnValue:
    """Delete a link; whom no other link keeps is out at once."""
    asked_or_empty(Arguments)
    removed = team_groups.remove(database(), human(), slug, link_id)
    return jsonify(id=str(removed), deleted=True)


def _row(link: GroupLinkRow) -> dict[str, Json]:
    return {"id": str(link.id), "group": link.group, "role": link.role}
