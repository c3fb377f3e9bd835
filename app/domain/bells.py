"""What a doorbell says: one line and a map of strings; no payload, lease or secret (push.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_CLOSING_TAG = re.compile(r"</channel>", re.IGNORECASE)
_BREAKS = str.maketrans({"\r": " ", "\n": " "})


class Kind(StrEnum):
    """Why a row of `doorbells` was written."""

    TODO = "todo"
    REOPEN = "reopen"
    DIGEST = "digest"


class Why(StrEnum):
    """How a todo became ready, as a notify hook is told; a closed list (R30)."""

    CREATED = "created"
    REQUEUED = "requeued"


class DigestReason(StrEnum):
    """What a digest follows."""

    CLOCK_IN = "clock_in"
    OPERATOR = "operator"
    SHIFT_START = "shift_start"
    OVERRIDE_END = "override_end"
    RECONNECT = "reconnect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bell:
    """One `doorbell` event: `content` is one line, `meta` a map of strings."""

    content: str
    meta: dict[str, str]


def neutral(text: str) -> str:
    """A text that ends no channel and no line."""
    return _CLOSING_TAG.sub("«/channel»", text).translate(_BREAKS)


def todo_bell(
    *, todo_id: str, queue: str, title: str, kind: str | None, source: str | None
) -> Bell:
    """The bell of one todo; `queue` is the display name."""
    meta = {"todo_id": todo_id, "queue": neutral(queue)}
    if kind:
        meta["kind"] = neutral(kind)
    if source:
        meta["source"] = neutral(source)
    return Bell(content=f"{todo_id} in {neutral(queue)}: {neutral(title)}", meta=meta)


def digest_bell(
    *, pending: int, queues: Sequence[str], oldest_seconds: int, reason: DigestReason
) -> Bell:
    """The bell of a backlog: counts, queue names and the oldest age, nothing of any todo."""
    names = ",".join(sorted(neutral(queue) for queue in queues))
    todos = "1 todo" if pending == 1 else f"{pending} todos"
    return Bell(
        content=f"{todos} pending in {names}, the oldest for {age_words(oldest_seconds)}",
        meta={"kind": Kind.DIGEST, "pending": str(pending), "queues": names, "reason": reason},
    )


def age_words(seconds: int) -> str:
    """An age in its largest whole unit: `45 s`, `12 min`, `3 h`, `2 d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"
