"""The JSON value type and the one spelling of an instant, shared by every surface."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def rfc3339(instant: datetime) -> str:
    """Spell an instant as RFC 3339 in UTC with whole seconds and a Z (contract README)."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_or_none(instant: datetime | None) -> str | None:
    """Spell an instant, or pass None on as JSON null."""
    return None if instant is None else rfc3339(instant)
