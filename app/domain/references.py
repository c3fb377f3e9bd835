"""Ids and slugs as callers write them; whatever cannot be one simply names nothing."""

from __future__ import annotations

from uuid import UUID

_BIGINT_MAX = 2**63 - 1


def parse_uuid(text: str) -> UUID | None:
    """The uuid in its usual spelling; None for anything else, which is then not found."""
    if len(text) != 36:
        return None
    try:
        return UUID(text)
    except ValueError:
        return None


def parse_row_number(text: str) -> int | None:
    """A positive row number that fits a bigint, in plain digits; None for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        return None
    number = int(text)
    return number if 0 < number <= _BIGINT_MAX else None


def storable(text: str) -> str:
    """The text, or nothing when Postgres could not hold it, so that it matches no row."""
    return text if text.isprintable() else ""


def endpoint_reference(ref: str) -> dict[str, object]:
    """The two parameters of every statement that finds an endpoint by slug or id."""
    return {"ref": storable(ref), "ref_id": parse_uuid(ref)}
