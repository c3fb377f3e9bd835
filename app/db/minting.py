"""Fresh secrets and identifiers: the only module that asks the system for randomness."""

from __future__ import annotations

import base64
import secrets
import uuid

import uuid_utils

from app.domain.todos import todo_id
from app.domain.tokens import (
    ACCESS_PREFIX,
    CODE_PREFIX,
    ENDPOINT_PREFIX,
    OPERATOR_PREFIX,
    REFRESH_PREFIX,
)

_TAIL_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_TAIL_LENGTH = 4
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def endpoint_credential() -> str:
    """`sbk_` and 32 random bytes in base64url without padding (identity.md)."""
    return ENDPOINT_PREFIX + secrets.token_urlsafe(32)


def operator_token() -> str:
    """`sbo_` and 32 random bytes in base64url without padding (identity.md)."""
    return OPERATOR_PREFIX + secrets.token_urlsafe(32)


def oauth_code() -> str:
    """`sbc_` and 256 random bits in base64url: what a consent is worth, for a minute and once."""
    return CODE_PREFIX + secrets.token_urlsafe(32)


def access_token() -> str:
    """`sba_` and 256 random bits in base64url: opens one surface for an hour."""
    return ACCESS_PREFIX + secrets.token_urlsafe(32)


def refresh_family() -> str:
    """`sbr_` and 128 random bits in base64url: how every refresh token of one grant begins."""
    return REFRESH_PREFIX + secrets.token_urlsafe(16)


def refresh_token(family: str) -> str:
    """A fresh refresh token of that family: 256 random bits in base64url behind it."""
    return family + secrets.token_urlsafe(32)


def link_token() -> str:
    """256 random bits in base64url: a one-time sign-in link, or a session cookie."""
    return secrets.token_urlsafe(32)


def ingest_token() -> str:
    """128 random bits in hex: the last part of an ingest URL (ingest.md)."""
    return secrets.token_hex(16)


def signing_secret() -> str:
    """32 random bytes in hex. The HMAC key is this text as the sender sees it, in ASCII bytes."""
    return secrets.token_hex(32)


def hook_secret() -> str:
    """`whsec_` and 32 random bytes in padded standard base64: the key of a notify hook.

    By the Standard Webhooks rules, and never the inbound secret: there the text itself is the key.
    """
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def message_id() -> str:
    """`msg_` and a fresh ULID: a uuid7's 128 bits in Crockford's base32 are one."""
    number = uuid_utils.uuid7().int
    return "msg_" + "".join(_CROCKFORD[number >> 5 * digit & 31] for digit in range(25, -1, -1))


def slug(head: str) -> str:
    """A slug head and a short random tail, such as `my-agent-k3x9` (data.md)."""
    tail = "".join(secrets.choice(_TAIL_ALPHABET) for _ in range(_TAIL_LENGTH))
    return f"{head}-{tail}"


def new_id() -> uuid.UUID:
    """A random row id."""
    return uuid.uuid4()


def new_todo_id() -> str:
    """A fresh todo id: `td_` and the 32 hex digits of a uuid7 (data.md, "Work")."""
    return todo_id(uuid_utils.uuid7().hex)
