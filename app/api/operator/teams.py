"""Teams by API: list, make, change, leave, hand over, delete (operator-api.md, "Teams")."""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api.arguments import Arguments, Text
from app.api.operator.door import asked, asked_or_empty, bp, queried
from app.domain.errors import InvalidArgument
from app.domain.values import Json
from app.edge.deps import database, human
from app.reads import teams as lists
from app.reads.teams import TeamRow
from app.transactions import teams
from app.transactions.teams import TeamChange


class CreateTeam(Arguments):
    """Body of POST /teams."""

    slug: Text
    display_name: Text | None = None


class EditTeam(Arguments):
    """Body of PATCH /teams/{slug}; what is absent or null stays."""

    slug: Text | None = None
    display_name: Text | None = None
    members_create_webhooks: bool | None = None


class Transfer(Arguments):
    """Body of POST /teams/{slug}/transfer: a member, by id."""

    human_id: Text


@bp.get("/teams")
def list_teams() -> ResponseReturnValue:
    """The human's own teams, suspended ones included."""
    queried(Arguments)
    return jsonify(teams=[_row(row) for row in lists.list_teams(database(), human())])


@bp.post("/teams")
def create_team() -> ResponseReturnValue:
    """Make a team, the human as its owner."""
    body = asked(CreateTeam)
    return jsonify(_row(teams.create(database(), human(), body.slug, body.display_name))), 201


@bp.get("/teams/<slug>")
def read_team(slug: str) -> ResponseReturnValue:
    """One team with its numbers, for any of its members."""
    queried(Arguments)
    detail = lists.get_team(database(), human(), slug)
    numbers: dict[str, Json] = {
        "members": detail.members, "queues": detail.queues, "endpoints": detail.endpoints
    }  # fmt: skip
    return jsonify(_row(detail.team) | numbers)


@bp.patch("/teams/<slug>")
def edit_team(slug: str) -> ResponseReturnValue:
    """Rename a team, or say whether its members create webhooks."""
    body = asked(EditTeam)
    change = TeamChange(
        slug=body.slug,
        display_name=body.display_name,
        members_create_webhooks=body.members_create_webhooks,
    )
    if change == TeamChange():
        raise InvalidArgument("Name at least one thing to change.")
    return jsonify(_row(teams.edit(database(), human(), slug, change)))


@bp.delete("/teams/<slug>")
def delete_team(slug: str) -> ResponseReturnValue:
    """Delete a team that has neither an active endpoint nor a live todo."""
    asked_or_empty(Arguments)
    return jsonify(slug=teams.delete(database(), human(), slug), deleted=True)


@bp.post("/teams/<slug>/leave")
def leave_team(slug: str) -> ResponseReturnValue:
    """Leave a team; held leases are released."""
    asked_or_empty(Arguments)
    return jsonify(slug=teams.leave(database(), human(), slug), left=True)


@bp.post("/teams/<slug>/transfer")
def transfer_team(slug: str) -> ResponseReturnValue:
    """Make a member owner and oneself admin."""
    return jsonify(_row(teams.transfer(database(), human(), slug, asked(Transfer).human_id)))


def _row(team: TeamRow) -> dict[str, Json]:
    return {
        "id": str(team.id),
        "slug": team.slug,
        "display_name": team.display_name,
        "role": team.role,
        "members_create_webhooks": team.members_create_webhooks,
        "suspended": team.is_suspended,
    }
