"""Where a form was opened, as the form itself says, so that its answer can lead back there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from flask import request

from app.domain.todos import Todo

FIELD = "from"
# What the board calls the same thing on the forms it shares with other views.
_FIELDS = (FIELD, "back")
_LONGEST = 2048
# What would end a line of a header, or of a log, once it is decoded. A search may hold anything.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
HERE = "todo-state"
FOUND = "found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """A path of ours with its query, and the id on that page which is to have the focus."""

    path: str
    fragment: str | None

    @property
    def value(self) -> str:
        """As a form carries it on."""
        return self.path if self.fragment is None else f"{self.path}#{self.fragment}"


def back_to(default: str, fragment: str | None = None) -> Back:
    """Where this request says it came from; `default` when it says nothing or names no path of
    ours. A path on another host, in any of its spellings, is no path of ours.
    """
    said = next((request.values[name] for name in _FIELDS if request.values.get(name)), "")
    return own_path(said) or Back(path=default, fragment=fragment)


def own_path(text: str) -> Back | None:
    """The path if it can only lead to this server: one slash, no host, nothing a browser drops,
    and no control character in any of its spellings.
    """
    is_relative = text.startswith("/") and not text.startswith(("//", "/\\"))
    if not is_relative or len(text) > _LONGEST or "\\" in text:
        return None
    if not text.isprintable() or " " in text:
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    if parts.scheme or parts.netloc or parts.path.startswith("//"):
        return None
    if not unquote(parts.fragment).isprintable() or _CONTROLS.search(unquote(parts.path)):
        return None
    path = parts.path if not parts.query else f"{parts.path}?{parts.query}"
    return Back(path=path, fragment=unquote(parts.fragment) or None)


def landing(back: Back, todo: Todo) -> str:
    """The id that has the focus after an act on `todo`: what the form named, else the todo's own
    place on that page, else the heading of a list it has just left.
    """
    if back.fragment is not None:
        return back.fragment
    parts = urlsplit(back.path)
    if parts.path == f"/todos/{todo.id}":
        return HERE
    if parts.path == "/todos" and parse_qs(parts.query).get("state", [todo.state]) != [todo.state]:
        return FOUND
    return f"todo-{todo.id}-link"
