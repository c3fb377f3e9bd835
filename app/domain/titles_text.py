"""What every title is made of: one clean bounded line, and a look into JSON of any shape."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

LONGEST_TITLE: Final = 200
_LONGEST_PART: Final = 160
_LONGEST_REPOSITORY: Final = 80
# Read before cleaning: a sender's megabyte is never walked character by character.
_LONGEST_READ: Final = 1000
_JOINERS: Final = "\u200c\u200d"
_LARGEST_NUMBER: Final = 10**15


@dataclass(frozen=True, slots=True)
class Look:
    """A read-only look into parsed JSON: what is missing or of another type reads as empty."""

    value: object

    def at(self, *path: str) -> Look:
        """Step down by key; a step that cannot be made leads to an empty look."""
        value = self.value
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return Look(value)

    def text(self, *path: str) -> str:
        """The string at the path, as one clean bounded line; empty when it is not a string."""
        value = self.at(*path).value
        return one_line(value) if isinstance(value, str) else ""

    def words(self, *path: str) -> str:
        """A machine word at the path, such as `timed_out`, spelled with spaces."""
        return self.text(*path).replace("_", " ")

    def number(self, *path: str) -> str:
        """`#41` for the whole number at the path; empty for anything else."""
        value = self.at(*path).value
        if isinstance(value, bool) or not isinstance(value, int):
            return ""
        return f"#{value}" if 0 <= value < _LARGEST_NUMBER else ""

    def count(self, *path: str) -> int:
        """How many entries the list at the path has; 0 for anything else."""
        value = self.at(*path).value
        return len(value) if isinstance(value, list) else 0

    def first(self, *path: str) -> Look:
        """A look at the first entry of the list at the path."""
        value = self.at(*path).value
        return Look(value[0] if isinstance(value, list) and value else None)

    def is_true(self, *path: str) -> bool:
        """Whether the path holds exactly true."""
        return self.at(*path).value is True


@dataclass(frozen=True, slots=True)
class Line:
    """A title in parts: what happened, what it is called, and where."""

    subject: str
    detail: str = ""
    where: str | None = None


def one_line(text: str, limit: int = _LONGEST_PART) -> str:
    """The first non-blank line, without control or direction characters, cut to `limit`."""
    for line in text[:_LONGEST_READ].splitlines():
        clean = " ".join("".join(_visible(line)).split())
        if clean:
            return cut(clean, limit)
    return ""


def cut(text: str, limit: int) -> str:
    """Cut to `limit` characters, an ellipsis in place of the rest."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def spell(line: Line, where: str) -> str:
    """Put the parts together in at most 200 characters; the detail gives way first."""
    place = cut(line.where if line.where is not None else where, _LONGEST_REPOSITORY)
    suffix = f" ({place})" if place else ""
    subject = cut(line.subject, LONGEST_TITLE - len(suffix))
    room = LONGEST_TITLE - len(suffix) - len(subject) - len(": ")
    detail = f": {cut(line.detail, room)}" if line.detail and room > 1 else ""
    return subject + detail + suffix


def said(*parts: str) -> str:
    """Join the parts that are there with single spaces."""
    return " ".join(part for part in parts if part)


def _visible(line: str) -> Iterator[str]:
    for character in line:
        category = unicodedata.category(character)
        if category in ("Cc", "Zl", "Zp", "Zs"):
            yield " "
        elif category not in ("Cf", "Cs", "Cn", "Co") or character in _JOINERS:
            yield character
