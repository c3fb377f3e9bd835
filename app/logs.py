"""Logs on stderr: `event key=value` on a terminal, JSON lines when piped."""

from __future__ import annotations

import logging
import sys

import structlog

LEVELS = ("debug", "info", "warning", "error")


def configure(level: str) -> None:
    """Send every logger of this process to stderr from `level` on; may be called again."""
    stamp: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=stamp,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
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


def _renderer(*, is_terminal: bool) -> structlog.typing.Processor:
    if is_terminal:
        return structlog.dev.ConsoleRenderer(
            colors=False, pad_level=False, pad_event_to=0, sort_keys=False,
            exception_formatter=structlog.dev.plain_traceback,
        )  # fmt: skip
    return structlog.processors.JSONRenderer()
