"""Notify hooks as JSON bodies (push.md, "Notify hooks"): never a query string, a secret once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from app.domain.hook_urls import redacted
from app.domain.values import Json, rfc3339, rfc3339_or_none
from app.reads.hooks import HookRow
from app.transactions.hooks import MintedHook, RotatedHook

Body: TypeAlias = "dict[str, Json]"


def minted_hook(made: MintedHook) -> Body:
    """A hook just made, with its secret, this once."""
    return {
        "hook_id": str(made.id),
        "url": redacted(made.url),
        "queues": [*made.queues],
        "ignore_presence": made.ignore_presence,
        "enabled": True,
        "signing_secret": made.signing_secret,
    }


def rotated_hook(made: RotatedHook) -> Body:
    """A hook with its new secret, this once, and until when the old one signs beside it."""
    return {
        "hook_id": str(made.id),
        "signing_secret": made.signing_secret,
        "previous_secret_valid_until": rfc3339(made.previous_valid_until),
        "enabled": True,
    }


def hook_listing(rows: Sequence[HookRow], most: int) -> Body:
    """An endpoint's hooks, and how many it may have."""
    return {
        "hooks": [_hook_row(row) for row in rows],
        "ceiling": {"max": most, "used": len(rows)},
    }


def _hook_row(row: HookRow) -> Body:
    return {
        "hook_id": str(row.id),
        "url": redacted(row.url),
        "queues": [*row.queues],
        "ignore_presence": row.ignore_presence,
        "enabled": row.enabled,
        "disabled_reason": row.disabled_reason,
        "consecutive_failures": row.consecutive_failures,
        "last_status": row.last_status,
        "last_error": row.last_error,
        "last_attempt_at": rfc3339_or_none(row.last_attempt_at),
        "created_at": rfc3339(row.created_at),
        "rotated_at": rfc3339_or_none(row.rotated_at),
    }
