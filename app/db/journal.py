"""One log line per state change, written by its verb after the commit, like the counters."""

from __future__ import annotations

import logging
from contextvars import ContextVar

LOGGER = "switchboard.changes"
_log = logging.getLogger(LOGGER)
_lines: ContextVar[list[str] | None] = ContextVar("journal_lines", default=None)


def begin() -> list[str]:
    """Collect the names of the lines that this context writes from now on."""
    lines: list[str] = []
    _lines.set(lines)
    return lines


def note(event: str, **facts: object) -> None:
    """Write a line: what happened, to which todo of which queue, with what outcome.

    Facts are ids, names and words of ours; never a title, a payload, a result or a secret.
    """
    lines = _lines.get()
    if lines is not None:
        lines.append(event)
    if _log.isEnabledFor(logging.INFO):
        said = {name: str(fact) for name, fact in facts.items() if fact is not None}
        _log.info(event, extra={"facts": said})
