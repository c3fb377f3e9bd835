"""Which statements a piece of code sends, word for word and in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

# They ask now and then whether their line is alive, whatever a test does meanwhile.
BESIDE = ("listener", "notifier", "ringer")


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every statement sent inside the block, but those of the threads that always run beside it."""
    said: list[str] = []
    execute = psycopg.Cursor.execute

    def record(self: psycopg.Cursor[Any], query: Any, *args: Any, **kwargs: Any) -> Any:
        if threading.current_thread().name not in BESIDE:
            said.append(query if isinstance(query, str) else query.as_string(None))
        return execute(self, query, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", record)
        yield said
