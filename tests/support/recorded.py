"""Which statements a piece of code sends, word for word and in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every statement this process sends inside the block."""
    said: list[str] = []
    execute = psycopg.Cursor.execute

    def record(self: psycopg.Cursor[Any], query: Any, *args: Any, **kwargs: Any) -> Any:
        said.append(query if isinstance(query, str) else query.as_string(None))
        return execute(self, query, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", record)
        yield said
