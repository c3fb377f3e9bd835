"""What a client discovers: the authorization server (RFC 8414) and what it protects (RFC 9728)."""

from __future__ import annotations

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

from app.domain import oauth
from app.domain.errors import NotFound
from app.domain.oauth import OPERATOR_SCOPE, SCOPES
from app.domain.values import Json
from app.domain.verbs import GRANTABLE
from app.edge import oauth as urls
from app.edge.deps import state

bp = Blueprint("oauth_metadata", __name__)


@bp.get(urls.SERVER_METADATA)
def show_server() -> ResponseReturnValue:
    """The authorization server: where to ask, and what it takes."""
    return jsonify(server_metadata(state().config.base_url))


@bp.get(f"{urls.RESOURCE_METADATA}/<path:name>")
def show_resource(name: str) -> ResponseReturnValue:
    """One protected resource. Any slug that could be one has its metadata, so that nothing is told
    of what exists; NotFound for a path that names no resource.
    """
    base = state().config.base_url
    resource = oauth.parse_resource(f"{base}/{name}", base)
    if resource is None:
        raise NotFound
    scopes = GRANTABLE if resource.kind == "agent" else (OPERATOR_SCOPE,)
    return jsonify(
        resource=f"{base}/{name}",
        authorization_servers=[base],
        scopes_supported=list(scopes),
        bearer_methods_supported=["header"],
        resource_name="Switchboard",
    )


def server_metadata(base_url: str) -> dict[str, Json]:
    """The document of RFC 8414 for a server reached under `base_url`."""
    return {
        "issuer": base_url,
        "authorization_endpoint": base_url + urls.AUTHORIZE,
        "token_endpoint": base_url + urls.TOKEN,
        "registration_endpoint": base_url + urls.REGISTER,
        "revocation_endpoint": base_url + urls.REVOKE,
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }
