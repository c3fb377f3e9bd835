"""What is stored of a secret (its hash and a short prefix), and how a name becomes a slug."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from app.domain.errors import InvalidArgument
from app.domain.ink import has_ink

ENDPOINT_PREFIX = "sbk_"
OPERATOR_PREFIX = "sbo_"
CODE_PREFIX = "sbc_"
ACCESS_PREFIX = "sba_"
REFRESH_PREFIX = "sbr_"
NAME_MAX = 100

_FAMILY_LENGTH = len(REFRESH_PREFIX) + 22  # 128 bits in base64url
_PREFIX_SHOWN = 10
_SLUG_HEAD_MAX = 40


def hash_token(token: str) -> str:
    """SHA-256 of a token in hex: all that the database keeps of it (identity.md)."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def family_of(refresh_token: str) -> str:
    """The part that all refresh tokens of one grant share, whatever text is given."""
    return refresh_token[:_FAMILY_LENGTH]


def display_prefix(token: str) -> str:
    """The first ten characters of a credential, enough to recognise it and useless otherwise."""
    return token[:_PREFIX_SHOWN]


def check_name(name: str, field: str = "name", limit: int = NAME_MAX) -> str:
    """A trimmed name of 1 to `limit` characters, at least one to be seen and none a control
    character, else InvalidArgument on `field`.
    """
    trimmed = name.strip()
    if not has_ink(trimmed):
        raise InvalidArgument(f"{field}: must not be blank.", field=field)
    if len(trimmed) > limit:
        raise InvalidArgument(f"{field}: at most {limit} characters.", field=field)
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in trimmed):
        raise InvalidArgument(f"{field}: no control characters.", field=field)
    return trimmed


def slugify(name: str) -> str:
    """Lowercase letters, digits and single hyphens of a name, at most 40; `agent` when none are
    left. The random tail is the caller's (data.md, endpoints.slug).
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    head = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_SLUG_HEAD_MAX].strip("-")
    return head or "agent"
