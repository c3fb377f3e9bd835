"""A payload and a result as text to read: JSON indented, anything else as it came."""

from __future__ import annotations

import json
from dataclasses import dataclass

from app.domain.todos import Todo
from app.domain.values import Json
from app.reads.todos import Body, TodoDetail

LONGEST_SHOWN = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView:
    """Text as it is shown, untrusted; `note` says what it is when it is not whole JSON."""

    text: str
    note: str | None


def payload_view(detail: TodoDetail) -> TextView | None:
    """The payload, or the body of a delivery that was not JSON; None when there is neither."""
    if detail.body is not None:
        return _raw(detail.body)
    if detail.todo.payload is None:
        return None
    return _pretty(detail.todo.payload)


def result_view(todo: Todo) -> TextView | None:
    """What the last attempt left behind; None when it left nothing."""
    return None if todo.result is None else _pretty(todo.result)


def pretty(value: Json) -> str:
    """JSON over several lines, its own characters kept."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)


def _pretty(value: Json) -> TextView:
    text = pretty(value)
    if len(text) <= LONGEST_SHOWN:
        return TextView(text=text, note=None)
    note = f"Cut: the first {LONGEST_SHOWN} of {len(text)} characters."
    return TextView(text=text[:LONGEST_SHOWN], note=note)


def _raw(body: Body) -> TextView:
    kind = f"Not JSON ({body.content_type})" if body.content_type else "Not JSON"
    size = ", the first 64 KiB" if body.is_truncated else ""
    return TextView(text=body.first_bytes.decode("utf-8", "replace"), note=f"{kind}{size}.")
