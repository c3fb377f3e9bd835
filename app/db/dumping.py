"""A dump of the whole database: every row of every table, as of one instant, in one file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import IO

import psycopg
from psycopg import IsolationLevel, sql

from app.db import migrate
from app.db.dumpfile import DumpRefused, DumpWriter, Header
from app.db.migrate import Connection, Migration
from app.db.statements import load
from app.domain.values import Json, rfc3339

SQL = load("dumping")

_CREATES = re.compile(r"^create table (?:if not exists )?(\w+)", re.MULTILINE)
_OWN_TABLE = "schema_migrations"
# How text stands for values must not hang on the settings of a role, and no limit may cut a dump.
_PLAINLY = (
    sql.SQL("set local datestyle = 'iso, ymd'"),
    sql.SQL("set local timezone = 'UTC'"),
    sql.SQL("set local intervalstyle = 'postgres'"),
    sql.SQL("set local bytea_output = 'hex'"),
    sql.SQL("set local statement_timeout = 0"),
    sql.SQL("set local idle_in_transaction_session_timeout = 0"),
    sql.SQL("set local lock_timeout = '10s'"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumped:
    """What a dump holds: rows by table, the last migration of its level, when (RFC 3339)."""

    rows: dict[str, int]
    migration: str
    taken_at: str


def dump(url: str, out: IO[bytes], *, release: str, folder: Path | None = None) -> Dumped:
    """Write a dump to `out` in bounded memory, from one repeatable-read snapshot.

    `url` leads past any transaction pooler. Nothing waits for it but a migration. Raises
    DumpRefused for a database that was never migrated or is newer than this release.
    """
    wanted = migrate.migrations(folder)
    with psycopg.connect(
        url, connect_timeout=5, prepare_threshold=None, client_encoding="utf8"
    ) as conn:
        conn.isolation_level = IsolationLevel.REPEATABLE_READ
        conn.read_only = True
        speak_plainly(conn)
        applied = migrate.applied(conn)
        _require_known(applied, wanted)
        header = Header(release=release, taken_at=_now(conn), migrations=applied)
        writer = DumpWriter(out, header)
        rows = {name: _table(conn, writer, name) for name in _in_order(conn, our_tables(wanted))}
        # Read last: numbers are handed out beside the snapshot, so these are not behind its rows.
        writer.close(sequences=_sequences(conn, set(rows)), rows=rows)
    return Dumped(rows=rows, migration=max(applied), taken_at=header.taken_at)


def our_tables(wanted: list[Migration]) -> set[str]:
    """Every table that the migrations make, and the one that they are written down in."""
    return {_OWN_TABLE, *(name for one in wanted for name in _CREATES.findall(one.text))}


def speak_plainly(conn: Connection) -> None:
    """For the current transaction: values as text in one fixed way, UTF-8, and no time limit."""
    for statement in _PLAINLY:
        conn.execute(statement)


def columns_of(conn: Connection, table: str) -> list[str]:
    """The columns that are stored, in their order; generated ones are not."""
    return [str(name) for (name,) in conn.execute(SQL["list_columns"], {"table": table})]


def tables_here(conn: Connection) -> set[str]:
    """Every table of our schema, whoever made it."""
    return {str(name) for (name,) in conn.execute(SQL["list_tables"])}


def sequences_here(conn: Connection) -> dict[str, str]:
    """Every sequence behind a column, and its table."""
    return {str(name): str(table) for name, table in conn.execute(SQL["list_sequences"])}


def _require_known(applied: dict[str, str], wanted: list[Migration]) -> None:
    if not applied:
        raise DumpRefused("There is nothing to dump: this database was never migrated.")
    newer = sorted(set(applied) - {one.version for one in wanted})
    if newer:
        raise DumpRefused(
            f"The database is newer than this release, which does not know {newer[-1]}: dump it"
            " with the release that serves it."
        )


def _in_order(conn: Connection, ours: set[str]) -> list[str]:
    """Our tables, each after those that its foreign keys point to."""
    here = tables_here(conn) & ours
    graph: dict[str, set[str]] = {name: set() for name in sorted(here)}
    for table, target in conn.execute(SQL["list_references"]):
        if table in here and target in here and table != target:
            graph[str(table)].add(str(target))
    return [*TopologicalSorter(graph).static_order()]


def _table(conn: Connection, writer: DumpWriter, name: str) -> int:
    columns = columns_of(conn, name)
    writer.begin_table(name, columns)
    with conn.cursor() as cursor:
        with cursor.copy(
            sql.SQL("copy {} ({}) to stdout").format(
                sql.Identifier(name), sql.SQL(", ").join(map(sql.Identifier, columns))
            )
        ) as copy:
            for piece in copy:
                writer.write(piece)
        writer.end_table()
        return cursor.rowcount


def _sequences(conn: Connection, tables: set[str]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, table in sorted(sequences_here(conn).items()):
        look = sql.SQL("select last_value, is_called from {}").format(sql.Identifier(name))
        row = conn.execute(look).fetchone()
        if row is not None and table in tables:
            found[name] = {"last_value": row[0], "is_called": row[1]}
    return found


def _now(conn: Connection) -> str:
    row = conn.execute(SQL["read_clock"]).fetchone()
    assert row is not None  # a select without a from always answers
    return rfc3339(row[0])
