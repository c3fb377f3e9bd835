"""Where our OAuth server answers, as its metadata and the 401s say it, and how often it is asked.

Every address begins with SWITCHBOARD_BASE_URL, never with what a request calls us: a forged Host
must not send a client to another authorization server. The well-known part stands before a
resource's path (RFC 8414 3.1, RFC 9728 3.1). Source: identity.md, "OAuth server".
"""

from __future__ import annotations

from app.domain.errors import RateLimited
from app.edge.address import client_address
from app.edge.deps import state

AUTHORIZE = "/oauth/authorize"
TOKEN = "/oauth/token"
REGISTER = "/oauth/register"
REVOKE = "/oauth/revoke"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
RESOURCE_METADATA = "/.well-known/oauth-protected-resource"

_RESOURCES = {"/api/": "/api", "/agent/": "/agent/v1"}


def take_turn() -> None:
    """Before a request of consent, registration, token or revocation: RateLimited when an address
    asks more than 5 times a second after a burst of 20, in this process.
    """
    if not state().limits.oauth.take(client_address()):
        raise RateLimited


def resource_metadata_of(path: str) -> str | None:
    """The metadata of the resource that a request's path belongs to, for its 401; else None."""
    for prefix, resource in _RESOURCES.items():
        if path.startswith(prefix):
            return f"{state().config.base_url}{RESOURCE_METADATA}{resource}"
    return None
