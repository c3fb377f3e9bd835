"""Who is asking, and the end of the token they ask with."""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api.arguments import Arguments
from app.api.operator.door import asked_or_empty, bp
from app.domain.values import rfc3339, rfc3339_or_none
from app.edge.deps import database, human, operator_token
from app.transactions import oauth_grants, people


@bp.get("/me")
def read_me() -> ResponseReturnValue:
    """The human, and the token of this request without its secret."""
    token = operator_token()
    return jsonify(
        human_id=str(human().id),
        display_name=human().display_name,
        email=human().email,
        token={
            "name": token.name,
            "kind": token.kind,
            "created_at": rfc3339(token.created_at),
            "last_used_at": rfc3339_or_none(token.last_used_at),
        },
    )


@bp.delete("/token")
def revoke_token() -> ResponseReturnValue:
    """Revoke the token of this request; it opens nothing from the next one on.

    Of an OAuth grant that is the whole of it: no refresh token brings it back.
    """
    asked_or_empty(Arguments)
    token = operator_token()
    if token.grant_id is None:
        people.revoke_operator_token(database(), human(), token.token_hash)
    else:
        oauth_grants.revoke(database(), human(), str(token.grant_id))
    return jsonify(revoked=True)
