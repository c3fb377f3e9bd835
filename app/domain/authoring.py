"""A todo as a person writes it, and what of it is refused."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from app.domain.errors import InvalidArgument
from app.domain.ink import has_ink
from app.domain.values import Json

LONGEST_TITLE_BYTES = 200
LONGEST_KEY_BYTES = 256
LONGEST_KIND_BYTES = 64
DEFAULT_KIND = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWork:
    """A todo to write; no `queue` means the endpoint's first, an empty `key` never dedups."""

    title: str
    queue: str | None = None
    kind: str = DEFAULT_KIND
    payload: Json = None
    key: str | None = None


def check_work(work: NewWork) -> NewWork:
    """The same work with its title trimmed, or InvalidArgument naming the first wrong field.

    (contract/operator-api.md, "POST /endpoints/{ref}/todos"; limits are bytes of UTF-8)
    """
    title = _line(work.title, "title", LONGEST_TITLE_BYTES)
    kind = _line(work.kind, "kind", LONGEST_KIND_BYTES)
    if work.key is not None and len(work.key.encode()) > LONGEST_KEY_BYTES:
        raise InvalidArgument(f"key: at most {LONGEST_KEY_BYTES} bytes.", field="key")
    if "\0" in (work.key or ""):
        raise InvalidArgument("key: no NUL character.", field="key")
    return NewWork(
        title=title, queue=work.queue, kind=kind, payload=work.payload, key=work.key or None
    )


def _line(text: str, field: str, limit: int) -> str:
    trimmed = text.strip()
    if not has_ink(trimmed):
        raise InvalidArgument(f"{field}: must not be blank.", field=field)
    if any(unicodedata.category(character) == "Cc" for character in trimmed):
        raise InvalidArgument(f"{field}: no control characters.", field=field)
    if len(trimmed.encode()) > limit:
        raise InvalidArgument(f"{field}: at most {limit} bytes.", field=field)
    return trimmed
