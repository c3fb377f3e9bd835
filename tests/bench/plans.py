"""Which indexes of `todos` a claim reads: the pending and the due one, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
from psycopg import sql

from app.data import data
from app.db.statements import load
from app.domain.callers import Endpoint
from tests.bench.ground import Place

MAY_READ = {
    "peek_heads": {"todos_pending", "todos_due"},
    "claim_pending": {"todos_pending"},
    "claim_lone": {"todos_pending", "todos_due"},
    "claim_due": {"todos_due"},
}
# A claim reads the row it picked again by its key.
KEY = "todos_pkey"


def plans(place: Place) -> Iterator[tuple[str, set[str], list[str]]]:
    """(statement, indexes of todos it reads, its plan in short) for each step of a claim."""
    params = _Params({"endpoint_id": place.endpoint.id, "queue_id": place.queue_id,
                      "lease_seconds": 300, "kind": "endpoint", "owner": place.endpoint.owner})
    for name in MAY_READ:
        explain(place.conn, _statement(name), params)  # a session's first run reads catalogs too
        yield name, *explain(place.conn, _statement(name), params)


def explain(
    conn: psycopg.Connection[tuple[object, ...]], statement: sql.SQL, params: Mapping[str, object]
) -> tuple[set[str], list[str]]:
    """The indexes of todos a statement reads (but its key) and its plan; the run is undone."""
    with conn.transaction(force_rollback=True):
        asked = b"explain (analyze, buffers, format json) " + statement.as_bytes(conn)
        row = conn.execute(asked, params).fetchone()
    assert row is not None
    said = row[0] if isinstance(row[0], list) else json.loads(str(row[0]))
    nodes = list(_nodes(said[0]["Plan"], 0))
    on_todos = [node for _, node in nodes if node.get("Relation Name") == "todos"
                and node["Node Type"] != "LockRows"]
    read = {node.get("Index Name", f"({node['Node Type']})") for node in on_todos}
    return read - {KEY}, [_line(depth, node) for depth, node in nodes]


def probes(place: Place, endpoint: Endpoint) -> dict[str, int]:
    """How often the peek for an endpoint probes each index of todos."""
    params = _Params({"endpoint_id": endpoint.id})
    asked = b"explain (analyze, format json) " + _statement("peek_heads").as_bytes(place.conn)
    row = place.conn.execute(asked, params).fetchone()
    assert row is not None
    said = row[0] if isinstance(row[0], list) else json.loads(str(row[0]))
    return {node.get("Index Name", node["Node Type"]): node["Actual Loops"]
            for _, node in _nodes(said[0]["Plan"], 0) if node.get("Relation Name") == "todos"}


class _Params(dict[str, object]):
    """What a plain claim leaves out is null."""

    def __missing__(self, _name: str) -> None:
        return None


def _statement(name: str) -> sql.SQL:
    for path in sorted((data("sql") / "queries").glob("*.sql")):
        found = load(path.stem).get(name)
        if found is not None:
            return found
    raise LookupError(f"no statement {name} in sql/queries")


def _nodes(node: dict[str, Any], depth: int) -> Iterator[tuple[int, dict[str, Any]]]:
    yield depth, node
    for child in node.get("Plans", []):
        yield from _nodes(child, depth + 1)


def _line(depth: int, node: dict[str, Any]) -> str:
    what = node.get("Index Name") or node.get("Relation Name") or node.get("Function Name") or ""
    blocks = node.get("Shared Hit Blocks", 0) + node.get("Shared Read Blocks", 0)
    return (f"{'  ' * depth}{node['Node Type']} {what}".rstrip()
            + f" (rows {node.get('Actual Rows')}, {blocks} buffers)")
