"""Whether a reader sees anything of a text that a person gave as a name or a title."""

from __future__ import annotations

import unicodedata

# Separators, format characters and marks that need a letter before them. Control characters are
# not among them: they are refused by their own sentence.
_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cf", "Mn", "Me"})
# Fillers that are letters or symbols only by their category, and what Unicode keeps for characters
# that a display is to ignore.
_BLANKS = frozenset("\u115f\u1160\u2065\u2800\u3164\uffa0\U0001d159")
_KEPT_UNSEEN = (range(0xFFF0, 0xFFF9), range(0xE0000, 0xE1000))


def has_ink(text: str) -> bool:
    """Whether a reader sees anything of a text: not when it is spaces, format characters (zero
    width, direction), combining marks alone, or fillers that are letters only by their category.
    """
    return any(
        unicodedata.category(character) not in _UNSEEN
        and character not in _BLANKS
        and not any(ord(character) in kept for kept in _KEPT_UNSEEN)
        for character in text
    )
