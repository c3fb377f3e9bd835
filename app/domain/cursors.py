"""Opaque page cursors: what a list gave out comes back whole, or is refused."""

from __future__ import annotations

import base64
import binascii

from app.domain.errors import InvalidArgument

_LONGEST = 512


def write_cursor(kind: str, place: str) -> str:
    """A cursor of one kind of list; `place` is whatever that list needs to go on."""
    return base64.urlsafe_b64encode(f"{kind}:{place}".encode()).decode().rstrip("=")


def read_cursor(cursor: str, kind: str, field: str = "cursor") -> str:
    """The place a cursor of that kind stands for; InvalidArgument on `field` for any other text.

    (contract README: paged lists)
    """
    found, separator, place = _decoded(cursor).partition(":")
    if not separator or found != kind or write_cursor(kind, place) != cursor:
        raise InvalidArgument(f"{field}: not one this list gave out.", field=field)
    return place


def _decoded(cursor: str) -> str:
    if len(cursor) > _LONGEST or not cursor.isascii():
        return ""
    try:
        return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""
