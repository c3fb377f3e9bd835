"""Stored secrets, encrypted at rest, and the lease tokens derived from the same key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PREFIX = "enc:v1:"
_NONCE_BYTES = 12
_LEASE_TOKEN_BYTES = 16


class SealBroken(Exception):
    """A stored secret does not open with this server's key."""


class Sealer:
    """AES-256-GCM over stored secrets, bound to where they are stored."""

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError("the encryption key must be 32 bytes")
        self._cipher = AESGCM(key)
        self._lease_key = hmac.digest(key, b"switchboard lease token", "sha256")

        self._once_key = hmac.digest(key, b"switchboard once", "sha256")

    def seal(self, text: str, context: str) -> str:
        """Encrypt text; `context` (a row's id) must be given again to open it."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, text.encode(), context.encode())
        return PREFIX + base64.b64encode(nonce + sealed).decode()

    def open(self, sealed: str, context: str) -> str:
        """Decrypt what seal made. Raises SealBroken for another key, context or format."""
        if not sealed.startswith(PREFIX):
            raise SealBroken
        try:
            raw = base64.b64decode(sealed[len(PREFIX) :], validate=True)
            opened = self._cipher.decrypt(
                raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], context.encode()
            )
        except (ValueError, InvalidTag):
            raise SealBroken from None
        return opened.decode()

    def lease_token(self, todo_id: str, seq: int, claim_key: str | None) -> str:
        """Derive the lease token of one attempt: 16 bytes of HMAC-SHA256 in base64url.

        Derived, never stored, so that a replay by Idempotency-Key answers the same one
        (todos.md, "Fence"; R61).
        """
        message = f"{todo_id}\n{seq}\n{claim_key or ''}".encode()
        digest = hmac.digest(self._lease_key, message, "sha256")[:_LEASE_TOKEN_BYTES]
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


    def once_token(self, human_id: UUID, once: str) -> str:
        """Derive the 32 bytes, in base64url, of a secret that one form mints for one human.

        Whoever sends the form twice gets the same secret twice; nothing but a hash is kept.
        """
        digest = hmac.digest(self._once_key, f"{human_id}\n{once}".encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def token_hash(token: str) -> bytes:
    """The SHA-256 of a lease token, as the attempt row stores it (32 bytes)."""
    return hashlib.sha256(token.encode(errors="replace")).digest()
