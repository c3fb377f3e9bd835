"""The named SQL of sql/queries, loaded once: the text in the file is the text that runs."""

from __future__ import annotations

import re
from typing import LiteralString, cast

from psycopg import sql

from app.data import data

_NAME = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)


def load(name: str) -> dict[str, sql.SQL]:
    """Read sql/queries/<name>.sql into {statement name: statement}.

    A file is a sequence of `-- name: verb_what` headers, each followed by a comment that says
    why and one statement. Raises ValueError for a name used twice.
    """
    text = (data("sql") / "queries" / f"{name}.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)
    found: dict[str, sql.SQL] = {}
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title in found:
            raise ValueError(f"sql/queries/{name}.sql names {title} twice")
        # Our own file, never a caller's text: the one place that may say so to the type checker.
        found[title] = sql.SQL(cast(LiteralString, body.strip().removesuffix(";")))
    return found
