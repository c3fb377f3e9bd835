"""An app that asks to act for a person: registered, with the address its request leads to."""

from __future__ import annotations

import base64
import hashlib
import uuid
from dataclasses import dataclass
from urllib.parse import urlencode

from app.domain.callers import Endpoint, Human
from tests.support.client import BASE_URL
from tests.support.make import Make

CALLBACK = "http://127.0.0.1:43117/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()[:-1]


@dataclass(frozen=True, slots=True)
class App:
    """A registered client, and the path of each request it can make."""

    client_id: str
    uri: str = CALLBACK
    base_url: str = BASE_URL

    def asks(self, target: str = "/agent/v1", /, **more: str | None) -> str:
        """The path of an authorization request for a resource of ours; None leaves one out."""
        asked: dict[str, str | None] = {
            "response_type": "code", "client_id": self.client_id, "redirect_uri": self.uri,
            "state": "the state", "code_challenge": CHALLENGE, "code_challenge_method": "S256",
            "resource": self.base_url + target, **more,
        }  # fmt: skip
        return "/oauth/authorize?" + urlencode(
            [(name, text) for name, text in asked.items() if text is not None])


def app_called(
    make: Make, name: str = "Widget agent", uri: str = CALLBACK, base_url: str = BASE_URL
) -> App:
    """Registers a client that knows a server by its base URL."""
    client_id = f"client-{uuid.uuid4().hex}"
    make.run("insert into oauth_clients (client_id, client_name, redirect_uris)"
             " values (%s, %s, %s)", client_id, name, [uri])
    return App(client_id, uri, base_url)


def grant(make: Make, subject: Human | Endpoint, name: str = "Widget agent") -> uuid.UUID:
    """A live grant of an app that acts as a person, or as an endpoint with all its verbs."""
    made, app = uuid.uuid4(), app_called(make, name)
    is_agent = isinstance(subject, Endpoint)
    make.run(
        "insert into oauth_tokens (token_hash, grant_id, client_id, human_id, endpoint_id,"
        " scope_verbs, granted_by_human_id, expires_at, refresh_expires_at) values"
        " (%s, %s, %s, %s, %s, %s, %s, clock() + interval '1 hour', clock() + interval '30 days')",
        hashlib.sha256(made.bytes).hexdigest(), made, app.client_id,
        None if is_agent else subject.id, subject.id if is_agent else None,
        sorted(subject.verbs) if isinstance(subject, Endpoint) else None,
        subject.vended_by_human_id if isinstance(subject, Endpoint) else subject.id)
    return made
