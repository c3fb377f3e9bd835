"""The stand-in server as an authorization server, and a browser with a person in front of it."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

import urllib3

from app.domain.values import Json
from tests.cli.fake import Asked, FakeServer, Reply, ok, refused

ME: dict[str, Json] = {
    "human_id": "7c1e", "display_name": "Ada", "email": None,
    "token": {"name": "switchboard", "kind": "oauth", "created_at": "x", "last_used_at": None},
}  # fmt: skip


class OAuth:
    """Answers the routes of RFC 9728, 8414, 7591, 6749 and 7009. `changed` replaces replies by
    path; `metadata` and `protected` change single keys. Access tokens count up: at_1, at_2."""

    def __init__(self, fake: FakeServer):
        self.fake = fake
        self.live: set[str] = set()
        self.refresh_tokens: set[str] = set()
        self.changed: dict[str, Reply] = {}
        self.protected: dict[str, Json] = {}
        self.metadata: dict[str, Json] = {}
        self.expires_in: Json = 3600
        self.challenge = ""
        self._lock = threading.Lock()
        self._made = 0
        fake.script = self._answer

    def at(self, path: str) -> list[Asked]:
        """The requests of one path so far."""
        return [one for one in self.fake.asked if one.path == path]

    def grant(self) -> dict[str, Json]:
        """A fresh pair of tokens, as the token endpoint tells them; the access token is live."""
        with self._lock:
            self._made += 1
            access, refresh = f"at_{self._made}", f"rt_{self._made}"
        self.live.add(access)
        self.refresh_tokens.add(refresh)
        return {"access_token": access, "token_type": "Bearer", "expires_in": self.expires_in,
                "refresh_token": refresh}  # fmt: skip

    def _answer(self, asked: Asked) -> Reply | None:
        if asked.path in self.changed:
            return self.changed[asked.path]
        match asked.path:
            case "/.well-known/oauth-protected-resource/api":
                return ok(**self._resource())
            case "/.well-known/oauth-authorization-server":
                return ok(**self._server())
            case "/oauth/register":
                return Reply(status=201, body={"client_id": "client-1", **asked.body})
            case "/oauth/token":
                return self._token(asked)
            case "/oauth/revoke":
                return Reply(text="")
        return self._api(asked)

    def _resource(self) -> dict[str, Json]:
        url = self.fake.url
        return {"resource": f"{url}/api", "authorization_servers": [url], **self.protected}

    def _server(self) -> dict[str, Json]:
        url = self.fake.url
        return {
            "issuer": url, "authorization_endpoint": f"{url}/oauth/authorize",
            "token_endpoint": f"{url}/oauth/token", "revocation_endpoint": f"{url}/oauth/revoke",
            "registration_endpoint": f"{url}/oauth/register",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True, **self.metadata,
        }  # fmt: skip

    def _token(self, asked: Asked) -> Reply:
        given = asked.body
        if given.get("grant_type") == "authorization_code":
            digest = hashlib.sha256(str(given.get("code_verifier")).encode()).digest()
            proven = base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.challenge
            return ok(**self.grant()) if proven and given["code"] == "c0de" else _invalid()
        spent = str(given.get("refresh_token"))
        if spent not in self.refresh_tokens:
            return _invalid()
        self.refresh_tokens.discard(spent)
        return ok(**self.grant())

    def _api(self, asked: Asked) -> Reply | None:
        token = asked.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.live:
            return refused(401, "unauthenticated", "A valid credential is required.")
        return {
            "/api/v1/me": ok(**ME), "/api/v1/token": ok(revoked=True),
            "/api/v1/teams": Reply(status=201, body={"slug": "crew"}),
        }.get(asked.path)  # fmt: skip


def _invalid() -> Reply:
    return Reply(status=400, body={"error": "invalid_grant", "error_description": "Not known."})


class Person:
    """Stands for `oauth_login.browse`: looks at the address, and comes back with `answer`.

    `iss` None leaves it out. What the loopback door said is in `pages`, as (status, body).
    """

    def __init__(self, oauth: OAuth, answer: Mapping[str, str]):
        self.oauth = oauth
        self.answer = answer
        self.iss: str | None = oauth.fake.url
        self.opened: list[str] = []
        self.asked: dict[str, str] = {}
        self.pages: list[tuple[int, str]] = []
        self.headers: Mapping[str, str] = {}

    def open(self, address: str) -> bool:
        """Open the address; answer whether a browser could."""
        self.opened.append(address)
        self.asked = dict(parse_qsl(urlsplit(address).query, strict_parsing=True))
        self.oauth.challenge = self.asked["code_challenge"]
        self.before()
        self.visit(self.back())
        return True

    def before(self) -> None:
        """What happens at the door before the answer; nothing."""

    def back(self, **changed: str) -> str:
        """The address to come back to."""
        iss = {} if self.iss is None else {"iss": self.iss}
        said = {**self.answer, "state": self.asked["state"], **iss, **changed}
        return f"{self.asked['redirect_uri']}?{urlencode(said)}"

    def visit(self, address: str, **headers: str) -> None:
        """GET an address, and remember what came."""
        response = urllib3.request("GET", address, headers=headers, retries=False, timeout=10)
        self.pages.append((response.status, response.data.decode()))
        self.headers = response.headers
