"""Invites to a team by API: list, make, revoke, accept (operator-api.md, "Teams")."""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api.arguments import Arguments, Text
from app.api.operator.door import asked, asked_or_empty, bp, queried
from app.domain.values import Json, rfc3339, rfc3339_or_none
from app.edge.deps import database, human, state
from app.reads import teams as lists
from app.reads.teams import InviteRow
from app.transactions import team_invites


class CreateInvite(Arguments):
    """Body of POST /teams/{slug}/invites; the address is a label."""

    email: Text
    role: Text = "member"


class Accept(Arguments):
    """Body of POST /invites/accept: the last part of an invite's link."""

    token: Text


@bp.get("/teams/<slug>/invites")
def list_invites(slug: str) -> ResponseReturnValue:
    """The invites of a team, for its admins; their links are shown no more."""
    queried(Arguments)
    rows = lists.list_invites(database(), human(), slug)
    return jsonify(invites=[_row(row) for row in rows])


@bp.post("/teams/<slug>/invites")
def create_invite(slug: str) -> ResponseReturnValue:
    """Make an invite; its link is in this answer only."""
    body = asked(CreateInvite)
    made = team_invites.create(database(), human(), slug, body.email, body.role)
    answer: dict[str, Json] = {
        "id": str(made.id),
        "email": made.email,
        "role": made.role,
        "expires_at": rfc3339(made.expires_at),
        "invite_url": f"{state().config.base_url}/invites/{made.token}",
    }
    return jsonify(answer), 201


@bp.delete("/teams/<slug>/invites/<invite_id>")
def revoke_invite(slug: str, invite_id: str) -> ResponseReturnValue:
    """Make an invite worthless."""
    asked_or_empty(Arguments)
    revoked = team_invites.revoke(database(), human(), slug, invite_id)
    return jsonify(id=str(revoked), revoked=True)


@bp.post("/invites/accept")
def accept_invite() -> ResponseReturnValue:
    """Join a team by a live invite."""
    accepted = team_invites.accept(database(), human(), asked(Accept).token)
    return jsonify(slug=accepted.slug, role=accepted.role)


def _row(invite: InviteRow) -> dict[str, Json]:
    return {
        "id": str(invite.id),
        "email": invite.email,
        "role": invite.role,
        "created_at": rfc3339(invite.created_at),
        "expires_at": rfc3339(invite.expires_at),
        "accepted_at": rfc3339_or_none(invite.accepted_at),
        "revoked_at": rfc3339_or_none(invite.revoked_at),
    }
