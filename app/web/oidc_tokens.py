"""An ID token, judged: signature, issuer, audience, party, lifetime, nonce; then the person in it.

Pure but for the keys it is given. Source: identity.md, "OIDC login"; OpenID Connect Core 3.1.3.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet
from joserfc.jws import JWSRegistry

from app.domain.errors import InvalidArgument
from app.domain.tokens import NAME_MAX, check_name
from app.domain.values import Json
from app.web.oidc_wire import ProviderFailed

# Signatures by a key of the provider's own. Never `none`, and never HS*: a public key used as a
# shared secret would let anyone sign.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
)  # fmt: skip
LEEWAY_SECONDS = 60
SUBJECT_MAX = 255
EMAIL_MAX = 254
GROUPS_MAX = 500
GROUP_MAX = 255

_KEY_TYPES = ("RSA", "EC")


class TokenRefused(ProviderFailed):
    """The ID token does not hold (502)."""


class UnknownKey(TokenRefused):
    """No key that we know signed the token; the provider may have a new one."""


class NonceWrong(TokenRefused):
    """The ID token is not the answer to this browser's question (400)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a token must say: who made it, for whom, in answer to what; `now` is clock()."""

    issuer: str
    client_id: str
    nonce: str
    access_token: str
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Whom a good token names. `verified_email` only when the provider says so in it."""

    subject: str
    display_name: str
    email: str | None
    verified_email: str | None
    groups: tuple[str, ...]


def import_keys(document: Mapping[str, Json]) -> KeySet:
    """The provider's public keys for signatures; others, and those we cannot read, are left out.

    Raises ProviderFailed when none is left.
    """
    listed = document.get("keys")
    found = [_import_key(each) for each in listed] if isinstance(listed, list) else []
    keys = [key for key in found if key is not None]
    if not keys:
        raise ProviderFailed("no key to check signatures with")
    return KeySet(keys)


def check(token: str, keys: KeySet, expected: Expected, groups_claim: str | None) -> Person:
    """The person an ID token names. Raises UnknownKey, NonceWrong or TokenRefused."""
    try:
        claims = _verified(token, keys, expected)
    except InvalidKeyIdError:
        raise UnknownKey("signed by an unknown key") from None
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as wrong:
        raise _refusal(wrong) from None
    return _person(claims, groups_claim)


def _verified(token: str, keys: KeySet, expected: Expected) -> dict[str, Json]:
    registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    opened = jwt.decode(token, keys, registry=registry)
    claims = CodeIDToken(
        opened.claims,
        opened.header,
        {
            "iss": {"essential": True, "value": expected.issuer},
            "aud": {"essential": True, "value": expected.client_id},
            "sub": {"essential": True},
        },
        {
            "nonce": expected.nonce,
            "client_id": expected.client_id,
            "access_token": expected.access_token,
        },
    )
    claims.validate(now=int(expected.now.timestamp()), leeway=LEEWAY_SECONDS)
    return dict(claims)


def _refusal(wrong: Exception) -> TokenRefused:
    # Authlib names the claim at fault in `claim` or, when it is missing, in the message alone.
    if "nonce" in (getattr(wrong, "claim", None) or str(wrong)):
        return NonceWrong("nonce")
    return TokenRefused(f"{type(wrong).__name__} {getattr(wrong, 'claim', '') or ''}".strip())


def _import_key(listed: Json) -> Key | None:
    if not isinstance(listed, dict) or listed.get("use") == "enc":
        return None
    if listed.get("kty") not in _KEY_TYPES:
        return None
    members: dict[str, str | list[str]] = {
        name: text for name, text in listed.items() if isinstance(text, str)
    }
    try:
        return JWKRegistry.import_key(members)
    except (JoseError, ValueError, TypeError, KeyError):
        return None


def _person(claims: Mapping[str, Json], groups_claim: str | None) -> Person:
    subject = _text(claims.get("sub"), SUBJECT_MAX)
    if subject is None or subject != claims.get("sub"):
        raise TokenRefused("the subject cannot be stored")
    email = _text(claims.get("email"), EMAIL_MAX)
    names = (claims.get("name"), claims.get("preferred_username"), email, subject)
    shown = (_text(name, NAME_MAX) for name in names)
    return Person(
        subject=subject,
        display_name=next((name for name in shown if name), "Somebody"),
        email=email,
        verified_email=email if claims.get("email_verified") is True else None,
        groups=_groups(claims.get(groups_claim)) if groups_claim else (),
    )


def _groups(claim: Json) -> tuple[str, ...]:
    listed = claim if isinstance(claim, list) else [claim]
    named = (_text(each, GROUP_MAX) for each in listed[:GROUPS_MAX])
    return tuple(dict.fromkeys(name for name in named if name))


def _text(claim: Json, limit: int) -> str | None:
    if not isinstance(claim, str):
        return None
    try:
        return check_name(claim, limit=limit)
    except InvalidArgument:
        return None
