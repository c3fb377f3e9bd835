"""JSON text made readable: only white space and unsafe characters change."""

from __future__ import annotations

import re
import unicodedata

from app.domain import strictjson
from app.domain.errors import InvalidArgument
from app.domain.values import Json

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
UNSAFE_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def reindent(text: str) -> str:
    """`text` (valid JSON) with two-space indentation: numbers and strings stay as the server wrote
    them, but control and direction characters inside strings become \\u escapes of themselves."""
    lines: list[str] = [""]
    depth = 0
    tokens = TOKEN.findall(text)
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token in "]}":
            depth -= 1
            if index and tokens[index - 1] not in "[{":
                lines.append("  " * depth)
        lines[-1] += _spelled(token)
        if token in "[{":
            depth += 1
            if following not in "]}":
                lines.append("  " * depth)
        elif token == ",":
            lines.append("  " * depth)
    return "\n".join(lines)


def escape(text: str, *, keep: str = "") -> str:
    """`text` without a character that could move a terminal's cursor, colour it or turn its
    reading direction: each becomes its \\u escape. Characters in `keep` stay."""
    return "".join(_escaped(char) if char not in keep and _unsafe(char) else char for char in text)


def parse_one(text: str) -> Json:
    """The one JSON value of `text`, when a request could carry it under a key. Raises ValueError
    for anything else: not JSON, NaN, NUL, lone surrogates, repeated keys, nested too deeply."""
    try:
        found = strictjson.parse_object(b'{"":' + text.encode() + b"}")
    except InvalidArgument as wrong:
        raise ValueError(wrong.sentence) from wrong
    if [*found] != [""]:
        raise ValueError("This is more than one value.")
    return found[""]


def _unsafe(char: str) -> bool:
    return char in DIRECTION or unicodedata.category(char) in UNSAFE_CATEGORIES


def _spelled(token: str) -> str:
    if token == ":":
        return ": "
    return escape(token) if token.startswith('"') else token


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}"
