"""An app as a test plays it: registered, asking, and trading what a human's yes was worth."""

from __future__ import annotations

import base64
import hashlib
import uuid
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

from app.db.database import Database
from app.domain.callers import Endpoint, Human
from app.domain.oauth import AuthorizeRequest, Fault
from app.transactions import oauth, oauth_tokens
from app.transactions.oauth_tokens import Issued, Redemption, Renewal
from tests.support.client import BASE_URL
from tests.support.make import Make

CALLBACK = "http://127.0.0.1:43117/callback"
VERIFIER = "a-verifier-of-forty-three-characters-or-more"
OPERATOR = f"{BASE_URL}/api"
AGENT = f"{BASE_URL}/agent/v1"


def proven_by(verifier: str) -> str:
    """The S256 challenge of a verifier, worked out anew: a fault of ours must not hide here."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class App:
    """A registered client of one redirect URI, over one database."""

    db: Database
    client_id: str
    callback: str = CALLBACK

    def request(self, resource: str = OPERATOR, **changed: object) -> AuthorizeRequest:
        """What the app asks for, right in every part but those given otherwise."""
        asked = AuthorizeRequest(
            base_url=BASE_URL, response_type="code", client_id=self.client_id,
            redirect_uri=self.callback, state="the state", resource=resource,
            code_challenge=proven_by(VERIFIER), code_challenge_method="S256",
        )
        return replace(asked, **changed)  # type: ignore[arg-type]

    def allowed(self, human: Human, endpoint: Endpoint | None = None,
                verbs: tuple[str, ...] = ("claim",), resource: str | None = None) -> str:
        """The code of a human's yes: as the human, or as an endpoint with some verbs."""
        asked = self.request(resource or (AGENT if endpoint else OPERATOR))
        if endpoint is None:
            return code_in(oauth.allow(self.db, human, asked))
        url = oauth.allow(self.db, human, asked, endpoint_id=str(endpoint.id), verbs=verbs)
        return code_in(url)

    def redemption(self, code: str, **changed: object) -> Redemption:
        """The code with all that it is bound to, but for what is given otherwise."""
        asked = Redemption(code=code, client_id=self.client_id, redirect_uri=self.callback,
                           challenge=proven_by(VERIFIER), resource=None, base_url=BASE_URL)
        return replace(asked, **changed)  # type: ignore[arg-type]

    def redeem(self, code: str, **changed: object) -> Issued | Fault:
        """Trades a code."""
        return oauth_tokens.redeem(self.db, self.redemption(code, **changed))

    def refresh(self, token: str, **changed: object) -> Issued | Fault:
        """Trades a refresh token."""
        asked = Renewal(refresh_token=token, client_id=self.client_id, scope=None, resource=None,
                        base_url=BASE_URL)
        return oauth_tokens.refresh(self.db, replace(asked, **changed))  # type: ignore[arg-type]

    def tokens(self, human: Human, endpoint: Endpoint | None = None,
               verbs: tuple[str, ...] = ("claim",)) -> Issued:
        """The tokens of a fresh grant."""
        return had(self.redeem(self.allowed(human, endpoint, verbs)))


def an_app(db: Database, make: Make, *, name: str = "an app", callback: str = CALLBACK) -> App:
    """Registers one."""
    client_id = str(uuid.uuid4())
    make.run("insert into oauth_clients (client_id, client_name, redirect_uris)"
             " values (%s, %s, %s)", client_id, name, [callback])
    return App(db, client_id, callback)


def code_in(url: str) -> str:
    """The code a redirect URL carries."""
    return parse_qs(urlsplit(url).query)["code"][0]


def had(issued: Issued | Fault) -> Issued:
    """What was issued; a refusal fails the test."""
    assert isinstance(issued, Issued), issued
    return issued


def fault(issued: Issued | Fault) -> str:
    """The code of a refusal; tokens fail the test."""
    assert isinstance(issued, Fault), issued
    return issued.error
