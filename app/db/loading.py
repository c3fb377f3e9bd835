"""A dump put back into an empty database: all of it and migrated, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql

from app.db import dumping, migrate
from app.db.dumpfile import DumpReader, DumpRefused
from app.db.migrate import Connection, Migration, MigrationError
from app.db.statements import load
from app.domain.values import Json

SQL = load("loading")

# Every database has rows in these from its first migration on; those of the dump replace them.
_SEEDED = {"schema_migrations", "settings"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What was loaded: rows by table, when the dump was taken, and the migrations applied since."""

    rows: dict[str, int]
    taken_at: str
    migrated: list[str]


def load_dump(
    url: str,
    source: IO[bytes],
    *,
    require_key: Callable[[Connection], None],
    folder: Path | None = None,
) -> Loaded:
    """Load a dump from `source` in one transaction, then apply the migrations it lacks.

    `url` leads past any transaction pooler. `require_key` is asked before the commit, and its
    DumpRefused undoes all. Raises DumpRefused, with nothing changed, for a dump that is damaged,
    cut off or newer than this release, and for a database that holds rows or is in use.
    """
    reader = DumpReader(source)
    wanted = migrate.migrations(folder)
    level = _level(reader.header.migrations, wanted)
    with psycopg.connect(
        url, autocommit=True, connect_timeout=5, prepare_threshold=None, client_encoding="utf8"
    ) as conn:
        try:
            with conn.transaction():
                rows = _load_all(conn, reader, level, dumping.our_tables(wanted))
                migrated = migrate.apply(conn, wanted)
                require_key(conn)
        except psycopg.errors.LockNotAvailable as busy:
            raise DumpRefused("The database is in use; stop every server of it first.") from busy
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError,
                psycopg.InternalError, MigrationError) as wrong:  # fmt: skip
            said = str(wrong).splitlines()[0]
            raise DumpRefused(f"The dump cannot be loaded: {said}.") from wrong
        conn.execute("analyze")
    return Loaded(rows=rows, taken_at=reader.header.taken_at, migrated=migrated)


def _level(known: dict[str, str], wanted: list[Migration]) -> list[Migration]:
    """The migrations the dump's database had. Raises DumpRefused unless we have the same."""
    ours = {one.version: one for one in wanted}
    newer = sorted(set(known) - set(ours))
    if newer:
        raise DumpRefused(
            f"The dump is newer than this release, which does not know migration {newer[-1]}: load"
            " it with the release that wrote it, or a newer one."
        )
    for version, sha256 in known.items():
        if ours[version].sha256 != sha256:
            raise DumpRefused(f"The dump knows another migration {version} than this release.")
    level = [one for one in wanted if one.version in known]
    if not level or level != wanted[: len(level)]:
        raise DumpRefused("The dump lacks a migration among those that it has.")
    return level


def _load_all(
    conn: Connection, reader: DumpReader, level: list[Migration], ours: set[str]
) -> dict[str, int]:
    dumping.speak_plainly(conn)
    migrate.lock(conn)  # a server that starts meanwhile waits, and then finds people in it
    _require_empty(conn, ours)
    # An older dump needs the tables of its own level, so what migrations made here goes first.
    conn.execute(SQL["delete_objects"])
    migrate.apply(conn, level)
    tables = sorted(dumping.tables_here(conn))
    _each(conn, sql.SQL("alter table {} disable trigger user"), tables)
    conn.execute(sql.SQL("truncate {}").format(sql.SQL(", ").join(map(sql.Identifier, tables))))
    rows = {name: _copy(conn, reader, name, columns, tables) for name, columns in reader.tables()}
    _each(conn, sql.SQL("alter table {} enable trigger user"), tables)
    sequences, counted = reader.end()
    if counted != rows:
        raise DumpRefused("The dump is damaged: it does not hold as many rows as it says.")
    _set_sequences(conn, sequences)
    return rows


def _require_empty(conn: Connection, ours: set[str]) -> None:
    """Lock every table, and raise DumpRefused when one of them is not ours or holds rows."""
    here = dumping.tables_here(conn)
    if here - ours:
        raise DumpRefused(
            f"The database has a table that is not Switchboard's, {min(here - ours)}: a dump is"
            " loaded only into a database of its own."
        )
    _each(conn, sql.SQL("lock table {} in access exclusive mode"), sorted(here))
    for name in sorted(here - _SEEDED):
        look = sql.SQL("select 1 from {} limit 1").format(sql.Identifier(name))
        if conn.execute(look).fetchone() is not None:
            raise DumpRefused(
                f"The database is not empty: {name} holds rows. A dump is loaded only into an empty"
                " database."
            )


def _each(conn: Connection, statement: sql.SQL, tables: list[str]) -> None:
    for name in tables:
        conn.execute(statement.format(sql.Identifier(name)))


def _copy(
    conn: Connection, reader: DumpReader, name: str, columns: list[str], tables: list[str]
) -> int:
    if name not in tables:
        raise DumpRefused(f"The dump holds a table that this release does not know: {name}.")
    with conn.cursor() as cursor:
        with cursor.copy(
            sql.SQL("copy {} ({}) from stdin").format(
                sql.Identifier(name), sql.SQL(", ").join(map(sql.Identifier, columns))
            )
        ) as copy:
            for piece in reader.rows():
                copy.write(piece)
        return cursor.rowcount


def _set_sequences(conn: Connection, sequences: dict[str, Json]) -> None:
    here = dumping.sequences_here(conn)
    for name, state in sequences.items():
        if name not in here or not isinstance(state, dict):
            raise DumpRefused(f"The dump holds a numbering that is not known here: {name}.")
        conn.execute(SQL["set_sequence"], {
            "name": name, "last": state.get("last_value"), "called": state.get("is_called"),
        })  # fmt: skip
