"""Headers fit to store: what a sender proves itself with never reaches a row (ingest.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

REDACTED: Final = "«redacted»"

_SECRET_HEADERS: Final = frozenset(
    {
        "x-hub-signature",
        "x-hub-signature-256",
        "x-gitea-signature",
        "stripe-signature",
        "x-slack-signature",
        "authorization",
        "cookie",
        "x-api-key",
        "x-webhook-token",
    }
)
# A proxy or a browser may repeat the address in a header of its own; the address is the secret.
_TOKEN_IN_TEXT: Final = re.compile(r"([?&]token=)[^&#\s\"']*|(/webhooks/w/)[^/?#\s\"']+", re.I)


def redact(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers fit to store: no signature, no credential, no token, nothing jsonb cannot hold."""
    return {
        holdable(name): REDACTED if name.lower() in _SECRET_HEADERS else _redact_text(text)
        for name, text in headers.items()
    }


def _redact_text(text: str) -> str:
    return _TOKEN_IN_TEXT.sub(
        lambda found: f"{found[1] or found[2]}{REDACTED}", holdable(text)
    )


def holdable(text: str) -> str:
    """Text that jsonb and text columns take: no NUL, no lone surrogate."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
