"""The last look at a log line: no secret and nobody's data leaves with it, whoever wrote it."""

from __future__ import annotations

import re

import structlog

REDACTED = "«redacted»"
_OURS = frozenset({"timestamp", "level", "todo", "outcome", "attempt", "duration_ms"})
_SECRET_NAMES = re.compile(
    r"token|secret|password|passwd|credential|authorization|cookie|signature|api_?key|payload|body"
    r"|verifier",
    re.IGNORECASE,
)
# Prefixes of ours and of others, whatever follows a word that announces a secret, and anything
# as long as what we mint; an id (32 or 36 characters) or a name of ours is shorter.
_IN_TEXT = re.compile(
    r"\b(?:sb[a-z]{1,3}_|whsec_)[\w-]+"
    r"|(?<=/webhooks/w/)[^/?#\s\"']+"
    r"|(?<=/auth/link/)[^/?#\s\"']+"
    r"|(?<=/invites/)[^/?#\s\"']+"
    r"|(?<=://)[^/@\s]*:[^/@\s]*(?=@)"
    r"|(?<=[Bb]earer )\S+"
    r"|(?<=password=)\S+"
    r"|(?<![\w/.-])(?=[\w-]*\d)[A-Za-z0-9_-]{43,}(?![\w/.-])"
)
# What Postgres and pydantic add to their errors quotes rows, parameters and input.
_QUOTED = re.compile(
    r"^(DETAIL|CONTEXT|QUERY):.*?"
    r"(?=\n\n(?:The above|During handling)[^\n]*\n\nTraceback \(most recent|\Z)",
    re.MULTILINE | re.DOTALL,
)
_INPUT = re.compile(r"input_value=.*?(?=, input_type=|\]|$)", re.MULTILINE)


def redact(
    _logger: structlog.typing.WrappedLogger, _method: str, line: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Take out of every text of a line what looks like a secret or quotes a row."""
    for name, value in line.items():
        if name in _OURS:
            continue
        if _SECRET_NAMES.search(name) and value is not None:
            line[name] = REDACTED
        elif isinstance(value, str):
            line[name] = clean(value)
    return line


def clean(text: str) -> str:
    """The text without what looks like a secret or quotes a row."""
    text = _IN_TEXT.sub(REDACTED, text)
    if ":" not in text and "=" not in text:  # most of what a line holds
        return text
    text = _QUOTED.sub(lambda found: f"{found[1]}: {REDACTED}", text)
    return _INPUT.sub(f"input_value={REDACTED}", text)
