"""Logs on stderr: `event key=value` on a terminal, JSON lines when piped; never a secret."""

from __future__ import annotations

import logging
import sys
import time

import structlog

from app.edge.requests import BEGAN
from app.redacting import redact

LEVELS = ("debug", "info", "warning", "error")


def configure(level: str) -> None:
    """Send every logger of this process to stderr from `level` on; may be called again."""
    stamp: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=stamp,
            processors=[
                _add_facts,
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                redact,
                _renderer(is_terminal=sys.stderr.isatty()),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    structlog.configure(
        processors=[*stamp, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def _add_facts(
    _logger: structlog.typing.WrappedLogger, _method: str, line: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """What app/db/journal.py says of a change, and how long its request has taken so far."""
    facts = getattr(line.get("_record"), "facts", None)
    began = line.pop(BEGAN, None)
    if isinstance(facts, dict):
        line.update(facts)
        if isinstance(began, float):
            line["duration_ms"] = round((time.monotonic() - began) * 1000, 1)
    return line


def _renderer(*, is_terminal: bool) -> structlog.typing.Processor:
    if is_terminal:
        return structlog.dev.ConsoleRenderer(
            colors=False, pad_level=False, pad_event_to=0, sort_keys=False,
            exception_formatter=structlog.dev.plain_traceback,
        )  # fmt: skip
    return structlog.processors.JSONRenderer()
