"""The sign-in provider as one process knows it: its addresses and keys, fetched when needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from authlib.common.errors import AuthlibBaseError
from authlib.oauth2.client import OAuth2Client
from joserfc.jwk import KeySet

from app.domain.values import Json
from app.edge.deps import OidcConfig
from app.web import oidc_tokens
from app.web.oidc_tokens import Expected, Person, UnknownKey
from app.web.oidc_wire import ProviderFailed, Wire

KEEP_SECONDS = 3600.0
RENEW_SECONDS = 60.0
RETRY_SECONDS = 2.0
SCOPE = "openid profile email"

_DISCOVERY = "/.well-known/openid-configuration"
_LONGEST_CODE = 4096
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """What one browser carries to the provider and back, known to nobody else."""

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The provider's addresses, and how it wants us to show who we are."""

    authorization: str
    token: str
    keys: str
    auth_method: str


class Kept(Generic[T]):
    """Something fetched, kept for an hour; a failure is remembered for two seconds.

    One thread fetches at a time, so that a slow provider is asked once, not once per visitor.
    """

    def __init__(self, fetch: Callable[[], T]) -> None:
        self._fetch = fetch
        self._lock = Lock()
        self._held: T | None = None
        self._fetched_at = 0.0
        self._failed: tuple[float, str] | None = None

    def get(self, *, younger_than: float = KEEP_SECONDS) -> T:
        """What is kept when it is young enough, else fetched afresh. Raises ProviderFailed."""
        with self._lock:
            now = time.monotonic()
            if self._held is not None and now - self._fetched_at < younger_than:
                return self._held
            if self._failed is not None and now - self._failed[0] < RETRY_SECONDS:
                raise ProviderFailed(f"{self._failed[1]} (a moment ago)")
            return self._renew()

    def _renew(self) -> T:
        try:
            held = self._fetch()
        except ProviderFailed as failed:
            self._failed = (time.monotonic(), str(failed))
            raise
        self._held, self._fetched_at, self._failed = held, time.monotonic(), None
        return held


class Provider:
    """One provider; asks nothing of it until somebody signs in."""

    def __init__(self, config: OidcConfig) -> None:
        self._config = config
        self._wire = Wire()
        self._places = Kept(self._fetch_places)
        self._keys = Kept(self._fetch_keys)

    def departure(self, trip: Trip) -> str:
        """The provider's address to send a browser to. Raises ProviderFailed."""
        places = self._places.get()
        url, _ = self._client(places).create_authorization_url(
            places.authorization, state=trip.state, nonce=trip.nonce, code_verifier=trip.verifier
        )
        return str(url)

    def arrival(self, code: str, trip: Trip, now: datetime) -> Person:
        """Trade a code for the person it stands for. Raises ProviderFailed, NonceWrong."""
        if len(code) > _LONGEST_CODE:
            raise ProviderFailed("the code is too long")
        answer = self._exchange(code, trip)
        token, access = answer.get("id_token"), answer.get("access_token")
        if not isinstance(token, str):
            raise ProviderFailed("no ID token")
        expected = Expected(
            issuer=self._config.issuer,
            client_id=self._config.client_id,
            nonce=trip.nonce,
            access_token=access if isinstance(access, str) else "",
            now=now,
        )
        return self._judge(token, expected)

    def _judge(self, token: str, expected: Expected) -> Person:
        groups = self._config.groups_claim
        try:
            return oidc_tokens.check(token, self._keys.get(), expected, groups)
        except UnknownKey:
            renewed = self._keys.get(younger_than=RENEW_SECONDS)
            return oidc_tokens.check(token, renewed, expected, groups)

    def _exchange(self, code: str, trip: Trip) -> dict[str, Json]:
        places = self._places.get()
        try:
            answer = self._client(places).fetch_token(
                places.token, code=code, code_verifier=trip.verifier,
                grant_type="authorization_code",
            )  # fmt: skip
        except (AuthlibBaseError, ValueError, TypeError) as refused:
            raise ProviderFailed(f"the exchange: {type(refused).__name__}") from None
        return dict(answer)

    def _client(self, places: Places) -> OAuth2Client:
        return OAuth2Client(
            self._wire,
            client_id=self._config.client_id,
            client_secret=self._config.client_secret,
            token_endpoint_auth_method=places.auth_method,
            scope=SCOPE,
            redirect_uri=self._config.redirect_url,
            code_challenge_method="S256",
        )

    def _fetch_places(self) -> Places:
        issuer = self._config.issuer
        document = self._wire.get_object(issuer.rstrip("/") + _DISCOVERY)
        if document.get("issuer") != issuer:
            raise ProviderFailed("it calls itself by another name than SWITCHBOARD_OIDC_ISSUER")
        return Places(
            authorization=self._address(document, "authorization_endpoint"),
            token=self._address(document, "token_endpoint"),
            keys=self._address(document, "jwks_uri"),
            auth_method=self._auth_method(document),
        )

    def _fetch_keys(self) -> KeySet:
        return oidc_tokens.import_keys(self._wire.get_object(self._places.get().keys))

    def _address(self, document: dict[str, Json], name: str) -> str:
        url = document.get(name)
        # An issuer on this machine may speak http; from anywhere else it is https or nothing.
        allowed = {"https", urlsplit(self._config.issuer).scheme}
        if not isinstance(url, str) or urlsplit(url).scheme not in allowed:
            raise ProviderFailed(f"no usable {name}")
        return url

    def _auth_method(self, document: dict[str, Json]) -> str:
        if self._config.client_secret is None:
            return "none"
        offered = document.get("token_endpoint_auth_methods_supported")
        methods = offered if isinstance(offered, list) else ["client_secret_basic"]
        if "client_secret_basic" in methods or "client_secret_post" not in methods:
            return "client_secret_basic"
        return "client_secret_post"
