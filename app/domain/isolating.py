"""Text of people and agents inside our own sentences, so that its direction stays its own.

A right-to-left letter or a direction control in a name would turn the words beside it around. The
marks below keep it to itself wherever no element can: in attributes, titles and plain sentences.
"""

from __future__ import annotations

import unicodedata

_FIRST_STRONG = "\u2068"
_POP = "\u2069"
_OPENERS = ("\u2066", "\u2067", _FIRST_STRONG)
_STRAYS = frozenset({"R", "AL", "AN", "LRE", "RLE", "LRO", "RLO", "PDF", "PDI"})


def isolate(text: str) -> str:
    """The text between isolating marks when it could turn its surroundings; otherwise as it is.

    Its own isolates are closed inside, so that it cannot end ours. Text that already keeps to
    itself is unchanged, so that a sentence of isolated parts may be isolated once more.
    """
    if text.isascii() or _keeps_to_itself(text):
        return text
    kept, depth = [], 0
    for each in text:
        if each in _OPENERS:
            depth += 1
        elif each == _POP:
            if depth == 0:
                continue
            depth -= 1
        kept.append(each)
    return f"{_FIRST_STRONG}{''.join(kept)}{_POP * depth}{_POP}"


def _keeps_to_itself(text: str) -> bool:
    depth = 0
    for each in text:
        if each in _OPENERS:
            depth += 1
        elif depth and each == _POP:
            depth -= 1
        elif depth == 0 and unicodedata.bidirectional(each) in _STRAYS:
            return False
    return depth == 0
