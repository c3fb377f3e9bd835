"""An ID token is taken only when every part of it holds; each forgery here is one part that does
not.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from app.web import oidc_tokens
from app.web.oidc_tokens import Expected, NonceWrong, TokenRefused, UnknownKey
from app.web.oidc_wire import ProviderFailed

NOW = datetime(2026, 9, 3, 12, 0, tzinfo=UTC)
AT = int(NOW.timestamp())
KEY = RSAKey.generate_key(2048, {"kid": "k1"})
OTHER = RSAKey.generate_key(2048, {"kid": "k1"})
KEYS = KeySet([KEY])
EXPECTED = Expected(issuer="https://id.example", client_id="sb", nonce="n-1",
                    access_token="", now=NOW)  # fmt: skip
GOOD: dict[str, Any] = {"iss": "https://id.example", "aud": "sb", "sub": "s-1", "nonce": "n-1",
                        "iat": AT, "exp": AT + 300}  # fmt: skip


def signed(claims: dict[str, Any], key: Any = KEY, alg: str = "RS256", **header: Any) -> str:
    """A token over the claims that are not None."""
    present = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode({"alg": alg, "kid": key.kid, **header}, present, key, [alg])


def raw(header: dict[str, Any], claims: Any, signature: str = "") -> str:
    """A token put together by hand."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
             for part in (header, claims)]  # fmt: skip
    return ".".join([*parts, signature])


def by_hand(header: dict[str, Any], claims: Any) -> str:
    """A token with a true signature of KEY over anything."""
    head = raw(header, claims).rstrip(".")
    mark = KEY.private_key.sign(head.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{head}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


def test_a_token_made_by_hand_can_be_good() -> None:
    assert check(by_hand({"alg": "RS256", "kid": "k1"}, GOOD)).subject == "s-1"


def shared(secret: bytes) -> str:
    """A token signed with HS256, as a careless client would take it for the key's own."""
    head = raw({"alg": "HS256", "kid": "k1"}, GOOD).rstrip(".")
    mark = hmac.digest(secret, head.encode(), "sha256")
    return f"{head}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


def check(token: str, keys: KeySet = KEYS, groups: str | None = None) -> oidc_tokens.Person:
    """The person of a token, as judged at NOW."""
    return oidc_tokens.check(token, keys, EXPECTED, groups)


def test_a_good_token_names_its_person() -> None:
    person = check(signed(GOOD | {"name": " Ana Ng ", "email": "Ana@Example.org",
                                  "email_verified": True, "roles": ["night", "", 7, "night"]}),
                   groups="roles")  # fmt: skip

    assert (person.subject, person.display_name) == ("s-1", "Ana Ng")
    assert person.email == person.verified_email == "Ana@Example.org"
    assert person.groups == ("night",)


@pytest.mark.parametrize(("key", "alg"), [
    (KEY, "PS256"), (KEY, "RS512"), (ECKey.generate_key("P-256", {"kid": "e"}), "ES256"),
])
def test_every_signature_by_a_key_of_the_providers_own_is_taken(key: Any, alg: str) -> None:
    assert check(signed(GOOD, key, alg), KeySet([key])).subject == "s-1"


FORGED: dict[str, Callable[[], str]] = {
    "of another issuer": lambda: signed(GOOD | {"iss": "https://id.example/"}),
    "without issuer": lambda: signed(GOOD | {"iss": None}),
    "for another client": lambda: signed(GOOD | {"aud": "other"}),
    "for other clients": lambda: signed(GOOD | {"aud": ["other", "sb2"]}),
    "for nobody": lambda: signed(GOOD | {"aud": []}),
    "without audience": lambda: signed(GOOD | {"aud": None}),
    "for several without a party": lambda: signed(GOOD | {"aud": ["sb", "other"]}),
    "given to another party": lambda: signed(GOOD | {"azp": "other"}),
    "given to a list of parties": lambda: signed(GOOD | {"azp": ["sb"]}),
    "expired": lambda: signed(GOOD | {"exp": AT - 61}),
    "without end": lambda: signed(GOOD | {"exp": None}),
    "with an end in words": lambda: signed(GOOD | {"exp": "tomorrow"}),
    "with an end that is true": lambda: signed(GOOD | {"exp": True}),
    "made in the future": lambda: signed(GOOD | {"iat": AT + 61}),
    "without a birth": lambda: signed(GOOD | {"iat": None}),
    "not yet valid": lambda: signed(GOOD | {"nbf": AT + 61}),
    "without subject": lambda: signed(GOOD | {"sub": None}),
    "with an empty subject": lambda: signed(GOOD | {"sub": ""}),
    "with a number as subject": lambda: signed(GOOD | {"sub": 7}),
    "with a padded subject": lambda: signed(GOOD | {"sub": " s-1"}),
    "with NUL in the subject": lambda: signed(GOOD | {"sub": "s\0"}),
    "with an endless subject": lambda: signed(GOOD | {"sub": "s" * 256}),
    "signed by a stranger": lambda: signed(GOOD, OTHER),
    "not signed": lambda: raw({"alg": "none"}, GOOD),
    "not signed, None": lambda: raw({"alg": "None", "kid": "k1"}, GOOD, "x"),
    "without algorithm": lambda: raw({"kid": "k1"}, GOOD, "x"),
    "signed with the public key as a secret": lambda: shared(KEY.as_pem(private=False)),
    "with a key of its own in the header": lambda: signed(
        GOOD, OTHER, jwk=OTHER.as_dict(private=False)),
    "with a rule we do not know": lambda: by_hand(
        {"alg": "RS256", "kid": "k1", "crit": ["moon"], "moon": "full"}, GOOD),
    "tampered with": lambda: "".join(
        part if i != 1 else raw({}, GOOD | {"sub": "root"}).split(".")[1]
        for i, part in enumerate([*_split(signed(GOOD))])),
    "that is a list": lambda: by_hand({"alg": "RS256", "kid": "k1"}, []),
    "that is no token": lambda: "hello",
    "that is empty": lambda: "",
    "with five parts": lambda: "a.b.c.d.e",
    "not of ASCII": lambda: "\u00e9.\u00e9.\u00e9",
    "that is huge": lambda: signed(GOOD | {"pad": "x" * 200_000}),
}  # fmt: skip


def _split(token: str) -> list[str]:
    head, body, tail = token.split(".")
    return [head + ".", body, "." + tail]


@pytest.mark.parametrize("forgery", FORGED)
def test_a_token_is_refused(forgery: str) -> None:
    with pytest.raises(TokenRefused) as refused:
        check(FORGED[forgery]())
    assert not isinstance(refused.value, NonceWrong | UnknownKey)


@pytest.mark.parametrize("nonce", ["n-2", "", None, 7, ["n-1"]])
def test_a_token_that_answers_another_question_is_told_apart(nonce: Any) -> None:
    with pytest.raises(NonceWrong):
        check(signed(GOOD | {"nonce": nonce}))


def test_a_token_of_an_unknown_key_is_told_apart() -> None:
    with pytest.raises(UnknownKey):
        check(signed(GOOD, RSAKey.generate_key(2048, {"kid": "k2"})))


def test_the_edges_of_a_lifetime_are_the_leeway() -> None:
    assert check(signed(GOOD | {"exp": AT - 59, "iat": AT + 60})).subject == "s-1"


def test_the_access_token_that_came_along_must_be_the_one_meant() -> None:
    expected = Expected(issuer="https://id.example", client_id="sb", nonce="n-1",
                        access_token="a", now=NOW)  # fmt: skip

    with pytest.raises(TokenRefused):
        oidc_tokens.check(signed(GOOD | {"at_hash": "wrong"}), KEYS, expected, None)


@pytest.mark.parametrize(("claims", "shown"), [
    ({"name": "\x07", "preferred_username": "ana"}, "ana"),
    ({"name": "x" * 101, "email": "a@b.c"}, "a@b.c"),
    ({"name": ["Ana"]}, "s-1"),
])
def test_a_name_that_cannot_be_shown_gives_way(claims: dict[str, Any], shown: str) -> None:
    assert check(signed(GOOD | claims)).display_name == shown


@pytest.mark.parametrize("claim", [None, "true", 1, False])
def test_an_address_is_verified_only_when_the_provider_says_true(claim: Any) -> None:
    person = check(signed(GOOD | {"email": "a@b.c", "email_verified": claim}))

    assert (person.email, person.verified_email) == ("a@b.c", None)


@pytest.mark.parametrize(("claim", "groups"), [
    ("night", ("night",)), (None, ()), ({"night": True}, ()), (["a\0", "b" * 256, "c"], ("c",)),
    ([f"g{i}" for i in range(600)], tuple(f"g{i}" for i in range(500))),
])
def test_groups_are_texts_and_not_without_end(claim: Any, groups: tuple[str, ...]) -> None:
    assert check(signed(GOOD | {"groups": claim}), groups="groups").groups == groups


def test_only_keys_for_signatures_are_kept() -> None:
    listed = [
        KEY.as_dict(private=False),
        {**OTHER.as_dict(private=False), "use": "enc", "kid": "enc"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"},
        {"kty": "RSA", "n": "!", "e": "AQAB", "kid": "broken"},
        {"kty": "AKP", "kid": "of the future"}, "not a key",
    ]  # fmt: skip

    keys = oidc_tokens.import_keys({"keys": listed})

    assert [key.kid for key in keys] == ["k1"]


@pytest.mark.parametrize("document", [{}, {"keys": []}, {"keys": "all"}, {"keys": [{}]}])
def test_a_document_without_keys_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ProviderFailed):
        oidc_tokens.import_keys(document)
